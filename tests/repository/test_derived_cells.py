"""Derived cells of a batch: the order in which they are sent, and the pages that fail with them."""

from __future__ import annotations

import pytest

import webtable
from webtable import Link, Page, WebTable
from webtable.errors import StoreRefused, WriteFailed
from webtable.repository.links.inlink_cells import LONGEST_REMEMBERED
from webtable.rowkey import WebKey
from webtable.schema import index_table
from webtable.testing import WrappedStore

SITE = "https://example.com/"


class ListeningStore(WrappedStore):
    """A store that keeps in mind which rows it was given, and refuses those of *refused*."""

    def __init__(self, store):
        super().__init__(store)
        self.given = {}
        self.refused = set()

    def _write(self, table, mutations):
        self.given.setdefault(table, []).append([one.row for one in mutations])
        done = super()._write(table, [one for one in mutations if one.row not in self.refused])
        left = iter(done)
        return [StoreRefused("refused") if one.row in self.refused else next(left) for one in mutations]


@pytest.fixture
def listening(tmp_path):
    with webtable.open(tmp_path / "own.db", create=True) as made:
        store = ListeningStore(made.store)
        with WebTable(store, made.table, made.layout) as table:
            store.opened = table
            yield store


@pytest.fixture
def table(listening):
    return listening.opened


def pages(count, *links):
    return [Page(url=f"{SITE}{count - at:03}", body=b"x", outlinks=links) for at in range(count)]


def test_entries_are_sent_in_the_order_of_their_rows(table, listening):
    with table.writer() as writer:
        writer.put_many(pages(40))

    (sent,) = listening.given[index_table(table.table, "status").name]

    assert len(sent) == 40
    assert sent == sorted(sent)


def test_pages_are_not_stored_of_which_one_inlink_of_several_is_refused(table, listening):
    listening.refused.add(WebKey().encode(f"{SITE}shared"))
    first, second = pages(2, Link(f"{SITE}shared"), Link(f"{SITE}other"))
    third = Page(url=f"{SITE}third", body=b"x", outlinks=(Link(f"{SITE}other"),))

    with pytest.raises(WriteFailed) as failed, table.writer() as writer:
        writer.put_many([first, second, third])

    assert {page.url for page in failed.value.pages} == {first.url, second.url}
    assert [page.url for page in table.pages("example.com")] == [third.url]


def test_links_lead_to_their_pages_however_often_and_however_long_they_are(table):
    far = f"{SITE}{'a' * LONGEST_REMEMBERED}"
    linking = pages(3, Link(far, "far"), Link("mailto:a@example.com"), Link(f"{SITE}near"), Link(f"{far}#again"))

    with table.writer() as writer:
        writer.put_many(linking)

    for target in (far, f"{SITE}near"):
        assert {link.source for link in table.links.to(target)} == {page.url for page in linking}

"""That nothing a program is given shows what a store URL keeps secret, and how such a URL is shown."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import pickle
import traceback
import warnings
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest

import webtable
from secret_urls import ANSWERS, CLOSED, DOMAIN, HOME, LOGIN, TOKEN, answering, pages, with_secrets
from webtable import aio
from webtable.errors import InvalidArgument, WebTableError
from webtable.repository.table.groups import TableIndexes, TableLinks, TableMaintenance
from webtable.store import StoreURL, open_store
from webtable.store.hbase.thrift.store import OPTIONS
from webtable.store.sqlite.file import OPTIONS as SQLITE_OPTIONS
from webtable.store.url import without_secrets

SHOWN = {
    "hbase+https://u:secret@h:1/t?thrift2=9091": "hbase+https://***@h:1/t?thrift2=9091",
    "hbase+https://secret@h": "hbase+https://***@h",
    "hbase+https://u:p/secret@h/t?ca=/a@b.pem": "hbase+https://***@h/t?ca=/a@b.pem",
    "hbase+https://u:secret?x=@h/t": "hbase+https://***@h/t",
    "hbase://h:9090/t?ca=/a@b.pem": "hbase://h:9090/t?ca=/a@b.pem",
    "hbase://h/t?token=secret&thrift2=1": "hbase://h/t?token=***&thrift2=1",
    "hbase+https://h/t?auth=secret": "hbase+https://h/t?auth=***",
    "hbsae://u:secret@h/t": "hbsae://***@h/t",
    "u:secret@h/t": "u:***@h/t",
    "sqlite:crawl.db?key=secret": "sqlite:crawl.db?key=***",
    "sqlite:me@work.db?table=news&timeout=5": "sqlite:me@work.db?table=news&timeout=5",
    "me@work.db": "me@work.db",
    "C:crawl.db": "C:crawl.db",
}
TYPED = {
    "hbase+https://u:secret@h:1/t?thrift2=9091": "hbase+https://h:1/t?thrift2=9091&auth=basic",
    "hbase+https://u:secret@h/t": "hbase+https://h/t?auth=basic",
    "hbase+https://u:secret@h/t?auth=bearer": "hbase+https://h/t?auth=bearer",
    "hbase://u:secret@h/t": "hbase://h/t",
    "hbase://h/t?thrift2=9091": "hbase://h/t?thrift2=9091",
    "crawl.db": "crawl.db",
}


@pytest.mark.parametrize(("url", "shown"), SHOWN.items())
def test_a_url_is_shown_without_what_is_secret(url: str, shown: str):
    assert StoreURL.parse(url).text == shown


@pytest.mark.parametrize(("url", "typed"), TYPED.items())
def test_a_url_to_be_typed_takes_credentials_from_where_they_belong(url: str, typed: str):
    assert StoreURL.parse(url).typed == typed


@pytest.mark.parametrize("url", [url for url in SHOWN if "//" in url])
@pytest.mark.parametrize("message", ["no such command {0!r}", "got ({0}, {0}); x", "{0}: it is gone", "--store={0}"])
def test_a_message_has_urls_as_they_are_shown(message: str, url: str):
    told = without_secrets(message.format(url))

    assert told == message.format(SHOWN[url])
    assert without_secrets(told) == told


@pytest.mark.parametrize(
    "url", ["https://example.com/@me", "https://example.com:80/a:b@c?q=x@y", "https://a.org/?token=1"]
)
def test_a_message_has_urls_of_pages_as_they_are(url: str):
    assert without_secrets(f"not stored: {url}") == f"not stored: {url}"


@pytest.mark.parametrize("scheme", [*OPTIONS, "sqlite"])
def test_options_that_a_store_knows_are_shown(scheme: str):
    known = OPTIONS.get(scheme, SQLITE_OPTIONS)
    url = f"{scheme}://gateway/crawl?{'&'.join('auth=basic' if name == 'auth' else f'{name}=1' for name in known)}"

    assert StoreURL.parse(url).text == url


def test_what_is_no_text_is_named_by_its_type():
    with pytest.raises(InvalidArgument, match="is of the type bytes") as caught:
        webtable.open(ANSWERS.encode())  # type: ignore[arg-type]

    assert with_secrets([str(caught.value)]) == []


# --- what programs are given -----------------------------------------------------------------------------------------

GIVEN: dict[str, Any] = {
    "site": DOMAIN,
    "id": webtable.indexes.page_id(HOME),
    "index": "time",
    "page": pages()[0],
    "reason": "timeout",
    "since": "30d",
    "status": 200,
    "text": "home",
    "url": HOME,
    "urls": [HOME],
}
"""What is given to the methods of a table, by the names of their parameters."""
GROUPS = {"": webtable.WebTable, "links.": TableLinks, "indexes.": TableIndexes, "maintenance.": TableMaintenance}
METHODS = sorted(
    f"{of}{name}"
    for of, group in GROUPS.items()
    for name, _ in inspect.getmembers(group)
    if not name.startswith("_") and name != "close"
)


def shown(value: Any) -> Iterator[str]:
    """Yield what *value* shows of itself, what it holds, and what is pickled of it."""
    yield from (repr(value), str(value), repr(getattr(value, "__dict__", "")))
    for name in ("_repr_html_", "__rich__", "explain", "html", "to_arrow", "to_dicts", "to_dict", "as_dict"):
        if callable(getattr(value, name, None)):
            with contextlib.suppress(WebTableError):
                yield from (str(found := getattr(value, name)()), repr(getattr(found, "schema", "")))
    with contextlib.suppress(Exception):
        yield pickle.dumps(value).decode("latin-1")


def shown_of_error(error: BaseException) -> Iterator[str]:
    yield from ("".join(traceback.format_exception(error)), repr(error), repr(vars(error)))
    yield pickle.dumps(error.args).decode("latin-1")


def answer(table: webtable.WebTable, name: str, store: webtable.WebTable) -> Any:
    method = attrgetter(name)(table)
    if not callable(method):
        return method
    wanted = inspect.signature(method).parameters.values()
    given = {one.name: GIVEN[one.name] for one in wanted if one.name in GIVEN and one.default is not ...}
    return method(**given | ({"target": store} if name in ("maintenance.check_copy", "maintenance.copy") else {}))


@pytest.mark.parametrize("name", METHODS)
def test_an_answer_shows_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path, name: str):
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_text('{"url": "https://example.com/", "body": "<p>"}\n')
    monkeypatch.setitem(GIVEN, "files", crawl)
    monkeypatch.setitem(GIVEN, "path", tmp_path / "backup.db" if name == "maintenance.backup" else None)
    monkeypatch.setattr("webtable.repository.upkeep.repair.FRESH_SECONDS", 0.0)
    with answering(monkeypatch) as table, webtable.open(tmp_path / "other.db", create=True) as other:
        try:
            texts = list(shown(answer(table, name, other)))
        except WebTableError as error:
            texts = list(shown_of_error(error))

    assert texts
    assert with_secrets(texts) == []


async def opened_by_aio() -> aio.WebTable:
    async with aio.open(ANSWERS) as table:
        return table


def test_a_table_and_what_is_around_it_show_no_secret(monkeypatch: pytest.MonkeyPatch):
    from webtable.reports import audit, compare

    with answering(monkeypatch) as table, warnings.catch_warnings(record=True) as warned, table.writer() as writer:
        warnings.simplefilter("always")
        values = [
            *(table, table.store, table.metrics, writer, writer.put(pages()[0])),
            *(webtable.doctor(ANSWERS), audit(table, DOMAIN), compare(table, DOMAIN, since="30d")),
            *(open_store(ANSWERS), asyncio.run(opened_by_aio())),
        ]
        texts = [text for value in values for text in shown(value)]

    assert with_secrets([*texts, *(str(one.message) for one in warned)]) == []


@pytest.mark.parametrize("url", [CLOSED, f"hbase+https://gateway/t?token={TOKEN}", f"hbsae://{LOGIN}@gateway/t"])
@pytest.mark.parametrize("call", [webtable.open, webtable.create, webtable.doctor, open_store])
def test_an_error_shows_no_secret(url: str, call: Any):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            texts = list(shown(call(url)))
        except WebTableError as error:
            texts = list(shown_of_error(error))

    assert with_secrets([*texts, *(str(one.message) for one in warned)]) == []


def test_what_is_remembered_of_a_url_shows_no_secret():
    pytest.importorskip("scrapy")
    from scrapy.settings import Settings

    from webtable.cli.session import CommandSession, Profile
    from webtable.integrations.scrapy.crawl_table import TableSettings

    values = [
        StoreURL.parse(ANSWERS),
        CommandSession(ANSWERS, typed=ANSWERS),
        Profile(ANSWERS),
        TableSettings.of(Settings({"WEBTABLE_URI": ANSWERS})),
    ]

    assert with_secrets(map(repr, values)) == []

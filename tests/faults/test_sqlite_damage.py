"""A file or its log that was damaged or mixed up: questions are answered rightly, or by webtable's own errors."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter

import pytest
from load import page_of, url_of, wrong_in

import webtable
from nightly import examples
from webtable import WebTableError
from webtable.errors import StoreRefused

pytestmark = pytest.mark.faults
DAMAGES = 2 * int(os.environ.get("WEBTABLE_FAULT_KILLS", examples(3, 100)))
"""How often each is damaged."""
PAGES = range(40)


def log_of(path):
    return path.with_name(path.name + "-wal")


def stored(table, *versions):
    for version in versions:
        with table.writer() as writer:  # of so few pages one batch is made, which is one transaction
            for number in PAGES:
                writer.put(page_of(number, version))


def copied(path, target):
    """Copy the file and its log, as a killed process leaves them, to *target*; returns it."""
    shutil.copy(path, target)
    if log_of(path).exists():
        shutil.copy(log_of(path), log_of(target))
    return target


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with versions 1 and 2 of all pages, and its log with the versions 3 to 5."""
    folder = tmp_path_factory.mktemp("whole")
    with webtable.open(str(folder / "crawl.db"), create=True) as table:
        stored(table, 1, 2)
    with webtable.open(str(folder / "crawl.db")) as table:
        stored(table, 3, 4, 5)
        return copied(folder / "crawl.db", folder / "copy.db")


@pytest.fixture
def closed(whole, tmp_path):
    """The same file, whose log was copied back into it."""
    path = copied(whole, tmp_path / "closed.db")
    webtable.open(str(path)).close()
    assert not log_of(path).exists()
    return path


class Answers:
    """What came of all questions to one damaged store."""

    def __init__(self):
        self.pages = []
        self.versions = set()
        self.errors = Counter()

    def ask(self, question):
        try:
            for page in question():
                self.pages.append(page)
        except WebTableError as exc:
            self.errors[type(exc).__name__] += 1


def answers(path):
    """Ask and use the store at *path* in every way; no other errors than webtable's come out, and no wrong page."""
    found = Answers()
    try:
        table = webtable.open(str(path))
    except WebTableError as exc:
        found.errors[type(exc).__name__] += 1
        return found
    with table:
        for number in PAGES:
            found.ask(lambda: filter(None, [table.get(url_of(number))]))  # noqa: B023
        found.versions = {page.headers["x-version"] for page in found.pages}
        found.ask(lambda: table.pages(webtable.ALL, columns=["body"]))
        found.ask(lambda: table.history(url_of(3)))
        found.ask(lambda: table.fetched(limit=30))
        found.ask(lambda: table.errors(limit=30, columns=["body"]))
        found.ask(lambda: (each.page for each in table.links.to(url_of(1), limit=20) if each.page is not None))
        found.ask(lambda: table.put(page_of(7, 9)) or [])
        found.ask(lambda: filter(None, [table.get(url_of(7))]))
    assert [what for what in map(wrong_in, found.pages) if what is not None] == []
    return found


def flipped(content, chance):
    content = bytearray(content)
    for _ in range(chance.choice((1, 1, 3, 20))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(content)


def cut(content, chance):
    return content[: chance.randrange(len(content))]


def garbage(content, chance):
    return chance.randbytes(chance.randrange(1, len(content)))


def of_another_page_size(content, chance):
    return content[:8] + chance.choice((512, 4096, 65536, 0, 7)).to_bytes(4, "big") + content[12:]


@pytest.mark.parametrize("damage", [flipped, cut, garbage, of_another_page_size])
def test_a_damaged_log_leaves_whole_batches_and_no_wrong_page(whole, tmp_path, damage):
    chance = random.Random(damage.__name__)
    found = []
    for turn in range(DAMAGES):
        path = copied(whole, tmp_path / f"{turn}.db")
        log_of(path).write_bytes(damage(log_of(whole).read_bytes(), chance))
        found.append(answers(path))

    versions = [each.versions for each in found]
    errors = sum((each.errors for each in found), Counter())
    print(f"\nlog {damage.__name__}: {Counter(next(iter(each)) for each in versions if each)}, errors {dict(errors)}")
    assert all(len(each) <= 1 for each in versions), versions
    assert all(each.versions or each.errors for each in found)


@pytest.mark.parametrize("damage", [flipped, cut])
def test_a_damaged_file_beside_its_log_gives_no_wrong_page(whole, tmp_path, damage):
    chance = random.Random(damage.__name__)
    errors, pages = Counter(), 0
    for turn in range(DAMAGES):
        path = copied(whole, tmp_path / f"{turn}.db")
        path.write_bytes(damage(path.read_bytes(), chance))
        found = answers(path)
        errors += found.errors
        pages += len(found.pages)

    print(f"\nfile {damage.__name__}, with its log: {pages} right pages, errors {dict(errors)}")
    assert pages


def test_bits_that_changed_in_a_file_give_no_wrong_page(closed, tmp_path):
    chance = random.Random(1)
    errors, pages = Counter(), 0
    for turn in range(DAMAGES):
        path = tmp_path / f"{turn}.db"
        path.write_bytes(flipped(closed.read_bytes(), chance))
        found = answers(path)
        errors += found.errors
        pages += len(found.pages)

    print(f"\nfile flipped: {pages} right pages, errors {dict(errors)}")
    assert pages


def test_a_file_that_was_cut_anywhere_is_refused(closed, tmp_path):
    content = closed.read_bytes()
    chance = random.Random(1)
    for turn in range(DAMAGES):
        path = tmp_path / f"{turn}.db"
        path.write_bytes(content[: chance.randrange(1, len(content))])

        with pytest.raises(StoreRefused, match=r"the file is damaged|not an SQLite database"):
            webtable.open(str(path)).close()


def other_store(folder):
    """A file and its log of another crawl, whose pages have the numbers from 100 on."""
    with webtable.open(str(folder / "other.db"), create=True) as table:
        for number in PAGES:
            table.put(page_of(100 + number, 1))
        return copied(folder / "other.db", folder / "other-copy.db")


def last_log_of_another_store(folder):
    """The same, but the log has only the newest versions."""
    webtable.open(str(copied(other_store(folder), folder / "last.db"))).close()
    with webtable.open(str(folder / "last.db")) as table:
        for number in PAGES:
            table.put(page_of(100 + number, 2))
        return copied(folder / "last.db", folder / "last-copy.db")


def older_copy(folder):
    """A copy of the same store, from before its log was copied back and other pages were stored."""
    return folder / "older.db"


@pytest.mark.slow
@pytest.mark.parametrize("foreign", [other_store, last_log_of_another_store, older_copy])
def test_a_log_of_another_file_gives_no_page_that_was_never_put(whole, tmp_path, foreign):
    path = copied(whole, tmp_path / "crawl.db")
    copied(whole, tmp_path / "older.db")
    with webtable.open(str(path)) as table:
        stored(table, *range(6, 30))
    assert not log_of(path).exists()
    shutil.copy(log_of(foreign(tmp_path)), log_of(path))

    found = answers(path)

    print(f"\n{foreign.__name__}: {len(found.pages)} pages, errors {dict(found.errors)}")
    assert found.pages or found.errors

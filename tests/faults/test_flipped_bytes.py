"""Files with 1 to 512 flipped bytes: what a scan with bodies gives, what it reports, and who notices the rest."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from load import page_of, url_of, wrong_in

import webtable
from nightly import examples
from webtable import WebTableError

pytestmark = pytest.mark.faults
FILES = int(os.environ.get("WEBTABLE_FAULT_FLIPPED", examples(30, 150)))
PAGES = examples(200, 1_500)
MOST_UNNOTICED = max(1, FILES // 50)
"""Of so many files at most neither doctor nor verify notices that rows are missing: see docs/reliability.md."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """A file whose pages were counted."""
    path = tmp_path_factory.mktemp("whole") / "crawl.db"
    with webtable.open(str(path), create=True) as table:
        with table.writer() as writer:
            for number in range(PAGES):
                writer.put(page_of(number, 1))
        table.links.refresh(also_unfinished=True)
    return path.read_bytes()


def flipped(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for at in chance.sample(range(len(changed)), 2 ** chance.randrange(10)):
        changed[at] ^= chance.randrange(1, 256)
    return bytes(changed)


@dataclass
class Found:
    """What came of one damaged file."""

    outcome: str
    """`right`, `error`, `reported` where each missing row is, `silent` where one is not."""
    doctor: bool = False
    verify: bool = False
    wrong: list[str] = field(default_factory=list)
    false_alarm: int = 0

    @property
    def is_noticed(self) -> bool:
        return self.doctor or self.verify


def asked(path) -> Found:
    """Scan the file at *path*, and have doctor and verify look at it."""
    try:
        with webtable.open(str(path)) as table:
            pages = list(table.pages(webtable.ALL, columns=["body", "outlinks"]))
            reported = table.metrics.damaged
    except WebTableError:
        return Found("error")
    wrong = [what for page in pages if (what := wrong_in(page) or (page.body is None and f"{page.url} has no body"))]
    missing = PAGES - len({page.url for page in pages} & {url_of(number) for number in range(PAGES)})
    found = Found("right" if not missing else "reported" if missing <= reported else "silent", wrong=wrong)
    found.verify, found.false_alarm = verified(path, missing)
    found.doctor = found.outcome == "silent" and any(one.check == "integrity" for one in webtable.doctor(path).failed)
    return found


def verified(path, missing: int) -> tuple[bool, int]:
    """Return whether verify notices what is wrong with the file at *path*, and how many pages it misses too many."""
    try:
        with webtable.open(str(path)) as table:
            found = table.maintenance.verify(webtable.ALL)
    except WebTableError:
        return True, 0
    return bool(found.missing), max(0, (found.missing or 0) - missing)


@pytest.mark.slow
@pytest.mark.usefixtures("manual_clock")
def test_a_file_with_flipped_bytes_gives_no_wrong_page_and_what_it_lacks_is_reported_or_noticed(whole, tmp_path):
    chance, found, path = random.Random(13), list[Found](), tmp_path / "damaged.db"
    for _ in range(FILES):
        path.write_bytes(flipped(whole, chance))
        found.append(asked(path))

    outcomes = Counter(one.outcome for one in found)
    silent = [one for one in found if one.outcome == "silent"]
    by = {name: sum(getattr(one, name) for one in silent) for name in ("doctor", "verify")}
    unnoticed = sum(not one.is_noticed for one in silent)
    print(f"\n{FILES} files of {PAGES:,} pages: {dict(outcomes)}; silent ones are noticed: {by}, by none: {unnoticed}")
    assert [what for one in found for what in one.wrong] == []
    assert [one.false_alarm for one in found if one.false_alarm] == []
    assert unnoticed <= MOST_UNNOTICED
    assert outcomes["right"]

"""The doctor: all checks of a store and a table, one after another, also where the table cannot be opened."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from webtable._shown import Shown, ShowsItself
from webtable.errors import (
    InvalidArgument,
    LayoutMismatch,
    NewerFormat,
    NotAStore,
    OlderFormat,
    StoreUnavailable,
    TableNotFound,
    WebTableError,
)
from webtable.repository.creation.tables import stored_layout
from webtable.repository.creation.web import StoredWebTable
from webtable.repository.diagnosis import rows, tables
from webtable.repository.diagnosis.tables import CheckedTable
from webtable.repository.opening import not_there
from webtable.schema import KeyLayout
from webtable.store import adapter_of, open_store
from webtable.store.deadline import Deadline, until
from webtable.store.health import Check, failed, warned, well
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from webtable.repository.arguments import Progress
    from webtable.store import Store

SECONDS: Final = 30.0
"""How long all checks may take together."""


@dataclass(frozen=True, slots=True)
class Diagnosis(ShowsItself):
    """What the doctor has found of the store and the table that `url` names: checks in the order of looking."""

    url: str
    checks: tuple[Check, ...]

    @property
    def is_ok(self) -> bool:
        """Whether there is nothing to do."""
        return all(one.is_ok for one in self.checks)

    @property
    def warnings(self) -> tuple[Check, ...]:
        """What works, and will be trouble."""
        return tuple(one for one in self.checks if one.state == "warning")

    @property
    def failed(self) -> tuple[Check, ...]:
        """What does not work, or is damaged."""
        return tuple(one for one in self.checks if one.state == "failed")

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __str__(self) -> str:
        """Return a line for each check, and one for each remedy."""
        lines = ((f"{one.state}: {one.check}: {one.found}", one.remedy) for one in self.checks)
        return "\n".join(f"{told}\n    {remedy}" if remedy else told for told, remedy in lines)

    def _shown(self) -> Shown:
        columns = ("check", "state", "found", "remedy")
        return Shown(self.url, columns, [tuple(getattr(one, name) for name in columns) for one in self.checks])


def doctor(
    url: str | os.PathLike[str],
    *,
    deep: bool = False,
    full_scan: bool = False,
    timeout: float = SECONDS,
    on_progress: Progress | None = None,
) -> Diagnosis:
    """Return what is well, and what is not, of the store and the table that *url* names; nothing is changed.

    It works where the table cannot be opened: what that is due to is a check that has failed then. All of it ends
    within *timeout* seconds; what there was no time for is told. With *deep* the bodies of a sample of 1,000 pages are
    compared with their digests, with *full_scan* as well those of all pages, of which *on_progress* is told the number
    so far. Raises `InvalidArgument` for a URL that is none.
    """
    found = checks(url, deep=deep, full_scan=full_scan, timeout=timeout, on_progress=on_progress)
    return Diagnosis(StoreURL.parse(url).text, tuple(found))


def checks(
    url: str | os.PathLike[str],
    *,
    deep: bool = False,
    full_scan: bool = False,
    timeout: float = SECONDS,
    on_progress: Progress | None = None,
) -> Iterator[Check]:
    """Yield the checks of `doctor` as they are made."""
    if not timeout > 0:
        raise InvalidArgument(f"timeout={timeout} must be over 0 seconds")
    time = Deadline(timeout)
    reached = _made("store", time, lambda: adapter_of(url).reached(StoreURL.parse(url)))
    yield from reached
    if any(one.state == "failed" for one in reached):
        return
    try:
        with until(time):
            store, table = open_store(url)
    except InvalidArgument:
        raise
    except WebTableError as exc:
        yield failed("store", str(exc), _opening_remedy(exc))
        return
    with closing(store):
        yield well("store", f"{store.name} opens")
        yield from _made("store", time, lambda: store.health(table))
        deepness = rows.Deepness(deep or full_scan, full_scan, on_progress)
        yield from _of_table(store, table, time, deepness)


def _of_table(store: Store, table: str, time: Deadline, deepness: rows.Deepness) -> Iterator[Check]:
    try:
        with until(time):
            stored = StoredWebTable.read(store, table)
    except LayoutMismatch as exc:
        told = str(exc)
        yield from _made("layout", time, lambda: _of_rows(store, table, told))
        return
    except WebTableError as exc:
        yield failed("layout", str(exc), "see what the other checks say of the store")
        return
    if stored is None:
        remedy = (
            "correct the file or the table in the URL; bring back a table that is lost; or webtable create makes it"
        )
        yield failed("layout", str(not_there(store, table)), remedy)
        return
    checked = CheckedTable(store, table, stored, time)
    for name, check in (
        ("layout", tables.layout),
        ("tables", tables.missing),
        ("families", tables.families),
        ("regions", rows.regions),
        ("indexes", tables.indexes),
        ("freshness", tables.freshness),
        ("rows", rows.sample),
    ):
        yield from _made(name, time, lambda check=check: check(checked))  # type: ignore[misc]
    if deepness.is_wanted:
        yield from _made("digests", time, lambda: rows.digests(checked, deepness))


def _of_rows(store: Store, table: str, mismatch: str) -> Iterator[Check]:
    """Yield what there is to see of a table with rows under a declared key, if it is one."""
    layout = KeyLayout.from_json(stored_layout(store, table) or b"")
    if layout is None:
        yield failed("layout", mismatch, "use the version of webtable that has made the table, or a later one")
        return
    yield well("layout", f"rows under the key {layout.key}")
    yield from rows.placed(store, table)


def _made(name: str, time: Deadline, look: Callable[[], Iterable[Check]]) -> list[Check]:
    """Return what *look* finds before the *time* is over; an error of it is a check that has failed."""
    if not time.left():
        return [warned(name, "not looked at, since the time was over", "give it more time (timeout=)")]
    found: list[Check] = []
    try:
        with until(time):
            found.extend(look())
    except InvalidArgument:
        raise
    except TableNotFound as exc:
        found.append(
            failed(name, str(exc), "bring the table back from a copy, or webtable create makes it anew, empty")
        )
    except WebTableError as exc:
        is_over = isinstance(exc, StoreUnavailable) and not time.left()
        remedy = "give it more time (timeout=)" if is_over else "try again; webtable --debug shows where it came from"
        found.append((warned if is_over else failed)(name, str(exc), remedy))
    return found


def _opening_remedy(error: WebTableError) -> str:
    match error:
        case TableNotFound():
            return "webtable create makes it, unless the path is wrong"
        case NewerFormat():
            return "use the version of webtable that has made the file, or a later one"
        case OlderFormat():
            return "export it with the version of webtable that has made it, and import that"
        case NotAStore():
            return "correct the path or the port; what is there was left as it is"
        case StoreUnavailable():
            return "see who else uses it, and try again"
        case _:
            return "see what the message says, and the rights of the file and its directory"

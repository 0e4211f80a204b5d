"""The doctor: all checks of a store and a table, one after another, even if the table cannot be opened."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from webtable._messages import Command, Message, message_of
from webtable.display import Shown, ShowsItself
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
from webtable.repository.diagnosis import rows, tables
from webtable.repository.diagnosis.tables import CheckedTable
from webtable.repository.maintenance.create import StoredWebTable
from webtable.repository.records.table import layout_of
from webtable.repository.table.opening import not_there
from webtable.store import adapter_of, open_store
from webtable.store.deadline import Deadline, until
from webtable.store.health import MORE_TIME, Check, failed, warned, well
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
    """The results of the doctor for the store and the table at `url`: checks in the order in which they were made."""

    url: str
    checks: tuple[Check, ...]

    @property
    def is_ok(self) -> bool:
        """Whether all checks are ok."""
        return all(one.is_ok for one in self.checks)

    @property
    def warnings(self) -> tuple[Check, ...]:
        """The checks with warnings: things that work now, but will cause problems."""
        return tuple(one for one in self.checks if one.state == "warning")

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed: things that do not work, or are damaged."""
        return tuple(one for one in self.checks if one.state == "failed")

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __str__(self) -> str:
        """Return a line for each check, and one for each remedy."""
        lines = ((f"{one.state}: {one.check}: {one.found}", one.remedy) for one in self.checks)
        return "\n".join(f"{line}\n    {remedy}" if remedy else line for line, remedy in lines)

    def _shown(self) -> Shown:
        columns = ("check", "state", "found", "remedy")
        return Shown(self.url, columns, [tuple(getattr(one, name) for name in columns) for one in self.checks])


def doctor(
    url: str | os.PathLike[str],
    *,
    deep: bool = False,
    all_bodies: bool = False,
    timeout: float = SECONDS,
    on_progress: Progress | None = None,
) -> Diagnosis:
    """Check the store and the table at *url*, without changing anything.

    If the table cannot be opened, a failed check says why. The checks end within *timeout* seconds; those that there
    was no time for are warnings. With *deep* the bodies of a sample of 1,000 pages are compared with their digests,
    with *all_bodies* those of all pages; *on_progress* gets the number of pages so far. Raises `InvalidArgument` for an
    invalid URL.
    """
    found = checks(url, deep=deep, all_bodies=all_bodies, timeout=timeout, on_progress=on_progress)
    return Diagnosis(StoreURL.parse(url).text, tuple(found))


def checks(
    url: str | os.PathLike[str],
    *,
    deep: bool = False,
    all_bodies: bool = False,
    timeout: float = SECONDS,
    on_progress: Progress | None = None,
) -> Iterator[Check]:
    """Yield the checks that `doctor` makes of *url* as they are made, within *timeout* seconds.

    *deep*, *all_bodies* and *on_progress* are those of `doctor`. Raises `InvalidArgument` for an invalid URL, and for a
    *timeout* that is not over 0.
    """
    if not timeout > 0:
        raise InvalidArgument(f"timeout={timeout} must be over 0 seconds")
    time = Deadline(timeout)
    reached = _made("store", time, lambda: adapter_of(url).connection_checks(StoreURL.parse(url)))
    yield from reached
    if any(one.state == "failed" for one in reached):
        return
    try:
        with until(time):
            store, table = open_store(url)
    except InvalidArgument:
        raise
    except WebTableError as exc:
        yield failed("store", message_of(exc), _opening_remedy(exc))
        return
    with closing(store):
        yield well("store", f"{store.name} opens")
        yield from _made("store", time, lambda: store.health(table))
        deepness = rows.Deepness(deep or all_bodies, all_bodies, on_progress)
        yield from _of_table(store, table, time, deepness)


def _of_table(store: Store, table: str, time: Deadline, deepness: rows.Deepness) -> Iterator[Check]:
    try:
        with until(time):
            stored = StoredWebTable.read(store, table)
    except LayoutMismatch as exc:
        mismatch = message_of(exc)
        yield from _made("layout", time, lambda: _of_rows(store, table, mismatch))
        return
    except WebTableError as exc:
        yield failed("layout", message_of(exc), "see the other checks of the store")
        return
    if stored is None:
        remedy = Message(
            "correct the file or the table in the URL; restore a table that is lost; or create it with ",
            Command("create"),
        )
        yield failed("layout", message_of(not_there(store, table)), remedy)
        return
    checked = CheckedTable(store, table, stored, time)
    for name, check in (
        ("layout", tables.layout),
        ("tables", tables.missing),
        ("families", tables.families),
        ("regions", rows.regions),
        ("indexes", tables.indexes),
        ("full text", tables.full_text),
        ("freshness", tables.freshness),
        ("revisits", tables.revisits),
        ("rows", rows.sample),
    ):
        yield from _made(name, time, lambda check=check: check(checked))  # type: ignore[misc]
    if deepness.is_wanted:
        yield from _made("digests", time, lambda: rows.digests(checked, deepness))


def _of_rows(store: Store, table: str, mismatch: str) -> Iterator[Check]:
    """Yield the checks of a table with rows under a declared key, if it is one."""
    layout = layout_of(store, table)
    if layout is None:
        yield failed("layout", mismatch, "use the version of webtable that created the table, or a later one")
        return
    yield well("layout", f"rows under the key {layout.key}")
    yield from rows.placed(store, table)


def _made(name: str, time: Deadline, look: Callable[[], Iterable[Check]]) -> list[Check]:
    """Return the checks of *look* that are made before the *time* is over; an error counts as a failed check."""
    if not time.left():
        return [warned(name, "not checked, since the time was over", MORE_TIME)]
    found: list[Check] = []
    try:
        with until(time):
            found.extend(look())
    except InvalidArgument:
        raise
    except TableNotFound as exc:
        found.append(
            failed(
                name,
                message_of(exc),
                Message("restore the table from a backup, or create it again, empty, with ", Command("create")),
            )
        )
    except WebTableError as exc:
        is_over = isinstance(exc, StoreUnavailable) and not time.left()
        remedy = MORE_TIME if is_over else "try again; webtable --debug shows the traceback"
        found.append((warned if is_over else failed)(name, message_of(exc), remedy))
    return found


def _opening_remedy(error: WebTableError) -> str:
    match error:
        case TableNotFound():
            return Message("correct the path, or create the table with ", Command("create"))
        case NewerFormat():
            return "use the version of webtable that created the file, or a later one"
        case OlderFormat():
            return "export it with the version of webtable that created it, and import the export"
        case NotAStore():
            return "correct the path or the port; nothing was changed there"
        case StoreUnavailable():
            return "check which other processes use it, and try again"
        case _:
            return "see the message, and check the permissions of the file and its directory"

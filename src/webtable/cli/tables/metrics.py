"""The command `metrics`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.exit_codes import NOT_DONE
from webtable.cli.session import import_indexes, session
from webtable.cli.terminal.output import write_bytes
from webtable.cli.terminal.text import examples
from webtable.errors import LayoutMismatch, WebTableError
from webtable.repository.diagnosis.doctor import SECONDS, doctor
from webtable.repository.metrics import Exposed, gauge_families, prometheus
from webtable.repository.questions.holdings import Holdings, estimated
from webtable.store import StoreURL, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from webtable.cli.session import Session
    from webtable.repository import WebTable
    from webtable.store.health import Check

commands = typer.Typer()

_STATES = {"ok": 0, "warning": 1, "failed": 2}
_HELD = {
    "pages": "Pages, as of the last refresh of links; else about.",
    "captures": "Captures that are kept, about.",
    "stored": "Bytes of the bodies of all captures as they are stored, about.",
    "unpacked": "Bytes of the newest body of each page as it was crawled, as of the last refresh of links; else about.",
    "hosts": "Hosts that have pages, as of the last refresh of links; else about.",
}


@commands.command(
    epilog=examples(
        "webtable metrics | grep webtable_check_state",
        "webtable metrics --textfile webtable.prom",
    )
)
def metrics(
    ctx: typer.Context,
    textfile: Annotated[
        Path | None,
        typer.Option("--textfile", metavar="FILE", help="Write FILE, as a whole, for the textfile of node_exporter."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long the checks of the doctor may take.")
    ] = SECONDS,
) -> None:
    """Write how the store is and what its table holds as Prometheus reads it: the checks of `doctor` and of `info`.

    Where the store is away, webtable_up is 0 and the checks say why; the exit code is 1 then. To be run by cron, with
    --textfile for node_exporter. What a program does with a table it tells by itself: see docs/operating.md.
    """
    this = session(ctx)
    import_indexes(this.indexes)
    client = prometheus()
    registry = client.CollectorRegistry()
    gauges = _Gauges(this, timeout)
    registry.register(gauges)
    if textfile is None:
        write_bytes(client.generate_latest(registry))
    else:
        client.write_to_textfile(str(textfile), registry)
    if not gauges.is_up:
        raise typer.Exit(NOT_DONE)


class _Gauges:
    """Looks at the store once, and gives what is found as metrics."""

    def __init__(self, this: Session, timeout: float) -> None:
        checks = doctor(this.store, timeout=timeout).checks
        self._name, self._found = _name(this.store), [*_of_checks(checks)]
        self.is_up = not any(_keeps_from_opening(one) for one in checks)
        if self.is_up:
            try:
                with this.open() as table:
                    self._found += _of_table(table)
            except LayoutMismatch:  # rows under a declared key, of which nothing more is known
                pass
            except WebTableError:
                self.is_up = False
        self._found.append(Exposed.of("up", "Whether the table can be opened.", self.is_up))

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        return gauge_families(self._name, self._found)


def _name(url: str) -> str:
    """Return the name of the table that *url* leads to, as an open table has it; it is the same while it is away."""
    table, (place, _, _) = table_of(url), StoreURL.parse(url).typed.partition("?")
    return f"{place.removeprefix('sqlite:').removesuffix(f'/{table}').rstrip('/')}/{table}"


def _keeps_from_opening(check: Check) -> bool:
    is_of_opening = check.check in {"store", "layout", "tables"} or check.check.startswith("gateway ")
    return is_of_opening and check.state == "failed"


def _of_checks(checks: tuple[Check, ...]) -> Iterator[Exposed]:
    worst: dict[str, int] = defaultdict(int)
    for check in checks:
        worst[check.check] = max(worst[check.check], _STATES[check.state])
    told = "What the doctor finds: 0 ok, 1 a warning, 2 failed."
    yield Exposed("check_state", told, ("check",), [((name,), state) for name, state in worst.items()])


def _of_table(table: WebTable) -> Iterator[Exposed]:
    yield from _of_holdings(estimated(table))
    freshness = table.links_freshness()
    yield Exposed.of("queue_batches", "Batches whose links and hosts are not counted yet.", freshness.waiting)
    if freshness.since is not None:
        told = "Since when the oldest of them waits."
        yield Exposed.of("queue_oldest_timestamp_seconds", told, freshness.since.timestamp())
    ready = [((name,), state.phase == "ready") for name, state in table.index_states().items()]
    yield Exposed("index_ready", "Whether an index is complete.", ("index",), ready)
    space = table.store.space()
    if space is not None:
        yield Exposed.of("store_bytes", "The size of the file.", space.bytes)
        yield Exposed.of("store_free_bytes", "How much of it compact would give back now.", space.free)


def _of_holdings(found: Holdings) -> Iterator[Exposed]:
    for name, told in _HELD.items():
        unit = "_bytes" if name in ("stored", "unpacked") else ""
        yield Exposed.of(f"{name}{unit}", told, getattr(found, name))
    if found.waiting is not None:
        yield Exposed.of("queue_rows", "Pages that have changed since then and are not counted yet.", found.waiting)
    if found.newest is not None:
        told = "When the newest page was fetched."
        yield Exposed.of("newest_page_timestamp_seconds", told, found.newest.timestamp())

"""The bars of rich that show progress in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

SECONDS_BETWEEN = 0.2
"""The shortest time between two redraws of a bar."""


def terminal_bar(*columns: ProgressColumn, animated: bool = True, kind: type[Progress] | None = None) -> Progress:
    """Return a bar of rich on standard error that disappears at its end; if *animated*, a thread draws it."""
    from rich.console import Console
    from rich.progress import Progress

    return (kind or Progress)(
        *columns,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=animated,
        refresh_per_second=1 / SECONDS_BETWEEN,
        redirect_stdout=False,
        redirect_stderr=False,
        expand=True,
    )

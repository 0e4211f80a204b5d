"""Progress of long calls: a bar in a terminal, a line in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar

from webtable.display.markup import escaped, tag
from webtable.display.text import SECONDS_BETWEEN, terminal_bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType


__all__ = ["ProgressBar", "progress_bar"]

T = TypeVar("T")


def progress_bar(title: str = "", noun: str = "page", total: int | None = None) -> ProgressBar:
    """Return an object to give as `on_progress`, which shows how many pages were read.

    *title* is shown before the bar, *noun* is the singular of what is counted, and *total* how many there are, if that
    is known.
    In a terminal it is a bar on standard error, in a notebook a line below the cell, elsewhere nothing. It disappears
    when nothing refers to it any more, so no variable is needed: `table.stats(on_progress=progress_bar())`. In a `with`
    block it is shown from the beginning of the block to its end.
    """
    return ProgressBar(title, noun, total)


State = Callable[[], tuple[int, str]]


class ProgressBar:
    """Shows a count, with which it is called again and again; `progress_bar` makes one.

    With *state*, which returns how much of *total* is done and a text, it need not be called: a terminal asks for the
    state whenever it draws the bar, a few times a second.
    """

    def __init__(self, title: str, noun: str = "page", total: int | None = None, *, state: State | None = None) -> None:
        self._title = title
        self._noun = noun
        self._total = total
        self._state = state
        self.so_far: int = 0
        """The count that is shown."""
        self._view: _View | None = None

    def __call__(self, so_far: int) -> None:
        """Show the count *so_far*."""
        self.so_far = so_far
        self._shown(animated=False).show(_text(so_far, self._noun, self._total), so_far)

    def close(self) -> None:
        """Remove the bar."""
        if self._view is not None:
            self._end()
            self._view = None

    def __enter__(self) -> Self:
        done, text = self._state() if self._state else (0, _text(0, self._noun, self._total))
        self._shown(animated=True).show(text, done)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _shown(self, *, animated: bool) -> _View:
        if self._view is None:
            self._view = _view(self._title, self._total, self._state, animated=animated)
            # Also at the end of the process: otherwise the terminal would be left without a cursor.
            self._end = weakref.finalize(self, self._view.close)
        return self._view


def counting(items: Iterable[T], on_progress: Callable[[int], object] | None, every: int = 1_000) -> Iterator[T]:
    """Yield *items*; call *on_progress* with their count after each *every* of them and at the end.

    >>> list(counting("abc", print, 2))
    2
    3
    ['a', 'b', 'c']
    """
    number = 0
    for number, item in enumerate(items, 1):
        yield item
        if on_progress is not None and number % every == 0:
            on_progress(number)
    if on_progress is not None:
        on_progress(number)


class _View:
    """Shows nothing, as in a pipe; its subclasses redraw a few times a second."""

    def __init__(self, title: str) -> None:
        self.title, self.text = title, ""
        self._next = 0.0

    def show(self, text: str, done: int) -> None:  # noqa: ARG002 - for a bar
        self.text, now = text, time.monotonic()
        if now >= self._next:
            self._next = now + SECONDS_BETWEEN
            self.draw()

    def draw(self) -> None: ...

    def close(self) -> None: ...


def _view(title: str, total: int | None, state: State | None, *, animated: bool) -> _View:
    if _in_notebook():
        return _Notebook(title)
    return _Terminal(title, total, state, animated=animated) if sys.stderr.isatty() else _View(title)


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel, which shows what is displayed; in a terminal it has none."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Terminal(_View):
    def __init__(self, title: str, total: int | None, state: State | None, *, animated: bool) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        class Bar(Progress):
            # The state is asked for as the bar is drawn, so the loop that does the work does nothing for it.
            def get_renderables(self) -> Iterator[RenderableType]:
                if state is not None:
                    for task in self.task_ids:
                        done, text = state()
                        self.update(task, completed=done, text=text)
                yield from super().get_renderables()

        super().__init__(title)
        self._is_animated = animated
        self._bar = terminal_bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            *([] if total is None else [TaskProgressColumn()]),
            TextColumn("{task.fields[text]}"),
            *([] if total is None else [TimeRemainingColumn(compact=True)]),
            animated=animated,
            kind=Bar,
        )
        self._task = self._bar.add_task(title, total=total, text="")
        self._bar.start()

    def show(self, text: str, done: int) -> None:
        self._bar.update(self._task, completed=done, text=text)
        super().show(text, done)

    def draw(self) -> None:
        if not self._is_animated:
            self._bar.refresh()

    def close(self) -> None:
        self._bar.stop()


class _Notebook(_View):
    # Not by Rich, which needs ipywidgets for a bar in a notebook.
    def __init__(self, title: str) -> None:
        super().__init__(title)
        line = _NotebookLine(title, "", is_done=False)
        self._handle: Any = import_module("IPython.display").display(line, display_id=True)

    def draw(self) -> None:
        self._handle.update(_NotebookLine(self.title, self.text, is_done=False))

    def close(self) -> None:
        self._handle.update(_NotebookLine(self.title, self.text, is_done=True))


class _NotebookLine:
    def __init__(self, title: str, text: str, *, is_done: bool) -> None:
        self.title, self.text, self.is_done = title, text, is_done

    def __repr__(self) -> str:
        return f"{self.title}: {self.text}" if self.title else self.text

    def _repr_html_(self) -> str:
        return escaped(repr(self) if self.is_done else [tag("progress"), " ", repr(self)])


def _text(count: int, noun: str, total: int | None) -> str:
    if total is None:
        return f"{count:,} {noun}{'' if count == 1 else 's'}"
    return f"{count:,} of {total:,} {noun}{'' if total == 1 else 's'}"

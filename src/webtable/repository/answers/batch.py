"""Results that have been read: lists of them, and batches with a token for what comes after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar, overload

from webtable.display.text import plural
from webtable.repository.answers.tabular import SHOWN_ROWS, Tabular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Columns

T = TypeVar("T")


class ResultList(Tabular[T]):
    """Results in order, like a list; equal to a list or a tuple of the same results."""

    def __init__(self, results: Iterable[T], columns: Columns) -> None:
        self._results = tuple(results)
        self._of_columns = columns

    @property
    def _columns(self) -> Columns:
        return self._of_columns

    def __iter__(self) -> Iterator[T]:
        return iter(self._results)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ResultList):
            return self._results == other._results
        return self._results == tuple(other) if isinstance(other, list | tuple) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def _title(self) -> str:
        return plural(len(self), "result")

    def _nothing(self) -> str:
        return "no results"

    def __repr__(self) -> str:
        return repr(list(self._results))


class Batch(ResultList[T]):
    """Results in order, and the token for those after them (`next_token`, None at the end)."""

    def __init__(
        self, results: Sequence[T], next_token: str | None, columns: Columns, *, shown: int = SHOWN_ROWS, empty: str
    ) -> None:
        super().__init__(results, columns)
        self._empty = empty
        self.next_token = next_token
        self._shown_rows = shown

    def _most_shown(self) -> int:
        return self._shown_rows

    def _nothing(self) -> str:
        return self._empty or super()._nothing()

    def _title(self) -> str:
        return super()._title() + (", and more after them: after=batch.next_token" if self.next_token else "")

    def __repr__(self) -> str:
        return f"<Batch of {len(self)}, next_token={self.next_token!r}>"

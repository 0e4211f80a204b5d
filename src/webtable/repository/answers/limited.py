"""The first results of an answer, and the token with which it continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.answers.results import Results

T = TypeVar("T")


class Limited(Generic[T]):
    """The first *limit* results of a question (None: all); `next_token` continues after them, None if there are none.

    *results* must be asked for with a limit of one more, which shows whether there are more. The token is there once
    they were read.
    """

    def __init__(self, results: Results[T], limit: int | None) -> None:
        self._results = results
        self._limit = limit
        self.next_token: str | None = None

    def __iter__(self) -> Iterator[T]:
        last: T | None = None
        for number, result in enumerate(self._results):
            if number == self._limit:
                if last is not None:
                    self.next_token = self._results.token_after(last)
                return
            yield result
            last = result

"""A question about pages: lazy, iterable, cut into batches that can be taken up again."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args, overload

import msgspec

from webtable.errors import InvalidArgument, InvalidToken
from webtable.page import Page
from webtable.rowkey import KeyRange

Order = Literal["url", "storage"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a question will be answered: its key ranges, the stored columns, and the calls of its first piece."""

    question: str
    order: Order
    columns: tuple[str, ...]
    ranges: tuple[KeyRange, ...]
    calls: tuple[str, ...]

    def __str__(self) -> str:
        shown = [f"  {keys.start!r} .. {keys.stop!r}" for keys in self.ranges[:4]]
        if len(self.ranges) > 4:
            shown += [f"  … and {len(self.ranges) - 4:,} more"]
        return "\n".join([
            self.question,
            f"order: {self.order}",
            f"columns: {', '.join(self.columns)}",
            f"ranges: {len(self.ranges):,}",
            *shown,
            f"calls of the first piece: {len(self.calls):,}",
            *(f"  {call}" for call in self.calls),
        ])


class Batch(Sequence[Page]):
    """Some pages in order, and the token that goes on behind them (`next_token`, None at the end)."""

    def __init__(self, pages: Sequence[Page], next_token: str | None) -> None:
        self._pages = tuple(pages)
        self.next_token = next_token

    @overload
    def __getitem__(self, index: int) -> Page: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Page]: ...
    def __getitem__(self, index: int | slice) -> Page | Sequence[Page]:
        return self._pages[index]

    def __len__(self) -> int:
        return len(self._pages)

    def __repr__(self) -> str:
        return f"<Batch of {len(self)} pages, next_token={self.next_token!r}>"


class _Position(msgspec.Struct, frozen=True, array_like=True):
    question: str
    behind: bytes


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages that answer a question. Iterating asks it anew every time; nothing is asked before.

    `limit` is the most pages that an iteration gives. `page()` gives the first of them as a batch whose `next_token`,
    given back as `after=`, goes on behind it: in another process too, and after inserts and deletes.
    """

    question: str
    order: Order
    limit: int | None
    after: bytes | None
    _run: Callable[[bytes | None, int | None], Iterator[Page]] = field(repr=False)
    _place: Callable[[Page], bytes] = field(repr=False)
    _explain: Callable[[], Explanation] = field(repr=False)

    def __iter__(self) -> Iterator[Page]:
        return self._run(self.after, self.limit)

    def page(self, size: int = 50) -> Batch:
        """Return the first *size* pages; raises `InvalidArgument` for a size below 1."""
        if not isinstance(size, int) or size < 1:
            raise InvalidArgument(f"size={size!r} must be at least 1")
        wanted = size if self.limit is None else min(size, self.limit)
        # One more tells whether there is a next batch.
        more = wanted + (self.limit is None or wanted < self.limit)
        found = list(self._run(self.after, more))
        token = self.token_behind(found[wanted - 1]) if len(found) > wanted > 0 else None
        return Batch(found[:wanted], token)

    def token_behind(self, page: Page) -> str:
        """Return the token that goes on behind *page*, one of those that the question gave."""
        position = _Position(_fingerprint(self.question, self.order), self._place(page))
        return base64.urlsafe_b64encode(msgspec.msgpack.encode(position)).rstrip(b"=").decode()

    def explain(self) -> Explanation:
        """Return how the question will be answered, without asking it."""
        return self._explain()


def position_of(token: str | None, question: str, order: Order) -> bytes | None:
    """Return the place that *token* names; raises `InvalidToken` for one that is damaged or of another question."""
    if token is None:
        return None
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        position = msgspec.msgpack.decode(packed, type=_Position)
    except (TypeError, ValueError, binascii.Error, msgspec.MsgspecError) as exc:
        raise InvalidToken(f"after={token!r} is no page token: take `next_token` of a batch as it is") from exc
    if position.question != _fingerprint(question, order):
        raise InvalidToken(f"after={token!r} was given out by another question than {question}, order={order!r}")
    return position.behind


def check_order(order: str, limit: int | None) -> None:
    """Raise `InvalidArgument` for an *order* that there is not, or a *limit* below 0."""
    if order not in get_args(Order):
        raise InvalidArgument(f"order={order!r} must be one of {', '.join(get_args(Order))}")
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise InvalidArgument(f"limit={limit!r} must be a number of pages from 0, or None for all")


def _fingerprint(question: str, order: Order) -> str:
    return hashlib.sha256(f"{question} {order}".encode()).hexdigest()[:12]

"""Values that were computed last, kept as long as there is room, for those who ask for them again soon."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from webtable._process_hooks import renew_after_fork

if TYPE_CHECKING:
    from collections.abc import Hashable

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class RecentValues(Generic[K, V]):
    """The values that were used last, by keys: as many as take *size* bytes. Safe among threads.

    >>> recent = RecentValues[str, str](100)
    >>> recent.keep("a", "first", 60)
    >>> recent.keep("b", "second", 60)
    >>> recent.get("a"), recent.get("b")
    (None, 'second')
    """

    # `functools.lru_cache` counts values, whatever their size.
    def __init__(self, size: int) -> None:
        self._size = size
        self.after_fork()
        renew_after_fork(self)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def get(self, key: K) -> V | None:
        """Return the value of *key*, which is then the one used last; None if it is not here."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def keep(self, key: K, value: V, size: int) -> None:
        """Keep *value*, which takes *size* bytes, in place of those that were used least recently.

        A value that is larger than all the room is not kept.
        """
        with self._lock:
            if size > self._size or key in self._values:
                return
            self._values[key] = value, size
            self._room -= size
            while self._room < 0:
                self._room += self._values.popitem(last=False)[1][1]

    def after_fork(self) -> None:
        """Begin with nothing: a thread of the parent may hold the lock, and have changed half of the rest."""
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._room = self._size
        self._lock = threading.Lock()

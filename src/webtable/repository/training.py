"""The training of dictionaries from what a writer stores: samples of each site, and a thread that makes one of them.

Samples are frames as they are stored, so they take no time and a quarter of the memory. The pages of a host make a
dictionary for it; a registered domain gets one of hosts that are too small for one of their own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import zstandard

from webtable._forks import renew_after_fork
from webtable._threads import Threads
from webtable.errors import WebTableError
from webtable.repository.bodies import dictionary_of, pack, unpack
from webtable.repository.dictionary import Dictionary
from webtable.repository.sites import sites_of
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository.frame import Frame

DICTIONARY_BYTES: Final = 64 * 1024
PAGES: Final = 128
"""How many samples a dictionary is made of."""
LEAST_BYTES: Final = 128 * 1024
"""How long these are at least, together and unpacked: shorter ones make no dictionary worth its row."""
SAMPLES_BYTES: Final = 32 * 2**20
"""How much memory samples of all sites take; those of the site that was not seen for longest are let go."""
_LONGEST = 256 * 1024
"""Of longer frames no sample is taken."""
_SAMPLE_BYTES = 500
"""What a sample takes beside its frame."""
_CUT = 64 * 1024
"""So much of the beginning of a sample is trained on."""
# Told, for to look for the best ones takes four times the 0.06 seconds, and makes pages 4 % shorter.
_SEGMENT, _WINDOW = 1024, 8
_MOST_WAITING = 4
"""How many sites wait to be trained; samples of further ones are let go, and taken anew."""
_OF_ONE_HOST = PAGES // 4
"""How many samples of one host are among those of a registered domain."""
_HELD_OUT = 4
"""Each fourth sample is not trained on, but tried."""
_WINS = 0.95
"""The part of their bytes that pages may take with a dictionary which is worth it."""


class Sample(NamedTuple):
    """A page that was stored: its row, and its frame."""

    row: bytes
    frame: bytes


@dataclass(slots=True)
class _Pool:
    """The samples of one site."""

    samples: list[Sample] = field(default_factory=list)
    bytes: int = 0
    of_hosts: Counter[str] = field(default_factory=Counter)


class Trainer:
    """Takes samples of what a writer stores, and has dictionaries made of them in a thread of its own.

    May be used by many threads. Each site is trained once in the life of a writer, unless it has got a dictionary.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._lock = threading.Lock()
        self._pools: OrderedDict[str, _Pool] = OrderedDict()
        self._bytes = 0
        self._trained: set[str] = set()
        self._waiting = 0
        self._threads = Threads(1, "webtable-train")
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Wait for what is being trained, and stop the thread."""
        self._threads.close()

    def take(self, row: bytes, url: str, body: bytes | None) -> None:
        """Take a page that was stored, with its *body* as it is stored, as a sample of its sites."""
        if body is None or dictionary_of(body) or not 0 < len(body) <= _LONGEST:
            return
        host, domain = sites_of(url)
        with self._lock:
            whole = [
                (site, pool.samples)
                for site in (host, domain)
                if site is not None and (pool := self._added(site, host, Sample(row, body))) is not None
            ]
        for site, samples in whole:
            self._threads.submit(lambda site=site, samples=samples: self._train(site, samples))  # type: ignore[misc]

    def _added(self, site: str, host: str, sample: Sample) -> _Pool | None:
        """Add a sample of *site*; return its pool, which is let go, when there are enough."""
        if site in self._trained:
            return None
        pool = self._pools.setdefault(site, _Pool())
        self._pools.move_to_end(site)
        if site != host and pool.of_hosts[host] >= _OF_ONE_HOST:
            return None
        pool.samples.append(sample)
        pool.of_hosts[host] += 1
        pool.bytes += len(sample.frame) + _SAMPLE_BYTES
        self._bytes += len(sample.frame) + _SAMPLE_BYTES
        if len(pool.samples) >= PAGES:
            self._let_go(site)
            if self._waiting == _MOST_WAITING:
                return None
            self._waiting += 1
            self._trained.add(site)
            return pool
        while self._bytes > SAMPLES_BYTES:
            self._let_go(next(iter(self._pools)))
        return None

    def _let_go(self, site: str) -> None:
        self._bytes -= self._pools.pop(site).bytes

    def _train(self, site: str, samples: Sequence[Sample]) -> None:
        began = time.monotonic()
        try:
            made = trained([sample.frame for sample in samples])
            if made is not None:
                self._keep(site, made, {sample.row for sample in samples})
        except WebTableError as exc:
            # Its pages are stored without one, and no caller waits for it.
            seconds = time.monotonic() - began
            self._frame.tell(logging.WARNING, "no dictionary", f"no dictionary for {site}", seconds, str(exc))
        finally:
            with self._lock:
                self._waiting -= 1

    def _keep(self, site: str, made: bytes, rows: set[bytes]) -> None:
        """Store the dictionary and let writers use it, unless one of its pages was deleted meanwhile.

        Who erases a domain deletes its pages first, and then looks for dictionaries.
        """
        frame = self._frame
        known = frame.dictionaries.keep(site, made)
        found = frame.store.read(frame.table, sorted(rows), Wanted([frame.codec.columns.page], keys_only=True))
        if any(row is None for row in found):
            frame.dictionaries.remove([known.number])
        else:
            frame.dictionaries.announce(known)


def trained(frames: Sequence[bytes]) -> bytes | None:
    """Return a dictionary made of the bodies in *frames*; None where it makes other pages of the site no shorter.

    These are each fourth of them, which it is not made of. One body at a time is held as a whole.
    """
    tried = frames[::_HELD_OUT]
    learnt: list[bytes | bytearray | memoryview] = [
        unpack(frame)[:_CUT] for at, frame in enumerate(frames) if at % _HELD_OUT
    ]
    total = sum(map(len, learnt))
    if total < LEAST_BYTES * (_HELD_OUT - 1) // _HELD_OUT:
        return None
    try:
        # A dictionary that has most of its samples in it says nothing of other pages.
        size = min(DICTIONARY_BYTES, total // 8)
        made = zstandard.train_dictionary(size, learnt, k=_SEGMENT, d=_WINDOW).as_bytes()
    except zstandard.ZstdError:
        return None  # the samples have nothing in common
    ready = Dictionary.of("", made).ready
    packed = sum(len(pack([unpack(frame)], threads=1, dictionary=ready)[0]) for frame in tried)
    return made if packed < sum(map(len, tried)) * _WINS else None

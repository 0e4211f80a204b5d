"""The clock that the library goes by, and values that stay fresh for a while."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from manual_clock import ManualClock
from webtable._clock import CachedFor, clock


def test_the_clock_tells_the_time_of_the_machine():
    before = datetime.now(UTC)

    now = clock.now()

    assert timedelta() <= now - before + timedelta(milliseconds=1) < timedelta(seconds=5)
    assert abs(clock.milliseconds() - now.timestamp() * 1000) < 5000


def test_a_clock_of_a_test_passes_where_the_library_sleeps(monkeypatch):
    began = datetime(2026, 11, 20, 12, tzinfo=UTC)
    ManualClock(began).installed(monkeypatch)
    before = clock.monotonic()

    clock.sleep(3600)

    assert clock.monotonic() - before == pytest.approx(3600)
    assert clock.now() == began + timedelta(hours=1)
    assert clock.milliseconds() == 1_795_179_600_000


def test_a_value_is_read_again_when_it_is_too_old(manual_clock):
    numbers = count()
    fresh = CachedFor[int](2.0)

    def recent(after: float) -> int:
        manual_clock.passed += after
        return fresh.recent(lambda: next(numbers))

    assert [recent(after) for after in (0, 1.9, 0.1, 1.9, 0.1)] == [0, 0, 1, 1, 2]


def test_a_value_is_as_old_as_its_reading_is_ago(manual_clock):
    fresh = CachedFor[str](2.0)
    fresh.recent(lambda: manual_clock.sleep(1.5) or "slow")
    manual_clock.passed += 0.5

    assert fresh.recent(lambda: "new") == "new"


def test_a_value_is_read_again_when_somebody_knows_that_it_has_changed(manual_clock):
    fresh = CachedFor[str](2.0)
    fresh.recent(lambda: "old")

    assert fresh.read(lambda: "changed") == "changed"
    assert fresh.recent(lambda: "new") == "changed"
    fresh.forget()
    assert fresh.recent(lambda: "new") == "new"
    fresh.learn("told", clock.monotonic())
    assert fresh.recent(lambda: "newer") == "told"

"""Moments as people give them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from manual_clock import ManualClock
from webtable.errors import InvalidArgument
from webtable.repository.arguments import given_moment, moments

NOW = datetime(2026, 11, 20, 12, 0, 0, 250_000, UTC)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    ManualClock(NOW).installed(monkeypatch)


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        (None, None),
        (NOW, NOW),
        (date(2026, 11, 1), datetime(2026, 11, 1, tzinfo=UTC)),
        (timedelta(hours=1), NOW - timedelta(hours=1)),
        ("7d", NOW.replace(microsecond=0) - timedelta(days=7)),
        ("1.5 H", NOW.replace(microsecond=0) - timedelta(minutes=90)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:00+01:00", datetime(2026, 11, 20, 10, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_a_moment_may_be_told_in_many_ways(given, moment):
    assert given_moment("since", given) == moment


@pytest.mark.parametrize("given", [7, "soon", "", datetime(2026, 1, 1), timedelta(days=10**8), "9999999999d", b"7d"])
def test_what_is_no_moment_is_a_typed_error_that_names_the_argument(given):
    with pytest.raises(InvalidArgument, match="since="):
        given_moment("since", given)


def test_an_end_before_its_beginning_is_refused():
    assert moments(since="7d", until="1d")["until"] == NOW.replace(microsecond=0) - timedelta(days=1)
    with pytest.raises(InvalidArgument, match="until="):
        moments(since="1d", until="7d")

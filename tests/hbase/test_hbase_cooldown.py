"""A gateway that failed is left alone for longer and longer, and then tried by one."""

from __future__ import annotations

import pytest

from manual_clock import ManualClock
from webtable.store.hbase.gateways.gateways import CoolDown


@pytest.fixture
def cool_down(manual_clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> CoolDown:
    """One that lasts as long as it can."""
    monkeypatch.setattr("random.uniform", lambda _, most: most)
    return CoolDown()


def test_a_cool_down_doubles_from_a_second_to_a_minute_with_every_trial_that_fails(cool_down, manual_clock):
    lengths = []
    for _ in range(8):
        cool_down.tried()
        lengths.append(cool_down.failed())
        manual_clock.passed += lengths[-1]

    assert lengths == [1, 2, 4, 8, 16, 32, 60, 60]


def test_calls_that_fail_together_are_one_failure(cool_down):
    assert [cool_down.failed() for _ in range(5)] == [1, 0, 0, 0, 0]


def test_a_gateway_that_worked_begins_with_a_second_again(cool_down, manual_clock):
    for _ in range(3):
        cool_down.tried()
        manual_clock.passed += cool_down.failed()
    cool_down.worked()

    assert cool_down.is_over()
    assert cool_down.failed() == 1


def test_one_caller_tries_a_gateway_whose_cool_down_is_over_and_the_others_wait_for_that(cool_down, manual_clock):
    manual_clock.passed += cool_down.failed()
    before = cool_down.is_over()
    cool_down.tried()

    assert before
    assert not cool_down.is_over()
    manual_clock.passed += 60
    assert cool_down.is_over()  # who tried it never came back


def test_a_cool_down_is_a_random_part_of_its_length():
    lengths = [CoolDown().failed() for _ in range(200)]

    assert 0 <= min(lengths) < 0.2
    assert 0.8 < max(lengths) <= 1

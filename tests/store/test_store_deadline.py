"""What failed for a passing reason is tried again until a deadline."""

from __future__ import annotations

import pytest

from webtable.store.deadline import Backoff, Deadline, attempts


@pytest.fixture
def longest_pauses(monkeypatch):
    monkeypatch.setattr("random.uniform", lambda _, most: most)


@pytest.mark.usefixtures("longest_pauses")
def test_pauses_double_up_to_the_longest_one():
    backoff = Backoff(first=1.0, longest=5.0)

    assert [backoff.pause(failures) for failures in (1, 2, 3, 4, 10_000)] == [1, 2, 4, 5, 5]


def test_a_pause_is_a_random_part_of_its_length():
    pauses = [Backoff(first=1.0).pause(1) for _ in range(200)]

    assert 0 <= min(pauses) < 0.2
    assert 0.8 < max(pauses) <= 1


@pytest.mark.usefixtures("longest_pauses")
def test_attempts_end_when_the_deadline_leaves_no_time_for_another_one(manual_clock):
    numbers = list(attempts(Deadline(2.0)))

    assert numbers == [1, 2, 3, 4, 5, 6]
    assert manual_clock.pauses == [0.05, 0.1, 0.2, 0.4, 0.8]


@pytest.mark.usefixtures("longest_pauses")
def test_the_second_attempt_may_come_at_once(manual_clock):
    numbers = attempts(Deadline(1.0), at_once=True)

    assert [next(numbers) for _ in range(3)] == [1, 2, 3]
    assert manual_clock.pauses == [0.0, 0.05]


def test_there_is_one_attempt_where_no_time_is_left(manual_clock):
    assert list(attempts(Deadline(0.0), at_once=True)) == [1]
    assert manual_clock.pauses == []

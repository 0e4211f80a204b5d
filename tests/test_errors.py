"""Errors as values."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from webtable import errors
from webtable.errors import DamagedRow, HiddenByDelete, NoRange, WebTableError, WriteFailed

MADE_OF = {
    NoRange: ("the hash is of the host", "name the host"),
    HiddenByDelete: ("deleted", datetime(2026, 1, 1, tzinfo=UTC)),
    DamagedRow: (b"0:com.example/", None, "no JSON"),
    WriteFailed: ("two pages", ["outcome"], ["page"]),
}
ERRORS = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, WebTableError)]


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_comes_back_whole_from_another_process(kind):
    error = kind(*MADE_OF.get(kind, ("the message",)))

    back = pickle.loads(pickle.dumps(error))

    assert type(back) is kind
    assert str(back) == str(error)
    assert vars(back) == vars(error)

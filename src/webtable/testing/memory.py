"""A store in memory for each test that asks for one."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from webtable.store.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def memory_url() -> Iterator[str]:
    """URL of a store in memory of the test's own, without a table; what it holds is forgotten at the end."""
    name = uuid.uuid4().hex
    yield f"memory:{name}"
    MemoryStore.forget(name)

"""A store in memory, for tests: nothing of it is kept."""

from webtable.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]

"""Hosts: their counts, their entries in the index of hosts, and the question for them."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.hosts import entries, hosts

__all__ = ["entries", "hosts"]

if not TYPE_CHECKING:  # a question is loaded when it is asked, so that the others cost nothing at the start
    __getattr__, __dir__ = late(__name__, {}, __all__)

"""What the options in front of a command say: which store it works on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import webtable
from webtable.errors import InvalidArgument
from webtable.store import StoreURL

if TYPE_CHECKING:
    import typer

    from webtable.repository import LayoutOptions, WebTable

DEFAULT_STORE = "./webtable.db"


@dataclass(frozen=True, slots=True)
class Session:
    """The store of a command; nothing is opened before it is asked for."""

    store: str

    @property
    def url(self) -> StoreURL:
        """The parts of the store's URL; raises `InvalidArgument` where it is none."""
        return StoreURL.parse(self.store)

    def open(self, **options: Unpack[LayoutOptions]) -> WebTable:
        """Return the table that is there; raises `LayoutMismatch` where *options* say otherwise."""
        return webtable.open(self.store, **options)

    def command(self, words: str) -> str:
        """Return the command line that runs the command *words* on this store."""
        store = "" if self.store == DEFAULT_STORE else f"-s {shlex.quote(self.store)} "
        return f"webtable {store}{words}"


def session(ctx: typer.Context) -> Session:
    """Return the session of a command."""
    found = ctx.find_object(Session)
    if found is None:
        raise InvalidArgument("this command runs below `webtable` only")
    return found

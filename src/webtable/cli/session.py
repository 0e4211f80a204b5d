"""What the options in front of a command say: which store it works on."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import webtable
from webtable.cli.settings import read_settings
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import typer

    from webtable.repository import LayoutOptions, WebTable


@dataclass(frozen=True, slots=True)
class Session:
    """The store of a command, and the indexes of the user's own; nothing is opened before it is asked for."""

    store: str = field(repr=False)
    indexes: tuple[str, ...] = ()
    said: str | None = field(default=None, repr=False)
    """What a command line has to say behind `-s` to mean this store, if it is not the store itself."""

    @classmethod
    def named(cls, name: str | None, indexes: Iterable[str] = ()) -> Session:
        """Return the session of the store that `-s` *name* means, or of the usual one; raises `InvalidArgument`."""
        settings = read_settings()
        usual = settings.target(settings.usual)
        target = usual if name is None else settings.target(name)
        return cls(target.store, (*target.indexes, *indexes), "" if target == usual else name)

    def of(self, name: str | None) -> Session:
        """Return the session of the store that a command names itself, as `-s` would; this one where it names none."""
        return self if name is None else Session.named(name, self.indexes)

    @property
    def name(self) -> str:
        """What messages call the store."""
        from webtable.store.url import StoreURL

        return StoreURL.parse(self.store).text

    def open(self, **options: Unpack[LayoutOptions]) -> WebTable:
        """Return the table that is there; raises `LayoutMismatch` where *options* say otherwise."""
        import_indexes(self.indexes)
        return webtable.open(self.store, **options)

    def command(self, words: str) -> str:
        """Return the command line that runs the command *words* on this store, without user and password in its URL.

        Where it has some, `auth=basic` takes them from netrc or the environment.
        """
        from webtable.store.url import StoreURL  # most commands never say another one

        said = StoreURL.parse(self.store if self.said is None else self.said).typed
        store = f"-s {shlex.quote(said)} " if said else ""
        own = "".join(f"--index {shlex.quote(name)} " for name in self.indexes)
        return f"webtable {store}{own}{words}"


def import_indexes(names: Iterable[str]) -> None:
    """Import those of *names*, which the user has given, that are importable; raises `InvalidArgument`.

    They are looked for in the current directory too, behind all else; nothing else ever is.
    """
    own = [name for name in names if ":" in name]
    if not own:
        return
    from webtable.repository.indexes.user_indexes import imported

    with importing_from_here():
        for name in own:
            imported(name)


@contextmanager
def importing_from_here() -> Iterator[None]:
    """Look for modules in the current directory too, behind all else, while a name is imported that was given."""
    here = str(Path.cwd())
    is_new = here not in sys.path
    if is_new:
        sys.path.append(here)
    try:
        yield
    finally:
        if is_new and here in sys.path:
            sys.path.remove(here)


def session(ctx: typer.Context) -> Session:
    """Return the session of a command."""
    found = ctx.find_object(Session)
    if found is None:
        raise InvalidArgument("this command runs below `webtable` only")
    return found

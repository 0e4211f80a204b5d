"""The store that a command works on, from the options before it and the config files.

`webtable.toml` of the current directory is read first, then the user's own:

    store = "crawl.db"

    [profiles.prod]
    store = "hbase://gateway:9090/crawl?thrift2=9091"
    indexes = ["crawl_indexes:language"]

Only the user's own file may name `indexes`: importing them runs code, and a directory may be a stranger's. So a file of
the directory that belongs to somebody else is not read at all, and none replaces a profile of the user's own.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import webtable
from webtable._importable import importing_from_here
from webtable.errors import InvalidArgument, TableNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import typer

    from webtable import WebTable
    from webtable.maintenance import LayoutOptions

FILE = "webtable.toml"
DEFAULT_STORE = "./webtable.db"
# The environment variable that names the store if no option does.
STORE_VARIABLE = "WEBTABLE_STORE"

# The form of a profile's name: without the dots and slashes of a path.
_PROFILE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Profile:
    """A store, and the user's own indexes that its tables may have."""

    store: str = field(repr=False)
    indexes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of the config files: the first file that has a setting wins."""

    store: str | None = field(default=None, repr=False)
    profiles: dict[str, Profile] = field(default_factory=dict)
    unread: str = ""
    """Why the directory's file was not read; "" if it was, or if there is none."""
    replaced: frozenset[str] = frozenset()
    """The profiles of the directory's file that give way to other ones of the user's own."""

    @property
    def usual(self) -> str:
        """The store, or its profile, if no option names one."""
        return os.environ.get(STORE_VARIABLE) or self.store or DEFAULT_STORE

    def target(self, name: str) -> Profile:
        """Return the store that `-s` *name* means: the profile of this name, or the store *name* itself."""
        return self.profiles.get(name) or Profile(name)

    def warnings(self, name: str | None) -> tuple[str, ...]:
        """Return what of the config files is not used by a command on the store *name*, and why."""
        unread = [self.unread] if self.unread else []
        profile = self.usual if name is None else name
        if profile in self.replaced:
            unread.append(f"{profile} is the profile of {user_file()}, not the other one in ./{FILE}")
        return tuple(unread)

    def check(self, name: str) -> None:
        """Raise `InvalidArgument` if *name* is probably a misspelt profile, which would make a store of that name."""
        if name in self.profiles or not _PROFILE.fullmatch(name) or Path(name).exists():
            return
        from difflib import get_close_matches  # only where something is wrong

        if alike := get_close_matches(name, self.profiles, 1):
            raise InvalidArgument(f"no profile {name!r} in {FILE}; did you mean {alike[0]}? For a file write ./{name}")


def read_settings() -> Config:
    """Return the settings of the config files; raises `InvalidArgument`, which names the file, for an invalid one."""
    personal = user_file()
    own = _read(personal, may_import=True) if personal.is_file() else Config()
    if not Path(FILE).is_file():
        return own
    if owner := _other_owner(Path(FILE)):
        advice = "if you trust it, replace it by a copy that belongs to you"
        return replace(own, unread=f"./{FILE} is not read, since it belongs to {owner}; {advice}")
    # The directory's store first: it is where somebody works on one crawl, as with the config files of other tools.
    project = _read(Path(FILE), may_import=False)
    replaced = [name for name, profile in project.profiles.items() if own.profiles.get(name, profile) != profile]
    store = own.store if project.store is None else project.store
    return Config(store, project.profiles | own.profiles, replaced=frozenset(replaced))


def _other_owner(path: Path) -> str | None:
    """Return the owner of the file *path*, or of the link there, if that is another user; None if it may be read.

    Whoever may write into a directory, such as `/tmp`, can leave a config file there for all who work in it. git has
    the same rule for its repositories since CVE-2022-24765. Root may write everywhere anyway.
    """
    if not hasattr(os, "geteuid"):
        return None  # Windows
    trusted = {0, os.geteuid()}
    if os.geteuid() == 0 and (behind := os.environ.get("SUDO_UID", "")).isdecimal():
        trusted.add(int(behind))
    for status in (path.lstat(), path.stat()):
        if status.st_uid not in trusted:
            import pwd

            try:
                return pwd.getpwuid(status.st_uid).pw_name
            except KeyError:  # a user of another machine, or of the host of a container
                return f"user {status.st_uid}"
    return None


def user_file() -> Path:
    """Return the path of the user's own config file, if there is one: `~/.config/webtable/webtable.toml` on Linux."""
    from platformdirs import user_config_path

    return user_config_path("webtable") / FILE


def _read(path: Path, *, may_import: bool) -> Config:
    import tomllib

    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise InvalidArgument(f"{path}: {exc}") from exc
    _check_names(path, "", settings, {"store", "profiles"})
    profiles = settings.get("profiles", {})
    if not isinstance(profiles, dict):
        raise InvalidArgument(f"{path}: profiles is {profiles!r}; it must be tables, as in [profiles.prod]")
    targets = {name: _target(path, name, profile, may_import=may_import) for name, profile in profiles.items()}
    return Config(_text(path, "store", settings["store"]) if "store" in settings else None, targets)


def _target(path: Path, name: str, profile: Any, *, may_import: bool) -> Profile:
    if not _PROFILE.fullmatch(name):
        raise InvalidArgument(f"{path}: the profile {name!r} must be named by letters, digits, '-' and '_'")
    where = f"profiles.{name}"
    if not isinstance(profile, dict) or "store" not in profile:
        raise InvalidArgument(f"{path}: {where} must have a store")
    _check_names(path, f"{where}.", profile, {"store", "indexes"})
    indexes = profile.get("indexes", [])
    if indexes and not may_import:
        own = shlex.quote(str(user_file()))
        raise InvalidArgument(f"{path}: {where}.indexes are imported only if {own} or --index names them")
    if not isinstance(indexes, list):
        raise InvalidArgument(f"{path}: {where}.indexes is {indexes!r}; it must be a list of strings")
    names = tuple(_text(path, f"{where}.indexes", index) for index in indexes)
    return Profile(_text(path, f"{where}.store", profile["store"]), names)


def _check_names(path: Path, where: str, names: Iterable[str], allowed: set[str]) -> None:
    for name in names:
        if name not in allowed:
            raise InvalidArgument(
                f"{path}: {where}{name} is not a setting; must be one of {', '.join(sorted(allowed))}"
            )


def _text(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"{path}: {name} is {value!r}; it must be a string")
    return value


# A store that a session shows has no user and password: command lines are seen by others, and kept in histories.


@dataclass(frozen=True, slots=True)
class CommandSession:
    """The store of a command, and the user's own indexes; nothing is opened until it is needed."""

    store: str = field(repr=False)
    indexes: tuple[str, ...] = ()
    typed: str | None = field(default=None, repr=False)
    """The value of `-s` that means this store, if not the store itself."""
    warnings: tuple[str, ...] = ()
    """What of the config files is not used, and why."""

    @classmethod
    def named(cls, name: str | None, indexes: Iterable[str] = ()) -> CommandSession:
        """Return the session of the store that `-s` *name* means, or of the usual one; raises `InvalidArgument`."""
        settings = read_settings()
        settings.check(settings.usual if name is None else name)
        # Commands in messages leave out -s where the usual store is meant, even if it was named.
        usual = settings.target(settings.usual)
        target = usual if name is None else settings.target(name)
        typed = "" if target == usual else name
        return cls(target.store, (*target.indexes, *indexes), typed, settings.warnings(name))

    def of(self, name: str | None) -> CommandSession:
        """Return the session of the store *name*, which a command gives in place of `-s`; this one if it is None."""
        return self if name is None else CommandSession.named(name, self.indexes)

    @property
    def name(self) -> str:
        """The name of the store in messages."""
        from webtable.store import StoreURL

        return StoreURL.parse(self.store).text

    def open(self, **options: Unpack[LayoutOptions]) -> WebTable:
        """Return the existing table; raises `LayoutMismatch` if its layout differs from *options*."""
        import_indexes(self.indexes)
        return webtable.open(self.store, **options)

    def command(self, words: str) -> str:
        """Return the command line that runs the command *words* on this store, without user and password in its URL.

        If the URL has them, `auth=basic` takes them from netrc or the environment.
        """
        from webtable.store import StoreURL  # most commands never show a command line

        typed = StoreURL.parse(self.store if self.typed is None else self.typed).typed
        store = f"-s {shlex.quote(typed)} " if typed else ""
        own = "".join(f"--index {shlex.quote(name)} " for name in self.indexes)
        return f"webtable {store}{own}{words}"


def import_indexes(names: Iterable[str]) -> None:
    """Import the user-given *names* that are importable; raises `InvalidArgument`.

    The current directory is searched too, after all other places, but never for anything else.
    """
    own = [name for name in names if ":" in name]
    if not own:
        return
    from webtable.indexes import imported

    with importing_from_here():
        for name in own:
            imported(name)


_NAMED = "webtable.session"


def naming(ctx: typer.Context, this: CommandSession) -> CommandSession:
    """Return *this* session of a store that the command names itself; commands in errors are for it from now on."""
    ctx.meta[_NAMED] = this
    return this


def named_session(ctx: typer.Context) -> CommandSession | None:
    """Return the session for the commands in an error: that of the store that was named last, else that of `-s`."""
    return ctx.meta.get(_NAMED) or ctx.find_object(CommandSession)


@contextmanager
def to_be_read() -> Iterator[None]:
    """Let the error for a store that is missing not advise to create an empty one, which would be of no use."""
    try:
        yield
    except TableNotFound as exc:
        raise TableNotFound(exc.reason) from exc


def session(ctx: typer.Context) -> CommandSession:
    """Return the session of a command."""
    this = ctx.find_object(CommandSession)
    if this is None:
        raise InvalidArgument("this command runs only under `webtable`")
    return this

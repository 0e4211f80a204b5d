"""Files that appear under their name when they are complete, and folders of strangers, out of which no name leads.

A folder may be one that somebody else has made: no pipe or device in it is opened. Such names come out of manifests,
listings and archives, or are those that webtable uses itself, as `manifest.json`; any of them may be a link to
elsewhere. Each part of a name is opened relative to the folder above it, so that a link which appears meanwhile is not
followed either. The folder itself may be reached by links: these are of the user who named it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Self

from webtable.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# --- Files that appear when they are complete -------------------------------------------------------------------------


OWNER_ONLY: Final = 0o600
"""The mode of new stores, journals and spools, less what the umask takes away: crawled pages may be confidential."""
OWNER_ONLY_FOLDER: Final = 0o700
FOR_OTHERS: Final = 0o666
"""The mode of files that are made for others, such as exports and audits, less what the umask takes away."""


def private_opener(path: str, flags: int) -> int:
    """Open a file, for the owner alone if it is new; for use as the `opener` of the function `open`."""
    return os.open(path, flags, OWNER_ONLY)


@contextmanager
def atomic_file(path: Path, *, is_private: bool = False) -> Iterator[Path]:
    """Give a path beside *path* to write to; at the end of the block that file replaces *path*.

    Its mode follows the umask, or only its owner may read it if it *is_private*; but it keeps the mode of an earlier
    file of the same owner. If the block fails, the new file is removed and the earlier one stays. A path that is not a
    regular file (/dev/stdout, a pipe) is given as it is. Raises `OSError` with the name of the file, which the error of
    a full disk lacks.
    """
    if path.exists() and not path.is_file():
        with naming_errors(path):
            yield path
        return
    part = partial_path(path)
    try:
        with naming_errors(path):
            os.close(make_part(part, OWNER_ONLY if is_private else FOR_OTHERS, like=path))
            yield part
            part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def make_part(part: str | Path, mode: int, like: str | Path, folder: int | None = None) -> int:
    """Make the empty file *part*, and return its descriptor, open for reading and writing.

    It has this *mode*, or that of the file *like* if it has the same owner. With *folder*, a descriptor, both are names
    in that one.
    """
    with suppress(FileNotFoundError):
        os.unlink(part, dir_fd=folder)  # left by a killed process of the same number, or a trap: a link to elsewhere
    file = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        with suppress(FileNotFoundError):
            there = os.stat(like, dir_fd=folder)
            if there.st_uid == os.geteuid():  # otherwise its owner would decide who may read the new file
                os.fchmod(file, stat.S_IMODE(there.st_mode))
    except BaseException:
        os.close(file)
        raise
    return file


def partial_path(path: Path) -> Path:
    """Return the name under which this process writes what becomes *path*."""
    return path.with_name(f"{path.name}.{os.getpid()}.part")


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Say in an `OSError` that *path* cannot be written."""
    try:
        yield
    except OSError as exc:
        # The error of a full disk has no name, others have that of the unfinished file. An error of anything else that
        # the block opens stays what it is.
        own = {name for candidate in (path, partial_path(path)) for name in (str(candidate), candidate.name)}
        if exc.errno is None or exc.filename not in (None, *own):
            raise
        why = "the disk is full; make space, and try again" if is_full(exc) else exc.strerror
        raise OSError(exc.errno, f"it cannot be written: {why}", str(path)) from exc


def is_full(error: OSError) -> bool:
    """Whether *error* is that of a full disk, or of a quota that is used up."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


# --- Folders of strangers ---------------------------------------------------------------------------------------------


_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NOT_FOLLOWED: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_KINDS: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "symbolic link"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
)
_REMEDY: Final = "nothing was read, written or removed there. Remove it if it is yours, or take another directory"


def plain_parts(name: str) -> list[str]:
    r"""Return the parts of the relative *name*; raises `FormatError` unless it stays below where it is, on any system.

    >>> plain_parts("host=example.com/part-0001.parquet")
    ['host=example.com', 'part-0001.parquet']
    >>> plain_parts("host=example.com/../../.bashrc")
    Traceback (most recent call last):
    webtable.errors.FormatError: 'host=example.com/../../.bashrc': a name that may lead out of its directory
    """
    parts = name.split("/")
    if not {"", ".", ".."}.isdisjoint(parts) or "\\" in name or "\0" in name or _DRIVE.match(name):
        raise FormatError(f"{name[:200]!r}: a name that may lead out of its directory")
    return parts


class Folder:
    """The folder at *path*, open until `close` or the end of a `with` block.

    All names are relative, with `/` between their parts. Every method raises `FormatError` for a name that is not
    plain, for a link in any part of it, and for what is neither a file nor a folder where one of them should be; and
    `OSError`, `FileNotFoundError` among them.
    """

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        self.path: Final = path
        self.descriptor: Final = _opened(path) if descriptor is None else descriptor
        self._is_open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; what was opened in it stays open."""
        if self._is_open:
            self._is_open = False
            os.close(self.descriptor)

    def names(self) -> list[str]:
        """Return the names of all that is in the folder, whatever it is, sorted."""
        return sorted(os.listdir(self.descriptor))  # noqa: PTH208 - by its descriptor

    def kind(self, name: str) -> str | None:
        """The kind of *name*, "file" or "directory"; None if there is nothing."""
        try:
            with self._place(name) as (above, last):
                return self._kind(name, above, last)
        except FileNotFoundError:
            return None

    def check_file(self, name: str) -> None:
        """Raise `FormatError` if *name* is there and no file."""
        with suppress(FileNotFoundError), self._place(name) as (above, last):
            self._check(name, above, last, "file")

    def folder(self, name: str, *, make: bool = False) -> Folder:
        """Return the folder *name*, opened; with *make* it and those above it are made if they are missing."""
        place, above = self.path, os.dup(self.descriptor)
        for part in plain_parts(name):
            place /= part
            try:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=above)
                opened = _opened(part, os.O_NOFOLLOW, above)
            except OSError as exc:
                raise self._translated(exc, str(place.relative_to(self.path)), above, part, "directory") from exc
            finally:
                os.close(above)
            above = opened
        return Folder(place, above)

    def open(self, name: str, flags: int, mode: int = OWNER_ONLY) -> int:
        """Return the descriptor of the file *name*, as `os.open` does with these *flags*, and *mode* for a new file."""
        with self._place(name) as (above, last):
            # A pipe is not opened even for a moment, which its other end would notice.
            self._check(name, above, last, "file", may_be_missing=bool(flags & os.O_CREAT))
            try:
                descriptor = os.open(last, flags | _NOT_FOLLOWED, mode, dir_fd=above)
            except OSError as exc:
                raise self._translated(exc, name, above, last, "file") from exc
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise _unsafe(self.path / name, "file", "something else since a moment ago")
            return descriptor

    def reading(self, name: str) -> BinaryIO:
        """Return the file *name*, opened to be read; the attribute `name` of it is its whole path."""
        descriptor = self.open(name, os.O_RDONLY)
        return open(str(self.path / name), "rb", opener=lambda *_: descriptor)

    def making(self, name: str) -> BinaryIO:
        """Return the new file *name*, opened to be written; raises `FileExistsError` if it is there."""
        # Its descriptor may be read as well, for a digest, but not the object: pyarrow would take it for one to read.
        descriptor = self.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, FOR_OTHERS)
        return open(str(self.path / name), "wb", opener=lambda *_: descriptor)

    @contextmanager
    def replacing(self, name: str, *, is_private: bool = False) -> Iterator[BinaryIO]:
        """Give a new file to write to, which takes the place of the file *name* at the end of the block.

        It is as `atomic_file` says, beside the file until then.
        """
        path = self.path / name
        with self._place(name) as (above, last), naming_errors(path):
            self._check(name, above, last, "file", may_be_missing=True)
            part = partial_path(Path(last)).name
            try:
                descriptor = make_part(part, OWNER_ONLY if is_private else FOR_OTHERS, last, above)
                with os.fdopen(descriptor, "wb") as file:
                    yield file
                os.rename(part, last, src_dir_fd=above, dst_dir_fd=above)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=above)

    def move(self, name: str, target: Folder, new: str | None = None) -> None:
        """Move the file *name* to the folder *target*, as *new* if that is given; a file of that name is replaced."""
        new = name if new is None else new
        with self._place(name) as (above, last), target._place(new) as (there, final):
            self._check(name, above, last, "file")
            target._check(new, there, final, "file", may_be_missing=True)
            os.rename(last, final, src_dir_fd=above, dst_dir_fd=there)

    def remove(self, name: str) -> None:
        """Remove the file *name*, if there is one; a link itself is removed, and not what it leads to."""
        with suppress(FileNotFoundError), self._place(name) as (above, last):
            try:
                os.unlink(last, dir_fd=above)
            except (IsADirectoryError, PermissionError) as exc:
                raise self._translated(exc, name, above, last, "file") from exc

    def remove_folder(self, name: str) -> None:
        """Remove the folder *name*, if there is one, with all that is in it; links in it are not followed."""
        with suppress(FileNotFoundError), self._place(name) as (above, last):
            self._check(name, above, last, "directory")
            shutil.rmtree(last, dir_fd=above)

    @contextmanager
    def _place(self, name: str) -> Iterator[tuple[int, str]]:
        """Give the descriptor of the folder that *name* is in, and the last part of *name*."""
        *parts, last = plain_parts(name)
        if not parts:
            yield self.descriptor, last
            return
        with self.folder("/".join(parts)) as above:
            yield above.descriptor, last

    def _check(self, name: str, above: int, last: str, kind: str, *, may_be_missing: bool = False) -> None:
        present = self._kind(name, above, last, kind)
        if present is None and not may_be_missing:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path / name))
        if present not in (None, kind):
            raise _unsafe(self.path / name, kind, f"a {present}")

    def _kind(self, name: str, above: int, last: str, expected: str = "file or directory") -> str | None:
        try:
            mode = os.stat(last, dir_fd=above, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None
        kind = next((word for is_kind, word in _KINDS if is_kind(mode)), "device")
        if kind not in ("file", "directory"):
            raise _unsafe(self.path / name, expected, f"a {kind}")
        return kind

    def _translated(self, error: OSError, name: str, above: int, last: str, kind: str) -> Exception:
        """Return the error to raise for *error*: one that says what is there, unless that is a *kind*."""
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EPERM):
            try:
                self._check(name, above, last, kind)
            except FormatError as exc:
                return exc
        return OSError(error.errno, error.strerror, str(self.path / name))


def _opened(path: str | Path, flags: int = 0, above: int | None = None) -> int:
    try:
        return os.open(path, _DIRECTORY | flags, dir_fd=above)
    except PermissionError:
        # A directory whose names this user may use and not list: O_PATH is enough to open what is in it.
        return os.open(path, _DIRECTORY | getattr(os, "O_PATH", 0) | flags, dir_fd=above)


def _unsafe(path: Path, expected: str, present: str) -> FormatError:
    what = f"not a {'regular ' * expected.startswith('file')}{expected}, but {present}"
    return FormatError(f"{path}: {what}; {_REMEDY}")

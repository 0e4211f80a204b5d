"""One HBase for all processes of a test session, such as the workers of pytest-xdist.

A separate process, the keeper, starts it, and removes it when it is no longer used. Each user holds a shared lock on a
file, and the keeper waits for an exclusive one. The kernel releases the lock of a process however that ends, so neither
Ctrl-C nor a kill leaves a container behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from webtable._files import atomic_file
from webtable.errors import StoreUnavailable, WebTableError
from webtable.testing.hbase import NoHBase, hbase_server

if TYPE_CHECKING:
    from collections.abc import Iterator

_USERS = "hbase-users.lock"
_STARTING = "hbase-starting.lock"
_ANSWER = "hbase.json"
_LOG = "hbase.log"
_HANDOVER_SECONDS = 0.2


@contextmanager
def shared_hbase(folder: Path) -> Iterator[str]:
    """Give the URL of one HBase to all processes that name the same *folder*; the last of them removes it.

    The server of `WEBTABLE_HBASE_URL` takes precedence. Raises `NoHBase` and `StoreUnavailable` as `hbase_server` does.
    """
    if url := os.environ.get("WEBTABLE_HBASE_URL"):
        yield url
        return
    with (folder / _USERS).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield _url(folder)
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)  # explicitly, because a forked child may still have the file open
            time.sleep(_HANDOVER_SECONDS)
            fcntl.flock(users, fcntl.LOCK_SH)  # the last user gets it when the keeper is done
            fcntl.flock(users, fcntl.LOCK_UN)


def _url(folder: Path) -> str:
    """Return the URL from the keeper; start the keeper if there is none."""
    answer = folder / _ANSWER
    with (folder / _STARTING).open("a") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not answer.exists():
            _start_keeper(folder, starting.fileno())
    with (folder / _STARTING).open("a") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)  # the keeper holds it until it has answered
        if not answer.exists():
            log = (folder / _LOG).read_text(errors="replace")[-2_000:]
            raise StoreUnavailable(f"HBase was not started:\n{log}")
        said = json.loads(answer.read_text())
    if "url" in said:
        return str(said["url"])
    raise NoHBase(said["missing"]) if "missing" in said else StoreUnavailable(said["failed"])


def _start_keeper(folder: Path, starting: int) -> None:
    """Start the keeper in a new session, which gets no Ctrl-C; it inherits the lock *starting*."""
    command = [sys.executable, "-m", __name__, str(folder), str(starting)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (folder / _LOG).open("a") as log:
        subprocess.run(  # noqa: S603 - no shell
            command,
            check=True,
            env=environment,
            pass_fds=[starting],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _keep(folder: Path, starting: int) -> None:
    """Start an HBase, write its URL into *folder*, and remove it when it is no longer used."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with (folder / _USERS).open("a") as users, ExitStack() as stack:
        try:
            said = {"url": stack.enter_context(hbase_server())}
        except NoHBase as exc:
            said = {"missing": str(exc)}
        except WebTableError as exc:
            said = {"failed": str(exc)}
        with atomic_file(folder / _ANSWER) as answer:
            answer.write_text(json.dumps(said))
        os.close(starting)
        if "url" in said:
            fcntl.flock(users, fcntl.LOCK_EX)
            (folder / _ANSWER).unlink(missing_ok=True)


if __name__ == "__main__" and os.fork() == 0:  # so that the starting process has no child to wait for
    _keep(Path(sys.argv[1]), int(sys.argv[2]))

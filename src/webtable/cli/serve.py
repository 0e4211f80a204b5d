"""The command `serve`, which shows the whole table in the browser."""

from __future__ import annotations

import re
import signal
import stat
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from webtable._messages import message_of
from webtable.cli.exit_codes import note
from webtable.cli.output import documented
from webtable.cli.progress import interruptible
from webtable.cli.session import DEFAULT_STORE, CommandSession, naming, session, to_be_read
from webtable.errors import InvalidArgument, TableNotFound

if TYPE_CHECKING:
    from webtable import WebTable

commands: Final = typer.Typer()
_DEMO: Final = Path("webtable-demo", "webtable.db")
_LOCAL: Final = "127.0.0.1"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,}")
_MAKE: Final = "umask 077; openssl rand -hex 24 >"


@documented(commands)
def serve(
    ctx: typer.Context,
    port: Annotated[int, typer.Option(metavar="N", help="The port; 0 is any that is free.")] = 8765,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser as well.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Listen on this address; needs --token-file.")] = _LOCAL,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A file that you alone can read, with the token. Default: a new one for each run."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name of the server, as behind a reverse proxy (repeatable)."),
    ] = None,
    behind_https: Annotated[
        bool, typer.Option("--behind-https", help="All that comes in was https, at a proxy before the server.")
    ] = False,
    connections: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many connections.")] = 256,
) -> None:
    """Show the table in the browser: sites, pages, links, keys, the answers to all questions, until Ctrl-C.

    The first line of output is the address to open, with a token; one of --token-file is not printed. The table is
    only read.

    Examples:
        webtable serve --open
        webtable -s hbase://localhost:9090/crawl?thrift2=9091 serve --port 9000
        webtable serve --host 0.0.0.0 --token-file token --allow-host crawl.example.org
    """
    # Starlette and uvicorn are an extra, and slow to import.
    from webtable.explorer import serve as served

    if host != _LOCAL and token_file is None:
        raise InvalidArgument(
            f"--host {host} needs --token-file FILE, with a token that those who may read get from you; "
            f"to make one: {_MAKE} FILE"
        )
    # On an address that others reach, a token of each run would be lost at every restart.
    token = None if token_file is None else _token_in(token_file)
    with interruptible(), ExitStack() as stack:
        table = stack.enter_context(_opened(ctx))

        def started(address: str) -> None:
            # uvicorn handles SIGINT and SIGTERM; what nohup ignores stays ignored.
            if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
                signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
            typer.echo(address)
            if token is not None:
                note(f"the token is that of {token_file}: open {address}?token=TOKEN")
            if open_:
                _open(
                    address if token is None else f"{address}?token={token}",
                    stack.enter_context(TemporaryDirectory(prefix="webtable-open-", dir=Path.home())),
                )

        served(
            table,
            host=host,
            port=port,
            token=token,
            names=allow_host or (),
            behind_https=behind_https,
            connections=connections,
            on_start=started,
        )


def _opened(ctx: typer.Context) -> WebTable:
    """Return the table of `-s`; where none is named and none is here, that of `webtable demo`."""
    this = session(ctx)
    if this.store == DEFAULT_STORE and not Path(DEFAULT_STORE).exists() and _DEMO.exists():
        this = naming(ctx, CommandSession(str(_DEMO)))
        note(f"there is no {DEFAULT_STORE}: this is {_DEMO}")
    try:
        with to_be_read():
            return this.open()
    except TableNotFound as exc:
        raise TableNotFound(
            message_of(exc) + "; name another store by -s, or make one to try by `webtable demo`"
        ) from exc


def _token_in(file: Path) -> str:
    """Return the token in *file*; raises `InvalidArgument`, which says how to make it."""
    try:
        mode, token = file.stat().st_mode, file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as exc:
        raise InvalidArgument(f"token_file={file}: {exc.strerror}; to make it: {_MAKE} {file}") from exc
    if stat.S_IMODE(mode) & 0o077:
        raise InvalidArgument(f"token_file={file} can be read by other users; make a new token: {_MAKE} {file}.new")
    if not _TOKEN.fullmatch(token):
        what = "must have one token of 16 or more letters, digits, '-' and '_'"
        raise InvalidArgument(f"token_file={file} {what}; to make it: {_MAKE} {file}")
    return token


def _open(address: str, folder: str) -> None:
    """Open *address* in the browser, by a page in *folder*: other users see the command lines of this machine.

    The folder is in the home directory, since browsers in a sandbox read no other.
    """
    page = Path(folder, "open.html")
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">')
    webbrowser.open(page.as_uri())

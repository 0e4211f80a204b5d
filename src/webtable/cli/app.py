"""The app: the options that all commands share, and the commands."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Annotated, Final

import typer

from webtable._process_hooks import collect_rarely
from webtable.cli import completion
from webtable.cli.exit_codes import CommandGroup, note
from webtable.cli.messages import examples
from webtable.cli.session import STORE_VARIABLE, CommandSession

app: Final = typer.Typer(
    name="webtable",
    cls=CommandGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "webtable ingest crawl.warc.gz",
        "webtable pages example.com --limit 20",
        "webtable get https://example.com/products --body",
        "webtable errors example.com",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 create --regions 16",
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        typer.echo(f"webtable {importlib.metadata.version('hbase-webtable')}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(
            "-s",
            "--store",
            metavar="URL",
            envvar=STORE_VARIABLE,
            autocompletion=completion.profiles,
            help="A file (an embedded store), hbase://host:port/table?thrift2=port, or a profile of webtable.toml. "
            "Default: ./webtable.db.",
        ),
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:INDEX",
            help="An index defined in a module of yours (also in WEBTABLE_INDEXES) (repeatable).",
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,  # noqa: ARG001
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Store crawled web pages in one SQLite file or in HBase, and ask for them by URL, host, domain or directory.

    Exit codes: 0 done, 1 not done (not found, not stored, damaged), 2 wrong usage, 3 store, 130 interrupted (143 by
    SIGTERM).
    """
    if not ctx.resilient_parsing:
        ctx.obj = CommandSession.named(store, index or ())
        for warning in ctx.obj.warnings:
            note(f"webtable: {warning}")
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def main() -> None:
    """Run the command line of this process."""
    collect_rarely()
    # At exit the garbage collector would search everything that was imported for cycles: 25 ms of a `get`.
    atexit.register(gc.freeze)
    app(prog_name="webtable", args=sys.argv[1:])

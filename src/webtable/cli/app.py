"""The app: the options of all commands, and which commands there are."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated

import typer

from webtable.cli import (
    advice,
    audit_questions,
    compaction,
    deletion,
    demo,
    export,
    index_questions,
    indexes,
    info,
    ingestion,
    keys,
    links,
    page,
    plots,
    reports,
    search,
    site_questions,
    sketch,
    splits,
    stats,
    tables,
    verification,
)
from webtable.cli.exits import CommandGroup
from webtable.cli.session import DEFAULT_STORE, STORE_VARIABLE, Session
from webtable.cli.text import examples

app = typer.Typer(
    name="webtable",
    cls=CommandGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "webtable ingest crawl.warc.gz",
        "webtable pages example.com --limit 20",
        "webtable get https://example.com/products --html",
        "webtable errors --domain example.com",
        "webtable -s hbase://localhost:9090/crawl?thrift2=9091 create --regions 16",
    ),
)
app.add_typer(ingestion.commands)
app.add_typer(demo.commands)
app.add_typer(export.commands)
app.add_typer(tables.commands)
app.add_typer(info.commands)
app.add_typer(deletion.commands)
app.add_typer(verification.commands)
app.add_typer(compaction.commands)
app.add_typer(page.commands)
app.add_typer(site_questions.commands)
app.add_typer(index_questions.commands)
app.add_typer(links.commands)
app.add_typer(audit_questions.commands)
app.add_typer(search.commands)
app.add_typer(stats.commands)
app.add_typer(reports.commands)
keys.commands.add_typer(splits.commands)
keys.commands.add_typer(sketch.commands)
keys.commands.add_typer(advice.commands)
app.add_typer(links.group, name="links")
app.add_typer(indexes.group, name="index")
app.add_typer(plots.group, name="plot")
app.add_typer(keys.commands, name="keys")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"webtable {importlib.metadata.version('hbase-webtable')}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    store: Annotated[
        str,
        typer.Option(
            "-s",
            "--store",
            metavar="URL",
            envvar=STORE_VARIABLE,
            help="A file (an embedded store), or hbase://host:port/table?thrift2=port.",
        ),
    ] = DEFAULT_STORE,
    index: Annotated[
        list[str] | None,
        typer.Option(
            "--index",
            metavar="MODULE:INDEX",
            help="An index of your own that may be imported (also in WEBTABLE_INDEXES); may be repeated.",
            show_default=False,
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
    ctx.obj = Session(store, tuple(index or ()))
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def main() -> None:
    """Run the command line of this process."""
    app(prog_name="webtable", args=sys.argv[1:])

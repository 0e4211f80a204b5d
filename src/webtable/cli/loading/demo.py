"""The command to try webtable with: `demo`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from webtable.cli.session import CommandSession
from webtable.cli.terminal.text import TIME, examples, parse_times
from webtable.demo import make_sample
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from datetime import datetime

    from webtable.demo import Sample

commands = typer.Typer()

_QUESTIONS = (
    ("Which pages does a host have, and the hosts below it?", "pages example.com --limit 5"),
    ("What became of a page over time?", "history https://example.com/"),
    ("Which links lead to pages that are errors, and where are they?", "broken-links --limit 5"),
    ("Which pages do others link to most?", "most-linked --limit 5"),
    ("Which pages have some words in their text?", "search mountain --domain docs.example.com --limit 3"),
)


@commands.command(
    rich_help_panel="Commands",
    epilog=examples("webtable demo", "webtable demo tried --until 2026-03-01"),
)
def demo(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to make it; what is there already is asked again.")
    ] = Path("webtable-demo"),
    until: Annotated[
        str | None, typer.Option("--until", metavar=TIME, help="The date of the newest crawl. Default: now.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another number makes another web.")] = 7,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", help="Ask five questions, or just make it.")] = True,
) -> None:
    """Make a small web that does not exist, crawled three times, store it in one file and ask it five questions.

    FOLDER has the crawls as WARC files afterwards, and the store, webtable.db. Nothing else is needed or changed.
    """
    sample = _made(folder, parse_times(until=until)["until"], seed)
    typer.echo(f"Three crawls of some 500 pages, as WARC files and in the store {sample.store}.")
    asking = CommandSession(str(sample.store))
    for number, (question, words) in enumerate(_QUESTIONS if ask else (), start=1):
        typer.echo(f"\n{number}. {question}\n\n$ {asking.command(words)}")
        ctx.find_root().command.main(["-s", str(sample.store), *shlex.split(words)], "webtable", standalone_mode=False)
    typer.echo(
        "\nWhere to go on:\n"
        f"  export WEBTABLE_STORE={shlex.quote(str(sample.store))}   # so that the commands ask this store\n"
        "  webtable --help                  # what else can be asked; `webtable COMMAND --help` has examples\n"
        "  webtable ingest FILE…            # a crawl of your own: WARC, JSON Lines or Parquet; with -s into a store"
    )


def _made(folder: Path, until: datetime | None, seed: int) -> Sample:
    try:
        return make_sample(folder, until=until, seed=seed)
    except OSError as exc:
        raise InvalidArgument(f"{folder}: {exc.strerror or exc}: give another folder: webtable demo FOLDER") from exc

"""The command `search`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from webtable._shown import harmless
from webtable.cli.options.questions import (
    FullScanOption,
    HostOnlyOption,
    OfPagesInDomain,
    PathOption,
)
from webtable.cli.questions.listings import question
from webtable.cli.terminal.cells import highlighted
from webtable.cli.terminal.output import Format, console
from webtable.cli.terminal.text import examples, plural
from webtable.repository import Results, WebTable
from webtable.repository.text.matching import HITS, Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.repository.answers.columns import Column

commands = typer.Typer()

WORDS_AND_COUNTS = "Words and counts"


class SearchedName(StrEnum):
    """What of a page is searched."""

    in_title = "title"
    in_body = "body"
    in_all = "all"


def _write_hits(records: Iterable[Any], columns: Sequence[Column], format: Format | None, *, asked_for: bool) -> int:  # noqa: A002, ARG001
    """Write what was found for a reader at a terminal: each URL, its title, and the excerpts below."""
    from rich.padding import Padding
    from rich.text import Text

    target, count = console(), 0
    for hit in records:
        count += 1
        matches = Text(f"  {plural(hit.matches, 'match', 'es')}", style="dim")
        target.print(Text.assemble((harmless(hit.page.url), "bold"), matches), soft_wrap=True)
        for excerpt in (*([hit.title] if hit.title else []), *hit.excerpts):
            target.print(Padding(highlighted(excerpt.marked()), (0, 0, 0, 2), expand=False))
    return count


@question(
    commands,
    HITS,
    orders=("url", "storage"),
    panel=WORDS_AND_COUNTS,
    table_writer=_write_hits,
    epilog=examples(
        "webtable search salt --domain example.com",
        "webtable search 'salt \"row key\"' --domain docs.example.com --path /guide/",
        "webtable search 'salt*' --domain example.com",
        "webtable search hbase --in title --full-scan --format csv",
    ),
)
def search(
    table: WebTable,
    text: Annotated[
        list[str],
        typer.Argument(
            help="Words that all must occur, in any case; a phrase in double quotes is one word, and "
            "prefix* is every word that begins so.",
            show_default=False,
        ),
    ],
    in_: Annotated[SearchedName, typer.Option("--in", help="Where to look for them.")] = SearchedName.in_all,
    substring: Annotated[bool, typer.Option("--substring", help="Find them inside of other words too.")] = False,
    host_only: HostOnlyOption = False,
    path: PathOption = None,
    full_scan: FullScanOption = False,
    **asking: Unpack[OfPagesInDomain],
) -> Results[Hit]:
    """List the pages with some words in their title or their body, with the text around them.

    The bodies of the domain are read for it, one after another; titles alone are filtered where they are stored.
    """
    return table.search(
        " ".join(text),
        in_=in_.value,
        substring=substring,
        host_only=host_only,
        path=path,
        full_scan=full_scan,
        **asking,
    )

"""The command `help`, which shows the pages of the docs that were installed with the library."""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import webtable
from webtable.cli.commands import COMMANDS
from webtable.cli.output import console, documented, on_terminal
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

commands: Final = typer.Typer()
_TITLE: Final = re.compile(r"^# (.*)", re.MULTILINE)
_REFERENCE: Final = "api/"
_MOST: Final = 3  # suggestions


@documented(commands)
def help(
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="A page, or a public name, as in WebTable.pages.")
    ] = None,
) -> None:
    """Show a page of the docs, or what the reference says of a public name; without a topic, list the pages.

    In a pipe it is the text of the page, in Markdown.

    Examples:
        webtable help
        webtable help questions
        webtable help api/table
        webtable help WebTable.pages
        webtable help rowkeys | less
    """
    pages = _pages()
    if topic is None:
        width = max(map(len, pages))
        for name, page in pages.items():
            typer.echo(f"{name:{width}}  {_title(page.read_text(encoding='utf-8'))}")
        return
    if topic in pages:
        _show(pages[topic].read_text(encoding="utf-8"))
        return
    sections = [
        section
        for name, page in pages.items()
        if name.startswith(_REFERENCE)
        for section in _sections(page.read_text(encoding="utf-8"), topic)
    ]
    if not sections:
        raise InvalidArgument(_unknown(topic, pages))
    _show("\n".join(sections))


def _pages() -> dict[str, Traversable]:
    """Return the pages by name, those of the reference last; those of the checkout, if this runs in one."""
    folder: Traversable = files("webtable") / "_docs"
    if not folder.is_dir():
        folder = Path(webtable.__file__).parents[2] / "docs"
    pages = {
        f"{prefix}{page.name.removesuffix('.md')}": page
        for prefix, inside in (("", folder), (_REFERENCE, folder / "api"))
        for page in sorted(inside.iterdir(), key=lambda page: page.name)
        if page.name.endswith(".md")
    }
    if not pages:
        raise InvalidArgument("this installation has no docs; they are in the folder docs of a checkout")
    return pages


def _title(text: str) -> str:
    title = _TITLE.search(text)
    return title[1] if title else ""


def _sections(page: str, name: str) -> list[str]:
    """Return the parts of *page* about *name*: its own, with its members if it is a class, or that of a member."""
    last = re.escape(name.removeprefix("webtable."))  # most names are there, and in a module as well
    own = re.compile(rf"^### (?:[\w.]+\.)?{last}\n.*?(?=^##?#? |\Z)", re.MULTILINE | re.DOTALL)
    member = re.compile(rf"^#### {last}\n.*?(?=^##?#?#? |\Z)", re.MULTILINE | re.DOTALL)
    return [match[0] for match in (*own.finditer(page), *member.finditer(page))]


def _unknown(topic: str, pages: dict[str, Traversable]) -> str:
    # By their last parts: who looks for the table need not know that it is in the reference.
    last = {name: name.removeprefix(_REFERENCE) for name in pages}
    matches = get_close_matches(topic.removeprefix(_REFERENCE), {*last.values()}, cutoff=0.5)
    close = [name for match in matches for name in pages if last[name] == match][:_MOST]
    meant = f"; did you mean {' or '.join(map(repr, close))}?" if close else "; webtable help lists the pages"
    command = f"; for the command: webtable {topic} --help" if topic in COMMANDS else ""
    return f"topic={topic[:100]!r}: the docs have no such page, and the reference no such name{meant}{command}"


def _show(text: str) -> None:
    if not on_terminal():
        typer.echo(text)
        return
    from rich.markdown import Markdown

    console().print(Markdown(text))

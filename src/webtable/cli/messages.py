"""The library's messages in the terms of the command line, and suggestions for what was refused or not found."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from webtable._messages import message_of, text_of
from webtable.errors import CellTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from webtable import WebTable
    from webtable.answers import Results
    from webtable.cli.session import CommandSession
    from webtable.errors import WebTableError

# The patterns are compiled where they are used, since most commands use none of them.
# An argument with its value (also spelled like an option, `max-size=5`), or one of several words without a value.
_ARGUMENT = r"(?<![\w-])([a-z]+(?:[_-][a-z]+)*)=(True\b)?|\b([a-z]+(?:_[a-z]+)+)\b(?!\()"
_COLUMNS = r" is not a (?:column|field) of "
"""What names of columns follow in a message. Some columns are named like arguments."""


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Return *message* with the *options* in place of the arguments of those names.

    >>> in_options("limit=-1 must be at least 0", {"limit": "--limit"})
    '--limit -1 must be at least 0'
    >>> in_options("takes since_day= or dry_run=True", {"since_day": "--since-day", "dry_run": "--dry-run"})
    'takes --since-day or --dry-run'
    >>> in_options("columns='contenttype' is not a column of a page; did you mean 'content_type'?", {"columns": "-c"})
    "-c 'contenttype' is not a column of a page; did you mean 'content_type'?"
    """
    listed = re.search(_COLUMNS, message)
    text = message if listed is None else message[: listed.start()]

    def option(found: re.Match[str]) -> str:
        name = (found[1] or found[3]).replace("-", "_")
        if name not in options:
            return found[0]
        following = text[found.end() : found.end() + 1]
        return options[name] + (" " if found[1] and not found[2] and following not in {"", " ", ","} else "")

    return re.sub(_ARGUMENT, option, text) + message[len(text) :]


def of_page(error: WebTableError, options: Mapping[str, str], command: Callable[[str], str]) -> str:
    """Return why a page was not stored, naming the option that cuts long bodies if it is among the *options*.

    Only the end of the message is checked: a URL may contain `max_body=`, too.
    """
    message, cuts = text_of(message_of(error), command), CellTooLarge.CUTS
    if not message.endswith(cuts):
        return message
    return message.removesuffix(cuts) + (f"; {options['max_body']} cuts long bodies" if "max_body" in options else "")


def options_of(command: Any, invoked: str | None) -> dict[str, str]:
    """Return the options of a Typer command by the names of their arguments; those of the *invoked* command first.

    Those of the *invoked* command are listed by their own names as well.
    """
    commands = getattr(command, "commands", {})
    first = list(_options(commands[invoked])) if invoked in commands else []
    spelled = [(option.removeprefix("--").replace("-", "_"), option) for _, option in first if option[0] == "-"]
    found: dict[str, str] = {}
    for name, option in (*first, *spelled, *_options(command)):
        found.setdefault(name, option)
    return found


def _options(command: Any) -> Iterator[tuple[str, str]]:
    for param in command.params:
        names = [name for name in param.opts if name.startswith("--")]
        if param.name:
            # A positional argument has the name that the usage shows.
            yield param.name, names[0] if names else param.name.upper()
    for below in getattr(command, "commands", {}).values():
        yield from _options(below)


def suggest_option(error: Any) -> None:
    """Let the usage *error* suggest `--html` where a command that has it is given `--out`, as listings have it."""
    params = error.ctx.command.params if getattr(error, "ctx", None) else ()
    if getattr(error, "option_name", None) == "--out" and any("--html" in param.opts for param in params):
        error.possibilities = ["--html"]


_STATUSES = range(100, 600)


def instead(given: str, session: CommandSession) -> str:
    """Return what was probably meant by a text that was *given* as a URL without a scheme, "" if unknown.

    >>> from webtable.cli.session import CommandSession
    >>> instead("a.org", CommandSession("./webtable.db", said=""))
    '; did you mean https://a.org/, or `webtable pages a.org` for all pages of the site?'
    """
    host, _, path = given.partition("/")
    if "." not in host.strip(".") or set(given) & set("?#@' "):
        return ""
    url = f"https://{host}/{path}"
    pages = session.command(shlex.join(["pages", url if path else host]))
    return f"; did you mean {url}, or `{pages}` for all pages of the site?"


def stored_likes(table: WebTable, url: str) -> str:
    """Return a note that names stored URLs similar to *url*, which is not stored; "" if there are none."""
    scheme, _, rest = url.partition("://")
    other = "http" if scheme.lower() == "https" else "https"
    slashed = rest.removesuffix("/") if rest.endswith("/") and rest.count("/") > 1 else f"{rest}/"
    likes = [f"{other}://{rest}", *([] if "?" in rest else [f"{scheme}://{slashed}", f"{other}://{slashed}"])]
    there = [page.url for page in table.get_many(likes, columns=()) if page is not None]
    unlike = list(dict.fromkeys(one for one in there if one != url))
    return f"; stored is {', '.join(unlike)}" if unlike else ""


def why_empty(table: WebTable, site: str | None) -> str:
    """Return that there are no pages of *site*, and which stored host was probably meant.

    It is "" if there are some, and for all pages, which may be none.
    """
    from webtable.answers import AllPages
    from webtable.questions import named_site

    named = None if site is None else named_site(site)
    if site is None or isinstance(named, AllPages):
        return ""
    pages = table.pages(named, limit=1)
    if pages.first() is not None:
        return ""
    return nothing_of(pages) + (", except damaged ones" if pages.damaged else "")


def nothing_of(results: Results[Any]) -> str:
    """Return that a question has no *results*, and which stored host was probably meant, if there is one."""
    return f"{results._absent()}{results._question.suggestion()}"


def why_nothing(given: Mapping[str, Any]) -> str:
    """Return why no page can match what was *given*, "" if one can."""
    statuses = given.get("status") or ()
    impossible = [one for one in ([statuses] if isinstance(statuses, int) else statuses) if one not in _STATUSES]
    if impossible:
        return f": no server answers with {', '.join(map(str, impossible))}, statuses are from 100 to 599"
    return ""

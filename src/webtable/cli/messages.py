"""Messages about options, examples in help, and suggestions for what was refused or not found."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webtable import WebTable
    from webtable.cli.session import CommandSession


def examples(*lines: str) -> str:
    """Return the epilogue of a command's help: *lines* as examples."""
    # The \b keeps typer from joining the lines.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def with_option(message: str, options: Mapping[str, str]) -> str:
    """Return the *message* of a wrong argument, which begins with `name=`, with the option of that name in its place.

    >>> with_option("limit=-1 must be at least 0", {"limit": "--limit"})
    '--limit -1 must be at least 0'
    """
    name, equals, rest = message.partition("=")
    return f"{options[name]} {rest.lstrip()}" if equals and name in options else message


def options_of(command: Any, invoked: str | None) -> dict[str, str]:
    """Return the options of a Typer command by the names of their arguments; those of the *invoked* command first.

    The messages of commands name their own options as they are spelled, so those are listed, too.
    """
    commands = getattr(command, "commands", {})
    names: dict[str, str] = {}
    for params in ([commands[invoked].params] if invoked in commands else []) + list(_params(command)):
        for param in params:
            option = next((name for name in param.opts if name.startswith("--")), None)
            # A positional argument has the name that the usage shows.
            names.setdefault(param.name, option or param.name.upper())
            if option:
                names.setdefault(option.removeprefix("--"), option)
                names.setdefault(option.removeprefix("--").replace("-", "_"), option)
    return names


def _params(command: Any) -> Iterator[list[Any]]:
    yield command.params
    for below in getattr(command, "commands", {}).values():
        yield from _params(below)


def suggest_option(error: Any) -> None:
    """Let the usage *error* suggest `--html` where a command that has it is given `--out`, as listings have it."""
    params = error.ctx.command.params if getattr(error, "ctx", None) else ()
    if getattr(error, "option_name", None) == "--out" and any("--html" in param.opts for param in params):
        error.possibilities = ["--html"]


_STATUSES = range(100, 600)


def instead(text: str, session: CommandSession) -> str:
    """The URL and the site that were probably meant by a *text* that has no scheme, "" if unknown.

    >>> from webtable.cli.session import CommandSession
    >>> instead("a.org", CommandSession("./webtable.db", typed=""))
    '; did you mean https://a.org/, or `webtable pages a.org` for all pages of the site?'
    """
    host, _, path = text.partition("/")
    if "." not in host.strip(".") or set(text) & set("?#@' "):
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
    unlike = list(dict.fromkeys(stored for stored in there if stored != url))
    return f"; stored is {', '.join(unlike)}" if unlike else ""


def why_empty(table: WebTable, site: str | None) -> str:
    """The message that there are no pages of *site*, and which stored host was probably meant.

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
    return pages.why_empty() + (", except damaged ones" if pages.damaged else "")


def impossible_status(options: Mapping[str, Any]) -> str:
    """The message that no page can have the status in *options*, "" if one can."""
    from webtable.questions import status_codes

    status = options.get("status") or ()
    statuses = [status] if isinstance(status, int) else status_codes(status)
    if impossible := [number for number in statuses if number not in _STATUSES]:
        return f"no server answers with {', '.join(map(str, impossible))}, statuses are from 100 to 599"
    return ""

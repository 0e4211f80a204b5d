"""The commands in their groups: each is imported only when it is run, so that it does not pay for the others."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable import questions

if TYPE_CHECKING:
    import typer


# A command is a name, a module and a line of help. What `--help` lists is here, so that it imports no command: typer
# and the library behind a command take longer to import than most commands run.


class Listed(NamedTuple):
    """An entry in the list of commands: its module in `webtable.cli`, and a short help text.

    The app of a command is `commands` of its module; that of a group has a name: `module:name`.
    """

    home: str
    help: str
    is_listing: bool = False
    """Whether it is built from a question of the catalogue."""

    def load(self, name: str) -> Any:
        """Return the command called *name*."""
        from typer.main import get_group

        if self.is_listing:
            app = _app(self.home, name)
            return _readable(get_group(app).commands[name])
        if ":" not in self.home:
            return _readable(get_group(_alone(name, _app(self.home))).commands[name])
        group = get_group(_app(self.home))
        group.name = name
        for below in group.commands.values():
            _readable(below)
        return group


def _listings(group: str) -> dict[str, Listed]:
    """Return the commands for the questions of a *group* of the catalogue."""
    return {
        name.replace("_", "-"): Listed("listings:app_of", question.title, is_listing=True)
        for name, question in questions.GROUPS[group].items()
    }


def _app(home: str, *declared: str) -> typer.Typer:
    """Return the app `name` of a *home*, by default `commands`, or what it returns for *declared*."""
    module, _, name = home.partition(":")
    app_or_maker: Any = getattr(import_module(f"webtable.cli.{module}"), name or "commands")
    app: typer.Typer = app_or_maker(*declared) if declared else app_or_maker
    # Plain help: rich takes longer to import than most commands run, and its boxes leave less room for the text.
    app.rich_markup_mode = None
    return app


# The placeholder for a value in the usage, by the name of its argument, unless the option or argument has its own.
_METAVARS = {
    "content_type": "TYPE",
    "digits": "N",
    "id": "ID",
    "index": "NAME",
    "limit": "N",
    "max_length": "N",
    "seed": "N",
    "status": "CODE",
    "term": "TERM",
    "text": "WORDS",
    "url": "URL",
}


def _readable(command: Any) -> Any:
    """Return *command* with placeholders for its values in place of their Python types."""
    for param in command.params:
        if param.metavar is None and not getattr(param, "is_flag", False):
            param.metavar = _METAVARS.get(param.name)
    return command


def _alone(name: str, app: typer.Typer) -> typer.Typer:
    """Return the command *name* of *app* without the others, which would be built as well."""
    import typer

    alone = typer.Typer(rich_markup_mode=None)
    for info in app.registered_commands:
        if name in (info.name, info.callback.__name__.replace("_", "-") if info.callback else None):
            alone.registered_commands.append(info)
    return alone


# The commands by the headings of `webtable --help`.
GROUPS: dict[str, dict[str, Listed]] = {
    "Browse": {
        "help": Listed("help", "A page of the docs, or the reference of a name"),
        "serve": Listed("serve", "Show the table in the browser: pages, links, answers"),
    },
    "Ask: one page": {
        "get": Listed("page", "The newest capture of a page, or that of an earlier one"),
        "by-id": Listed("page", "A page by its id"),
        "history": Listed("page", "The stored versions of a page"),
        "diff": Listed("page", "What changed between two versions of a page"),
        "resolve": Listed("page", "Where a URL leads through stored redirects"),
        "validators": Listed("page", "Headers for a conditional request"),
    },
    "Ask: pages of a site": {
        **_listings("pages of a site"),
        "stats": Listed("reports", "How many pages and bytes: by host, status, type, …"),
    },
    "Ask: a site as a whole": {
        "audit": Listed("reports", "A site audit, as lines or as an HTML report"),
        "compare": Listed("reports", "What has changed on a site between two times"),
        **_listings("a site as a whole"),
    },
    "Ask: what is on pages": _listings("what is on pages"),
    "Ask: pages by an index": _listings("pages by an index"),
    "Ask: links": _listings("links"),
    "Write": {
        "crawl": Listed("crawl", "Fetch the pages of hosts, and store them"),
        "ingest": Listed("ingest", "Store the pages of WARC, HAR, JSON and other files"),
        "export": Listed("export", "Write all captures as WARC, Parquet or JSON Lines files"),
        "import": Listed("imports", "Store what export has written"),
        "not-modified": Listed("page", "Record a 304 response"),
        "delete": Listed("deletion", "Delete pages by URL, with all that is stored about them"),
        "delete-pages": Listed("deletion", "Delete the pages of a site, of a status or of an age"),
        "demo": Listed("imports", "A small made-up web, to try all this on"),
    },
    "Keys": {
        "rows": Listed("rows:group", "Put, get, count and scan rows under a key of your own"),
        "keys": Listed("keys:commands", "URLs as row keys and back, split points, advice"),
    },
    "Indexes": {
        "index": Listed("indexes:index", "Add, drop, rebuild, verify and repair indexes"),
        "search-index": Listed("indexes:search_index", "Create, refresh and drop full text, for search"),
        "links": Listed("maintenance:links", "Count the links that lead to pages"),
    },
    "Operate": {
        "create": Listed("creation", "Create the table, if it does not exist"),
        "alter": Listed("creation", "Change how long and in how many versions pages are kept"),
        "info": Listed("maintenance", "What the table holds, its layout, indexes and families"),
        "doctor": Listed("maintenance", "Check a store and suggest fixes"),
        "metrics": Listed("maintenance", "The state of the store and its table, for Prometheus"),
        "verify": Listed("maintenance", "Compare all pages with their checksums"),
        "copy": Listed("copy", "Copy a table into another layout or store"),
        "adopt": Listed("adopt", "Bring in a table of HBase that another program made"),
        "backup": Listed("backups:group", "Back up a store, and check what was backed up"),
        "compact": Listed("maintenance", "Free the space of deleted and expired data"),
    },
}
COMMANDS = {name: listed for group in GROUPS.values() for name, listed in group.items()}
# Names that other programs have for commands, and what these are called here.
ELSEWHERE = {
    "add": "ingest",
    "backlinks": "linking-to",
    "cat": "get",
    "dump": "export",
    "find": "search",
    "init": "create",
    "list": "pages",
    "load": "ingest",
    "ls": "pages",
    "outlinks": "links-of",
    "put": "ingest",
    "remove": "delete",
    "rm": "delete",
    "scan": "pages",
    "show": "get",
    "urls": "pages",
}


def no_such_command(name: str) -> str:
    """The message that there is no command *name*, with those that it resembles; none is loaded for it.

    >>> print(no_such_command("pagse"))
    No such command 'pagse'. Did you mean 'pages'?
    >>> print(no_such_command("dump"))
    No such command 'dump'. Did you mean 'export'?
    """
    from difflib import get_close_matches  # only where something is wrong

    elsewhere = [ELSEWHERE[name]] if name in ELSEWHERE else []
    close = elsewhere + get_close_matches(name, COMMANDS, cutoff=0.8 if elsewhere else 0.65)
    return f"No such command {name!r}." + (f" Did you mean {', '.join(map(repr, close))}?" if close else "")

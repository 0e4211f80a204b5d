"""Writes docs/cli.md from what the commands say of themselves: `python docs/make_cli_page.py`."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
import typer

from webtable.cli import app
from webtable.cli.commands import GROUPS
from webtable.questions import TIME_FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

You need this page if you use webtable from a shell. It has every command with its options. `webtable COMMAND --help`
shows the same text, and `python docs/make_cli_page.py` writes this page from it.

    webtable ingest crawl.warc.gz
    webtable pages example.com --limit 20
    webtable get https://example.com/products --body
    webtable errors example.com
    webtable -s hbase://localhost:9090/crawl?thrift2=9091 create --regions 16

## Output

A listing is a table on a terminal, and plain lines with tabs in a pipe; `--format` overrides this. `--format table`
labels the columns in a pipe too, as for `| less -S`. Progress, page tokens and errors go to standard error, one line
for each error. Closing the pipe early (`| head`) is not an error. If `webtable` is not on your PATH, run `python -m
webtable`.

If a table is wider than the terminal, texts are cut: choose fewer `--columns`. Other formats have whole values.

The [exit codes](reference/errors.md#exit-codes) are 0 done, 1 not done (not found, not stored, damaged), 2 wrong
usage, 3 store, 130 interrupted (143 by SIGTERM).

## Which store

`-s` names the store. Without it, webtable uses `WEBTABLE_STORE`, then `store` in the `webtable.toml` of the current
directory, then your `~/.config/webtable/webtable.toml` (Linux), and otherwise `./webtable.db`.

A profile is a named store, for `-s prod`:

```toml
store = "crawl.db"

[profiles.prod]
store = "hbase://gateway:9090/crawl?thrift2=9091"
```

Profiles in your file may name `indexes` too, as `--index` does. A file in the current directory never replaces a
profile of yours. webtable skips a file that belongs to another user than you or root (or the user behind
`sudo`), and says so.

webtable shows a URL without its user and password. A command that it prints for you to run has `auth=basic` instead,
which reads them from netrc or the environment: see [TLS and HTTP mode](stores.md#tls-and-http-mode).

## Common options

All commands take these; `-s`, `--index` and `--debug` come before the name of the command:

{all_commands}

Listings take these:

{listings}

Several commands take these, where their section names them:

{several}

A TIME is one of {time}.

"""
_COMMON = 2  # commands that must share an option before it moves to the head of the page
_LISTING = ("--limit", "--after", "--columns", "--explain", "--format", "--out")
_RECORD = tuple[str, str]  # an argument or option with its values, and what it does


def cli_page() -> str:
    """Return the page as it should be."""
    root = typer.main.get_command(app)
    commands = list(_walk(root, click.Context(root, info_name="webtable")))
    shared = Counter(record for _, context in commands for record in _records(context))
    # An option that some commands explain otherwise stands here as most commands have it.
    first = {_flag(record): record for record, count in reversed(shared.most_common()) if count >= _COMMON}
    common = {*first.values()}
    listing = {name: first[name] for name in _LISTING}
    head = {
        "all_commands": _records(commands[0][1]),
        "listings": listing.values(),
        "several": sorted(common - {*listing.values()}, key=lambda record: (record[0][0] != "-", record)),
    }
    introduction = INTRODUCTION.format(
        time=TIME_FORMS, **{place: "\n".join(_lines(records)) for place, records in head.items()}
    )
    sections = (_section(name, context, common, {*listing.values()}) for name, context in commands[1:])
    return f"{introduction}## Commands\n\n{_groups()}\n\n{''.join(sections)}".strip() + "\n"


def _walk(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Context]]:
    """Yield *command* and all below it, each with its name and its context."""
    yield context.command_path, context
    for name in _below(command, context):
        below = command.get_command(context, name)  # type: ignore[attr-defined]
        if not below.hidden:
            yield from _walk(below, click.Context(below, info_name=name, parent=context))


def _below(command: click.Command, context: click.Context) -> list[str]:
    # Not by its class: typer may bring a copy of click.
    return command.list_commands(context) if hasattr(command, "list_commands") else []


def _records(context: click.Context) -> list[_RECORD]:
    """Return the arguments and the options of a command, as `--help` shows them; times have their forms in the head."""
    records = (parameter.get_help_record(context) for parameter in context.command.get_params(context))
    return [
        (name, help.replace(f": {TIME_FORMS}", "").replace("  [required]", "").strip())
        for name, help in filter(None, records)
        if "--help" not in name
    ]


def _flag(record: _RECORD) -> str:
    """Return the name of an option without its value: of `-s, --store URL` the long one."""
    return next((word for word in record[0].split() if word.startswith("--")), record[0])


def _lines(records: Iterable[_RECORD]) -> Iterator[str]:
    for name, help in records:
        yield f"* `{name}`: {help}" if help else f"* `{name}`"


def _groups() -> str:
    """Return the names of all commands in their groups."""
    return "\n".join(
        f"* {heading}: {', '.join(f'[`{name}`](#webtable-{name})' for name in group)}"
        for heading, group in GROUPS.items()
    )


def _section(name: str, context: click.Context, common: set[_RECORD], listing: set[_RECORD]) -> str:
    """Return the section of a command: what it does, its own options, and the names of those that others have too."""
    command = context.command
    records = _records(context)
    own = [record for record in records if record not in common]
    shared = [f"`{_flag(record)}`" for record in records if record in common and record[0].startswith("-")]
    if is_listing := listing <= {*records}:
        shared = [name for name in shared if name.strip("`") not in _LISTING]
        shared.append("[the options of listings](#common-options)")
    usage = " ".join(command.collect_usage_pieces(context)).replace("[OPTIONS]", "").replace("{", "").replace("}", "")
    parts = [f"{'#' * (1 + name.count(' '))} `{name}`", inspect.cleandoc(command.help or "")]
    if not _below(command, context):
        parts.append(f"    {name} {' '.join(usage.split())}".rstrip())
    parts.append("\n".join(_lines(own)))
    if shared:
        parts.append(f"{'Also' if own or is_listing else 'Options:'} {', '.join(shared)}.")
    if command.epilog:
        examples = inspect.cleandoc(command.epilog.replace("\b", "")).removeprefix("Examples:")
        parts.append("\n".join(f"    {line.strip()}" for line in examples.splitlines() if line.strip()))
    return "\n\n".join(part for part in parts if part) + "\n\n"


if __name__ == "__main__":
    PAGE.write_text(cli_page(), encoding="utf-8")

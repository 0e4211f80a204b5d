"""Writes docs/cli.md from what the commands say of themselves: `python docs/make_cli_page.py`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webtable.cli.commands import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

This page is what `webtable COMMAND --help` says, made by `python docs/make_cli_page.py`.

Where a listing goes to a terminal it is a table, in a pipe it is plain lines with tabs; `--format` says otherwise.
Progress, the token of the next page and errors go to standard error. `--format table` labels the columns in a pipe too,
as for `| less -S`. An error is one line; `--debug` adds the traceback.
A closed pipe (`| head`) is no error. Where `webtable` is not on the PATH, `python -m webtable` does the same.

In a table that is too wide for the terminal, URLs are wrapped and other texts are cut; `--columns` chooses fewer
columns. Terminals that have links show URLs as such; pipes and other formats always have whole values.

Which store a command works on is said by `-s`, else by `WEBTABLE_STORE`, else by `store` in `webtable.toml`: that of
the current directory, then the user's own (`~/.config/webtable/webtable.toml` on Linux); else it is `./webtable.db`.
Profiles are stores with a name, for `-s prod`; those of the user's own file may name `indexes` too, as `--index` does.
A profile of the user's own file is never replaced by one of the current directory. A file there that belongs to another
user than you or root (or the user behind `sudo`) is not read; a line on standard error says so.

```toml
store = "crawl.db"

[profiles.prod]
store = "hbase://gateway:9090/crawl?thrift2=9091"
```

A URL with a user and a password is shown without them. A command that is printed for you to run has `auth=basic` in
their place, which takes them from netrc or the environment: see [TLS and HTTP mode](stores.md#tls-and-http-mode).

Times are dates (`2026-11-20`) or times of a day (`2026-11-20T10:00`), in UTC unless they have an offset (`+01:00`), or
tell how long ago (`7d`, `12h`, `30m`). A listing with `--limit` that has more tells how to go on: give the options that
it names, `--after` and a token, with the same question. `--explain` shows which ranges and which index would answer.

"""


def cli_page() -> str:
    """Return the page as it should be."""
    command = [sys.executable, "-m", "typer", "webtable.cli", "utils", "docs", "--name", "webtable"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # Examples stand in a help text as indented lines, which Markdown takes for a paragraph.
    made = re.sub(
        r"^Examples:\n((?: {2}.*\n)+)",
        lambda found: "Examples:\n\n" + found[1].replace("  ", "    ", 1).replace("\n  ", "\n    "),
        made,
        flags=re.MULTILINE,
    )
    # Some versions of typer add the type in Python to the name of an argument.
    made = re.sub(r" <(?:str|int|path|list\[\w+\])>`", "`", made)
    made = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+", _groups(), made, count=1)
    made = made.replace("&#x27;", "'").replace("&quot;", '"')
    return INTRODUCTION + "\n".join(_with_whole_lines(made.splitlines()[1:])).strip() + "\n"


def _groups() -> str:
    """Return the list of all commands in their groups."""
    lists = (
        "\n".join(
            [f"**{heading}**:\n", *(f"* [`{name}`](#webtable-{name}): {one.help}" for name, one in group.items())]
        )
        for heading, group in GROUPS.items()
    )
    return "\n\n".join(lists) + "\n"


def _with_whole_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines, the cut ones in lists of commands as they begin the section of the command."""
    titles = {line.strip("#` "): lines[at + 2] for at, line in enumerate(lines) if line.startswith("##")}
    group = "webtable"
    for line in lines:
        if line.startswith("##"):
            group = line.strip("#` ")
        cut = re.fullmatch(r"\* `([a-z-]+)`: .*\.\.\.", line)
        title = titles.get(f"{group} {cut[1]}") if cut else None
        yield f"* `{cut[1]}`: {title}" if cut and title else line


if __name__ == "__main__":
    PAGE.write_text(cli_page(), encoding="utf-8")

"""Writes docs/cli.md from what the commands say of themselves: `python docs/make_cli_page.py`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

This page is what `webtable COMMAND --help` says, made by `python docs/make_cli_page.py`.

Where a listing goes to a terminal it is a table, in a pipe it is plain lines with tabs; `--format` says otherwise. What
is told beside it (progress, the token of the next page, errors) goes to standard error. An error is one line; `--debug`
adds the traceback. A closed pipe (`| head`) is no error.
"""


def cli_page() -> str:
    """Return the page as it should be."""
    command = [sys.executable, "-m", "typer", "webtable.cli", "utils", "docs", "--name", "webtable"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # Examples stand in a help text as indented lines, which Markdown takes for a paragraph.
    made = re.sub(r"^Examples:\n((?: {2}.*\n)+)", lambda found: "Examples:\n\n" + found[1].replace("  ", "    ", 1)
                  .replace("\n  ", "\n    "), made, flags=re.MULTILINE)  # fmt: skip
    return INTRODUCTION + made.partition("\n")[2].rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(cli_page(), encoding="utf-8")

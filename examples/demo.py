"""Store three crawls of a small invented web in one SQLite file, and ask about them.

    python examples/demo.py [FOLDER]

Writes the sample web as WARC files and the SQLite file into FOLDER, and shows and runs `webtable` commands on them.
Without FOLDER it takes a temporary folder, which is removed at the end.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command: str, folder: Path) -> None:
    """Show a command, run it, and stop where it fails."""
    print(f"\n$ {shlex.join(command)}", flush=True)
    program = Path(sys.executable).with_name(command[0])
    subprocess.run([str(program), *command[1:]], cwd=folder, check=True)


def demo(folder: Path) -> None:
    """Make the sample web in *folder*, store it, and ask about it."""
    run("webtable", "demo", "sample", "--no-ask", folder=folder)
    for crawl in sorted((folder / "sample").glob("*.warc.gz")):
        run("webtable", "ingest", f"sample/{crawl.name}", folder=folder)
    run("webtable", "links", "refresh", folder=folder)
    run("webtable", "pages", "example.com", "--limit", "10", folder=folder)
    run("webtable", "pages", "https://docs.example.com/guide/", "--limit", "5", folder=folder)
    run("webtable", "pages", "example.com", "--limit", "3", "--explain", folder=folder)
    run("webtable", "get", "https://example.com/", folder=folder)
    run("webtable", "history", "https://example.com/", folder=folder)
    run("webtable", "errors", "example.com", "--limit", "5", folder=folder)
    run("webtable", "modified", "--limit", "5", folder=folder)
    run("webtable", "most-linked", "--limit", "5", folder=folder)
    run("webtable", "broken-links", "--limit", "5", folder=folder)
    run("webtable", "search", "mountain", "docs.example.com", "--limit", "3", folder=folder)
    run("webtable", "stats", "example.com", folder=folder)
    run("webtable", "index", "verify", "--all", folder=folder)
    run("webtable", "keys", "encode", "https://www.example.com/", "http://example.com:8080/?id=7", folder=folder)
    run("webtable", "keys", "advise", "--compare", "host,url,hash", "--format", "table", folder=folder)


def main() -> None:
    """Run the demo in the folder that is given, or in a temporary one."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        demo(folder.resolve())
        print(f"\nThe store is {folder}/webtable.db: ask it more with webtable --store {folder}/webtable.db")
        return
    with tempfile.TemporaryDirectory() as temporary:
        demo(Path(temporary))


if __name__ == "__main__":
    main()

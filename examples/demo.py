"""Store three crawls of a small invented web in one SQLite file, and ask about them; then crawl a site of one's own.

    python examples/demo.py [FOLDER]

Writes the sample web as WARC files and the SQLite file into FOLDER, and shows and runs `webtable` commands on them. The
site is served on this machine, and crawled with the extra `scrapy`. Without FOLDER it takes a temporary folder, which
is removed at the end.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = {
    "index.html": '<title>Home</title><a href="/about.html">About</a> <a href="/lost.html">Lost</a>',
    "about.html": '<title>About</title><a href="/calendar/1.html">Dates</a> <a href="/private/1.html">Private</a>',
    "robots.txt": "User-agent: *\nDisallow: /private/",
}


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


def crawl(folder: Path) -> None:
    """Serve a small site, crawl it, and ask what is wrong on it."""
    (folder / "site").mkdir(exist_ok=True)
    for name, text in SITE.items():
        (folder / "site" / name).write_text(text)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder / "site")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = f"127.0.0.1:{server.server_port}"
        run("webtable", "-s", "site.db", "crawl", f"http://{site}/", "--exclude", "/calendar/**", folder=folder)
        server.shutdown()
    run("webtable", "-s", "site.db", "pages", site, folder=folder)
    run("webtable", "-s", "site.db", "failed", site, folder=folder)
    run("webtable", "-s", "site.db", "audit", site, folder=folder)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and does not tell of each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Run the demo in the folder that is given, or in a temporary one."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        demo(folder.resolve())
        crawl(folder.resolve())
        print(f"\nThe store is {folder}/webtable.db: ask it more with webtable --store {folder}/webtable.db")
        return
    with tempfile.TemporaryDirectory() as temporary:
        demo(Path(temporary))
        crawl(Path(temporary))


if __name__ == "__main__":
    main()

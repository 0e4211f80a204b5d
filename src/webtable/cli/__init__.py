"""The command line: `webtable ingest`, `pages`, `get`, `history`, `delete`, `create`, `info` and `keys`."""

from webtable.cli.app import app, main

__all__ = ["app", "main"]

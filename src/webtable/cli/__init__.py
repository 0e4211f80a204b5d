"""The command line: `webtable ingest`, a command for each question, `index`, `links` and `keys`."""

from webtable.cli.app import app, main

__all__ = ["app", "main"]

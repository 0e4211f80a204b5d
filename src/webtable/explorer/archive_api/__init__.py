"""The protocols of web archives over the stored versions of pages, beside the explorer: CDX and Memento."""

from webtable.explorer.archive_api.routes import routes

__all__ = ["routes"]

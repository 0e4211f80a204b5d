"""An explorer of a web table in the browser, and the protocols of web archives over it (extra `[web]`).

`webtable serve` starts it, and `table.explore()` in a notebook; `create_app` returns it as an ASGI application. It only
reads.
"""

from webtable._importable import needed

with needed("starlette, uvicorn and jinja2", "web"):
    import jinja2  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401

from webtable.explorer.application import create_app
from webtable.explorer.http import Access
from webtable.explorer.server import explore, serve
from webtable.maintenance import RunningExplorer

__all__ = ["Access", "RunningExplorer", "create_app", "explore", "serve"]

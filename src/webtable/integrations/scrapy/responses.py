"""Responses as pages, and pages as responses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable import Page

if TYPE_CHECKING:
    from scrapy.http import Response

FROM_TABLE = "webtable"
"""The flag of a response that was made of a stored page; it is not stored again."""

_REDIRECTS = {301, 302, 303, 307, 308}
_CUT = {"dataloss", "download_stopped", "partial"}
"""The flags of a response whose body is not whole."""


def page_of(response: Response) -> Page:
    """Return *response* as a page that was fetched now; it is `truncated` where its body did not come whole."""
    page = Page.from_response(response, fetched_at=datetime.now(UTC))
    return replace(page, truncated=True) if _CUT.intersection(response.flags) else page


def is_redirect(response: Response) -> bool:
    """Whether *response* leads elsewhere; Scrapy follows it, and no spider sees it."""
    return response.status in _REDIRECTS


def redirect_of(response: Response) -> Page:
    """Return the redirect *response*, as it was downloaded, as a page; without its body where that is encoded."""
    page = page_of(response)
    return replace(page, html=None) if "Content-Encoding" in response.headers else page

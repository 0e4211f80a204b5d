"""Responses as pages, and pages as responses."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes

from webtable import Page

if TYPE_CHECKING:
    from scrapy.http import Request, Response

FROM_TABLE = "webtable"
"""The flag of a response that was made of a stored page; it is not stored again."""

_REDIRECTS = {301, 302, 303, 307, 308}
_CUT = {"dataloss", "download_stopped", "partial"}
"""The flags of a response whose body is not whole."""

_OF_THE_CONNECTION = {"content-encoding", "content-length", "set-cookie", "transfer-encoding"}
"""Headers that say nothing of a stored body; cookies are joined, and another session's."""


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


def response_of(page: Page, request: Request, *flags: str) -> Response | None:
    """Return the stored *page* as the response to *request*, with `FROM_TABLE` and *flags*.

    None where its body is not stored as a whole (any more).
    """
    if page.truncated or (page.html is None and page.size):
        return None
    body = page.html or b""
    headers = Headers({name: value for name, value in page.headers.items() if name.lower() not in _OF_THE_CONNECTION})
    headers.setdefault("Date", format_datetime(page.fetched_at, usegmt=True))
    for name, value in (("Content-Type", page.content_type), ("Location", page.redirect_to)):
        if value is not None:
            headers.setdefault(name, value)
    kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
    return kind(request.url, page.status_code, headers, body, flags=[FROM_TABLE, *flags], request=request)

"""The middleware that stores which requests got no answer, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Self

from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from webtable.integrations.scrapy.crawl_table import CrawlTable

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

# By name: Scrapy 2.14 and later wrap the errors of Twisted in errors of their own.
_REASONS: Final = {
    "CannotResolveHostError": "dns",
    "DNSLookupError": "dns",
    "DownloadConnectionRefusedError": "refused",
    "ConnectionRefusedError": "refused",
    "DownloadTimeoutError": "timeout",
    "TCPTimedOutError": "timeout",
    "TimeoutError": "timeout",
    "DownloadCancelledError": "too_large",
    "CancelledError": "too_large",
    "UnsupportedURLSchemeError": "unsupported",
    "NotSupported": "unsupported",
    "DownloadFailedError": "closed",
    "ResponseDataLossError": "closed",
    "ResponseFailed": "closed",
    "ConnectionClosed": "closed",
}
_TLS: Final = re.compile("SSL|certificate|VerificationError", re.IGNORECASE)
_ROBOTS: Final = "Forbidden by robots.txt"
"""What Scrapy's middleware for robots.txt says, the only one of those that ignore a request that is a failure."""


class FailedFetchMiddleware:
    """Stores requests that fail, with the reason, after Scrapy has given up retrying them (`WebTable.put_failed`).

    As a downloader middleware (45) it comes after all others: no address, a connection that is refused or breaks off,
    a time-out, TLS, a body over `DOWNLOAD_MAXSIZE`, and robots.txt. Such a URL is not in `discovered` and `outdated`
    before its next time. The statistics count them as `webtable/not_fetched/REASON`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._table = CrawlTable.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of *crawler*; raises the errors of opening its table."""
        return cls(crawler)

    def process_exception(self, request: Request, exception: Exception, spider: Spider | None = None) -> None:
        """Store that *request* got no answer; what components fetch for themselves, and other methods, are left out."""
        reason = reason_of(exception)
        if reason is None or request.method != "GET" or request.callback is NO_CALLBACK:
            return
        self._crawler.stats.inc_value(f"webtable/not_fetched/{reason}")
        self._table.put_failed_soon(request.url, reason, str(exception))


def reason_of(exception: Exception) -> str | None:
    """Return the reason of a failed fetch; None for a request that another component has dropped."""
    if isinstance(exception, IgnoreRequest):
        return "robots" if str(exception) == _ROBOTS else None
    reason = next((_REASONS[base.__name__] for base in type(exception).__mro__ if base.__name__ in _REASONS), "other")
    return "tls" if reason in ("closed", "other") and _TLS.search(str(exception)) else reason

"""Scrapy's middleware for robots.txt, for all requests that wait for the same file, and as RFC 9309 has errors."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from scrapy.downloadermiddlewares import robotstxt
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_NOTHING: Final = b"User-agent: *\nDisallow: /"


class RobotsTxtMiddleware(robotstxt.RobotsTxtMiddleware):
    """Obeys robots.txt also for the third request and further ones to a host whose robots.txt is being fetched.

    In Scrapy 2.14 to 2.19 these await one Deferred, which hands its result to the first of them and None to the others:
    they were sent, whatever robots.txt says. And where robots.txt cannot be read, nothing is requested of its host (RFC
    9309, 2.3.1.4): a status of 500 or above forbids all, and after a network error requests fail with the same error.
    Name it in place of Scrapy's own among the downloader middlewares (100).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._errors: dict[str, BaseException] = {}
        """Why there is no robots.txt of a host."""

    def robot_parser(self, request: Request, *args: Any) -> Any:
        """Return the rules for *request* to be awaited, None if there are none."""
        parser = super().robot_parser(request, *args)
        # Before that they are returned, or a Deferred of each request's own.
        return self._awaited(request, parser) if isinstance(parser, Coroutine) else parser

    async def _awaited(self, request: Request, parser: Coroutine[Any, Any, Any]) -> Any:
        rules = await parser
        # What another request has waited for is stored before these go on.
        host = urlparse_cached(request).netloc
        stored = self._parsers.get(host)
        if rules is None and host in self._errors:
            raise self._errors[host].with_traceback(None)
        return stored if rules is None and not isinstance(stored, Deferred) else rules

    def _parse_robots(self, response: Response, *args: Any) -> Any:
        body = _NOTHING if response.status >= 500 else response.body
        return super()._parse_robots(response.replace(body=body), *args)

    def _robots_error(self, error: Any, netloc: str) -> None:
        cause = getattr(error, "value", error)  # of a Failure, in Scrapy 2.13
        if not isinstance(cause, IgnoreRequest):
            self._errors[netloc] = cause
        super()._robots_error(error, netloc)

"""Scrapy's middleware for robots.txt, for all requests that wait for the same file."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares import robotstxt
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy import Request


class RobotsTxtMiddleware(robotstxt.RobotsTxtMiddleware):
    """Obeys robots.txt also for the third request and further ones to a host whose robots.txt is being fetched.

    In Scrapy 2.14 to 2.19 these await one Deferred, which hands its result to the first of them and None to the others:
    they were sent, whatever robots.txt says. Name it in place of Scrapy's own among the downloader middlewares (100).
    """

    def robot_parser(self, request: Request, *args: Any) -> Any:
        """Return the rules for *request* to be awaited, None if there are none."""
        parser = super().robot_parser(request, *args)
        # Before that they are returned, or a Deferred of each request's own.
        return self._awaited(request, parser) if isinstance(parser, Coroutine) else parser

    async def _awaited(self, request: Request, parser: Coroutine[Any, Any, Any]) -> Any:
        rules = await parser
        # What another request has waited for is stored before these go on.
        stored = self._parsers.get(urlparse_cached(request).netloc)
        return stored if rules is None and not isinstance(stored, Deferred) else rules

"""Requests that get no answer: Scrapy's errors, as they are stored."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from scrapy.exceptions import IgnoreRequest
from twisted.internet import error
from twisted.web.client import ResponseFailed

import webtable
from webtable.integrations.scrapy.failed_fetch import reason_of

SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.Spider):
    name = "failing"
    start_urls = sys.argv[1:]
    custom_settings = {
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
            "webtable.integrations.scrapy.FailedFetchMiddleware": 45,
            "webtable.integrations.scrapy.RobotsTxtMiddleware": 100,
        },
        "SPIDER_MIDDLEWARES": {"webtable.integrations.scrapy.WebTableMiddleware": 25},
        "WEBTABLE_STORE_RESPONSES": True,
        "WEBTABLE_URI": "crawl.db",
        "WEBTABLE_CREATE": True,
        "DOWNLOAD_MAXSIZE": 1_000,
        "DOWNLOAD_TIMEOUT": 5,
        "RETRY_TIMES": 0,
        "ROBOTSTXT_OBEY": True,
    }

    def parse(self, response):
        pass

process = CrawlerProcess({"LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False})
process.crawl(Spider)
process.start()
"""


@pytest.mark.slow
def test_each_kind_of_failure_is_stored_once_with_its_reason(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/robots.txt").write_text("User-agent: *\nDisallow: /secret")
    (tmp_path / "site/large").write_bytes(b"x" * 5_000)
    (tmp_path / "site/page").write_bytes(b"x")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with socket.create_server(("127.0.0.1", 0)) as closed:
            refused = closed.getsockname()[1]
        site = f"http://127.0.0.1:{server.server_port}"
        expected = {
            f"{site}/large": "too_large",
            f"{site}/secret": "robots",
            f"http://127.0.0.1:{refused}/": "refused",
            f"http://127.0.0.1:{silent.getsockname()[1]}/": "timeout",
            f"https://localhost:{server.server_port}/": "tls",
            "http://nobody.invalid/": "dns",
        }
        script = [sys.executable, "-c", SPIDER, f"{site}/page", *expected]
        done = subprocess.run(script, cwd=tmp_path, check=True, capture_output=True, text=True)
        server.shutdown()

    with webtable.open(tmp_path / "crawl.db") as table:
        assert {failure.url: failure.reason for failure in table.failed()} == expected, done.stderr
        assert {failure.attempts for failure in table.failed()} == {1}
        assert [page.url for page in table.pages()] == [f"{site}/page"]


@pytest.mark.parametrize(
    ("exception", "reason"),
    [
        (error.DNSLookupError(), "dns"),
        (error.TCPTimedOutError(), "timeout"),
        (error.ConnectionRefusedError(), "refused"),
        (error.ConnectionLost(), "closed"),
        (ResponseFailed([]), "closed"),
        (ValueError("invalid hostname"), "other"),
        (IgnoreRequest("Forbidden by robots.txt"), "robots"),
        (IgnoreRequest("Filtered offsite request to 'other.example'"), None),
    ],
)
def test_errors_of_earlier_versions_of_scrapy_have_the_same_reasons(exception, reason):
    assert reason_of(exception) == reason

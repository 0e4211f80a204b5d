"""How many pages a second does a spider of Scrapy crawl with every response stored, beside the same one without?"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

import webtable
from benchmarks.crawl_site import answers_of, served_apart
from benchmarks.measuring import Result, Run, compare
from webtable.demo import make_sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from benchmarks.setting import Setting

NEEDS = frozenset[str]()
LIKES = frozenset({"corpus", "hbase"})

_STORING = {
    "SPIDER_MIDDLEWARES": {"webtable.integrations.scrapy.WebTableMiddleware": 25},
    "WEBTABLE_STORE_RESPONSES": True,
}


class LinkSpider(scrapy.Spider):
    """Asks for the pages that it is given, and follows the links between them, as most spiders do."""

    name = "links"

    def __init__(self, urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = urls[:1]
        self.given: list[str] = []
        self._urls = urls
        self._hosts = {url.split("/")[2] for url in urls}
        self._links = LinkExtractor(tags=("a",), deny_extensions=[])

    async def start(self) -> Any:
        """Yield requests for all pages, which the filter for duplicates knows then."""
        for url in self._urls:
            yield scrapy.Request(url)

    def parse(self, response: Response, **_: Any) -> Iterator[scrapy.Request]:
        """Yield requests for what the page links to."""
        self.given.append(f"{response.url} {response.status} {len(response.body)}")
        if isinstance(response, scrapy.http.HtmlResponse):
            for link in self._links.extract_links(response):
                url = link.url.replace("https://", "http://", 1)
                if url.split("/")[2] in self._hosts:
                    yield scrapy.Request(url)


def run(setting: Setting) -> list[Result]:
    """Crawl a site, or the sample web, into fresh tables and into none, each in a process of its own, in turn."""
    sites = sorted(setting.warc_files, key=lambda file: file.stat().st_size)
    if sites:  # the middle one: all nine take half an hour, and come to the same ratio
        files = sites[:1] if setting.quick else [sites[len(sites) // 2]]
    else:
        files = list(make_sample(setting.folder / "sample").crawls[:1])
    answers = answers_of(files)
    urls = setting.folder / "urls.json"
    urls.write_text(json.dumps([url for url, answer in answers.items() if answer.status == 200]), encoding="utf-8")
    what = f"{len(answers):,} URLs of {files[0].name.removesuffix('.warc.gz')}" if sites else "the sample web"
    with served_apart(files) as proxy:
        return list(_compared(setting, what, partial(_crawl, setting, urls, proxy)))


def _compared(setting: Setting, what: str, crawl: Any) -> Iterator[Result]:
    def into_file(*, apart: bool) -> Run:
        file = setting.new_file()
        done: Run = crawl(str(file), apart=apart)
        _check(str(file), done)
        file.unlink()
        return done

    def into_hbase(*, apart: bool) -> Run:
        with setting.hbase_table_url() as url:
            webtable.create(url, regions=16)
            done: Run = crawl(url, apart=apart)
            _check(url, done)
            return done

    sides = {"a file": into_file} | ({"HBase": into_hbase} if setting.hbase else {})
    for (store, side), apart in product(sides.items(), (True, False)):
        yield compare(
            f"Scrapy, every response of {what} stored in {store}{' by a writer process' * apart}, all indexes",
            "the same spider without webtable",
            target=0.9 if apart else None,
            ours=partial(side, apart=apart),
            peer=lambda: crawl(None),
            pairs=setting.pairs(3),
            warm_up=not setting.quick,
            note="one machine for the spider, the web (a process of its own) and the store; links are extracted and "
            "followed; the time is that until all is stored and the spider closed",
        )


def _check(url: str, done: Run) -> None:
    with webtable.open(url) as table:
        stored = table.pages(webtable.ALL).count()
    assert stored >= done.items, f"{done.items:,} pages were crawled, and {stored:,} are stored"


def _crawl(setting: Setting, urls: Path, proxy: str, store: str | None, *, apart: bool = False) -> Run:
    """Return a crawl in a process of its own: a reactor cannot be started twice in one."""
    report = setting.folder / "crawl.json"
    command = [sys.executable, "-m", __name__, str(urls), str(report), store or "", "apart" * apart]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    subprocess.run(command, check=True, env=os.environ | {"http_proxy": proxy, "no_proxy": "", "PYTHONPATH": paths})
    said = json.loads(report.read_text(encoding="utf-8"))
    return Run(said["seconds"], said["pages"], said["digest"])


def main(urls: str, report: str, store: str, apart: str) -> None:
    """Crawl *urls* into *store*, or into none, perhaps by a process *apart*; write into *report* how long it took."""
    settings = {
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_ENABLED": False,
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    }
    if store:
        settings |= _STORING | {"WEBTABLE_URI": store, "WEBTABLE_CREATE": True}
        settings["WEBTABLE_WRITER_PROCESS"] = bool(apart)
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(LinkSpider)
    began: list[float] = []
    crawler.signals.connect(lambda: began.append(time.perf_counter()), signals.spider_opened, weak=False)
    process.crawl(crawler, urls=json.loads(Path(urls).read_text(encoding="utf-8")))
    process.start()
    seconds = time.perf_counter() - began[0]
    spider = crawler.spider
    assert isinstance(spider, LinkSpider)
    assert not store or crawler.stats.get_value("webtable/failed") == 0
    digest = hashlib.sha256("\n".join(sorted(spider.given)).encode()).hexdigest()
    said = {"seconds": seconds, "pages": len(spider.given), "digest": digest}
    Path(report).write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

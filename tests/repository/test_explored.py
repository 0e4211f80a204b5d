"""Every kind of page of the explorer, and its files, on every store."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import httpx
import pytest

from webtable import Page
from webtable.explorer import Access, create_app

KINDS = [
    "/",
    "/?count=1",
    "/table.json",
    "/questions",
    "/site/",
    "/site/HOST/",
    "/site.json?site=HOST&count=1",
    "/stats?site=HOST",
    "/stats.csv?site=HOST",
    "/audit?site=HOST",
    "/audit.json?site=HOST",
    "/compare?site=HOST&since=1d",
    "/compare.jsonl?site=HOST&since=1d&part=summary",
    "/page?url=URL",
    "/page?url=URL&tab=storage",
    "/storage",
    "/storage.json",
    "/archives",
    "/page.parquet?url=URL&part=versions",
    "/page/history?url=URL",
    "/page/diff?url=URL",
    "/page/diff.csv?url=URL",
    "/page/text?url=URL",
    "/page/source.tsv?url=URL",
    "/page/rendered?url=URL",
    "/page/raw?url=URL",
    "/q/pages?site=HOST",
    "/q/linking-to.jsonl?url=URL",
    "/go?go=HOST",
    "/cdx?url=HOST&matchType=domain",
    "/timegate/URL",
    "/timemap/json/URL",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_page_is_answered(site, kind):
    url = site.url("/docs/a")
    for age, body in ((900, b"<title>Tea</title><p>2.50"), (90, b"<title>Tea</title><p>2.80<a href=/>Home</a>")):
        site.store(Page(url=url, body=body, content_type="text/html", fetched_at=site.page(age=age).fetched_at))
    path = kind.replace("URL", url if kind.startswith("/time") else quote(url, safe="")).replace("HOST", site.domain)

    found = asyncio.run(asked(site.table, path))

    assert found.status_code in {200, 302, 303}
    assert 'class="problem"' not in found.text
    assert '"problem": "' not in found.text


async def asked(table, path):
    """Return the response of the explorer of *table*."""
    transport = httpx.ASGITransport(create_app(table, Access("the-token")))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers={"authorization": "Bearer the-token"})

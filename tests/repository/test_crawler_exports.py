"""An export of another crawler in a table: what is asked of it has the numbers that the crawler found."""

from __future__ import annotations

import json

from webtable.url_filter import URLFilter


def test_a_crawl_of_advertools_answers_questions_about_links_and_redirects(site, tmp_path):
    lines = [
        {"url": site.url("/"), "links_url": f"{site.url('/a')}@@{site.url('/gone')}", "links_text": "A@@Gone"},
        {"url": site.url("/a"), "redirect_urls": site.url("/old"), "redirect_reasons": "301"},
        {"url": site.url("/gone"), "status": 404},
    ]
    common = {"status": 200, "crawl_time": "2026-11-01 10:00:00", "resp_headers_Content-Type": "text/html"}
    file = tmp_path / "crawl.jl"
    file.write_text("\n".join(json.dumps(common | line) for line in lines))

    report = site.table.ingest(file)
    again = site.table.ingest(file)

    assert (report.stored, report.read.damaged_count) == (4, 0)
    assert again.unchanged == 4
    assert [link.source for link in site.table.links.to(site.url("/gone"))] == [site.url("/")]
    assert [(broken.target, broken.status) for broken in site.table.links.broken(site.domain)] == [
        (site.url("/gone"), 404)
    ]
    assert site.table.get(site.url("/old")).redirect_to == site.url("/a")


def test_a_table_of_screaming_frog_answers_questions_about_its_pages(site, tmp_path):
    file = tmp_path / "internal_all.csv"
    file.write_text(
        "Address,Status Code,Content Type,Title 1,Meta Robots 1,Crawl Timestamp\n"
        f"{site.url('/')},200,text/html,Home,,2026-11-01 10:00:00\n"
        f"{site.url('/hidden')},200,text/html,Home,noindex,2026-11-01 10:00:00\n"
        f"{site.url('/logo.png')},200,image/png,,,2026-11-01 10:00:00\n"
    )

    report = site.table.ingest(file, urls=URLFilter(include=[f"//{site.domain}"]))

    assert report.stored == 2
    assert report.read.left_out == {"image/png": 1}
    assert [page.url for page in site.table.pages(site.domain, finding="noindex")] == [site.url("/hidden")]
    assert {page.title for page in site.table.pages(site.domain)} == {"Home"}

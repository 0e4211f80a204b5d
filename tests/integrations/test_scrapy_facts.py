"""A crawl of Scrapy finds the same facts of a page by each of its components as every other way into a table does."""

from __future__ import annotations

import pytest
from benchmarks.crawl_site import Answer, served
from test_scrapy_pipeline import PIPELINE, RESPONSES
from test_scrapy_revisits import DUMMY

import told_responses
import webtable
from told_responses import TOLD, facts_in, url_of

COMPONENTS = {
    "pipeline": ("items", PIPELINE),
    "middleware": ("quiet", RESPONSES),
    "process": ("quiet", RESPONSES | {"WEBTABLE_WRITER_PROCESS": True}),
    "cache": ("quiet", DUMMY),
}


@pytest.fixture(scope="module")
def told_site():
    answers = {}
    for name, told in told_responses.RESPONSES.items():
        lines: dict[str, str] = {}
        for header, value in told.headers:
            # Two lines of one name, which this server writes as they are.
            lines[header] = f"{lines[header]}\r\n{header}: {value}" if header in lines else value
        answers[url_of(name)] = Answer(headers=lines, body=told.body)
    with served(answers) as site:
        yield site


@pytest.mark.slow
@pytest.mark.parametrize("component", COMPONENTS)
def test_each_component_stores_the_facts_that_all_other_ways_find(told_site, crawls, component):
    spider, settings = COMPONENTS[component]
    names = [name for name in TOLD if component != "pipeline" or name != "no html"]  # its spider reads them by CSS

    crawl = crawls.run(told_site, spider, [url_of(name) for name in names], settings)

    with webtable.open(crawls.url) as table:
        assert facts_in(table) == {name: TOLD[name] for name in names}, crawl.log

"""For whom the advisor's verdict holds."""

from __future__ import annotations

import json

import pytest

from webtable.rowkey.advice import advise
from webtable.rowkey.advice.costs import HOT, fair_share
from webtable.rowkey.advice.ranking import hosts_that_spread
from webtable.rowkey.examples import LONG_KEY

EIGHT = [f"https://www.site{host}.example/{page}" for page in range(60) for host in range(8)]


# for whom it holds


def test_a_verdict_names_the_hosts_and_domains_that_it_was_measured_on():
    urls = [f"https://{name}.example.com/{n}" for name in ("a", "b") for n in range(3)] + ["https://example.org/"]

    scope = advise(urls, ["host", "none"]).scope

    assert (scope.hosts, scope.domains) == (3, 2)
    assert (scope.largest, scope.largest_share) == ("a.example.com", 3 / 7)


def test_of_few_hosts_it_is_said_that_they_cannot_spread_and_how_many_can():
    advice = advise(EIGHT)

    assert advice.holds_for[0].startswith("the verdict holds for crawls like this one: 8 hosts of 8 domains, of which")
    assert advice.holds_for[1] == (
        "8 hosts cannot spread over 16 regions by a salt of the host: chance alone gives one region 25% of them, "
        "where 6.2% would be even; some 230 hosts of one size can"
    )


def test_a_giant_among_many_hosts_is_no_matter_of_their_number():
    urls = [f"https://{'giant' if n % 2 else f's{n}'}.example/{n}" for n in range(4_000)]

    *_, spread = advise(urls, ["host", "url"], questions=["point"]).holds_for

    assert "giant.example alone has more than the fair share of a region" in spread


def test_keys_that_are_no_urls_have_no_hosts():
    advice = advise([{"id": number} for number in range(200)], {"packed": LONG_KEY})

    assert (advice.scope, advice.holds_for) == (None, ())


def test_what_it_holds_for_is_in_the_text_the_json_and_the_notebook():
    advice = advise(EIGHT, ["host", "none"])

    read = json.loads(advice.to_json())
    assert read["holds_for"] == list(advice.holds_for)
    assert (read["scope"]["hosts"], read["scope"]["domains"]) == (8, 8)
    for said in advice.holds_for:
        assert said in str(advice)
        assert said[1:] in advice._repr_html_()


@pytest.mark.parametrize("regions", [1, 2, 16, 100])
def test_so_many_hosts_spread_and_a_fifth_fewer_do_not(regions):
    enough = hosts_that_spread(regions)

    assert fair_share(regions, enough) <= HOT / regions
    assert enough == 1 or fair_share(regions, enough * 4 // 5) > HOT / regions

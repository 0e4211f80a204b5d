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


def test_a_question_that_is_not_asked_is_no_reason():
    advice = advise(EIGHT, ["host", "none"], questions=["host"])

    assert not [said for said in advice.holds_for if "subtree" in said]


def test_the_default_is_reconciled_with_a_verdict_that_differs():
    advice = advise(EIGHT)

    assert advice.best.name != "host"
    told, advised = advice.holds_for[-2:]
    assert told.startswith(
        "host, the default of web tables, comes in place 5 of 6 here: its writes are hot because the"
    )
    assert "subtree takes 256 ranges in place of 1, in 8 calls where there is a Thrift2 gateway" in told
    assert advised == (
        "take domain (create --salt domain) if these hosts are all that the table will have; if not, judge by a crawl "
        "of more hosts"
    )


def test_a_design_that_no_web_table_can_have_is_not_advised():
    urls = [f"https://example.com/{n}" for n in range(2_000)]

    advice = advise(urls, ["host", "hash"], questions=["point"])

    assert advice.best.name == "hash"
    assert advice.holds_for[-1] == (
        "host, the default of web tables, is the best of the designs that a web table can have here too"
    )


def test_a_giant_among_many_hosts_is_no_matter_of_their_number():
    urls = [f"https://{'giant' if n % 2 else f's{n}'}.example/{n}" for n in range(4_000)]

    *_, spread, told, advised = advise(urls, ["host", "url"], questions=["point"]).holds_for

    assert "giant.example alone has more than the fair share of a region" in spread
    assert "50% of those of a moment are for one host, however many hosts there are" in told
    assert advised == "take url (create --salt url) where crawls are like this one"


def test_a_crawl_host_after_host_is_not_said_to_be_cured_by_more_hosts():
    told = next(said for said in advise(sorted(EIGHT)).holds_for if said.startswith("host, the default"))

    assert "of those of a moment are for one host, however many hosts there are" in told
    assert "would not be with many" not in told


@pytest.mark.slow
def test_a_default_that_is_the_best_is_told_so_and_one_that_is_not_compared_is_not_mentioned():
    urls = [f"https://s{n % 900}.example/{n}" for n in range(4_000)]

    assert advise(urls, ["host", "url"]).holds_for[-1].startswith("host, the default of web tables, is the best")
    assert not any("default" in said for said in advise(urls, ["domain", "url"]).holds_for)


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

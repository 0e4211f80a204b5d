"""For whom the advisor's verdict holds, and what it makes up where a crawl will have more hosts than its sample."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from itertools import groupby
from urllib.parse import urlsplit

import pytest

from nightly import examples
from webtable.errors import InvalidArgument
from webtable.rowkey.advice import advise
from webtable.rowkey.advice.measures import HOT, fair_share
from webtable.rowkey.advice.ranking import hosts_that_spread
from webtable.rowkey.advice.samples import MadeUp, host_models, made_up_crawl
from webtable.rowkey.examples import LONG_KEY

EIGHT = [f"https://www.site{host}.example/{page}" for page in range(60) for host in range(8)]


def sites(*sizes: int) -> list[str]:
    """Return URLs of hosts of these sizes, in turn as long as a host has some."""
    most = max(sizes)
    return [f"https://h{at}.example/p/{page}" for page in range(most) for at, size in enumerate(sizes) if page < size]


def host_sizes(urls: list[str]) -> Counter[int]:
    """Return how many hosts there are of each size."""
    return Counter(Counter(urlsplit(url).hostname for url in urls).values())


def made(urls: list[str], hosts: int, most: int = 65_536) -> list[str]:
    sample, _ = made_up_crawl(host_models(urls, most), hosts, most)
    return sample.items


# for whom it holds


def test_a_verdict_names_the_hosts_and_domains_that_it_was_measured_on():
    urls = [f"https://{name}.example.com/{n}" for name in ("a", "b") for n in range(3)] + ["https://example.org/"]

    scope = advise(urls, ["host", "none"]).scope

    assert (scope.hosts, scope.domains, scope.models) == (3, 2, 0)
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
        "of more hosts: hosts=10000 (--hosts 10000) makes one up"
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


def test_made_up_hosts_that_come_in_runs_are_told_to():
    in_turn, by_host = (advise(urls, ["host"], hosts=300).holds_for for urls in (EIGHT, sorted(EIGHT)))

    assert any(said.startswith("pages of a host come some 60 at a time, as in the URLs given") for said in by_host)
    assert not any("at a time" in said for said in in_turn)


def test_a_default_that_is_the_best_is_told_so_and_one_that_is_not_compared_is_not_mentioned():
    urls = [f"https://s{n % 900}.example/{n}" for n in range(4_000)]

    assert advise(urls, ["host", "url"]).holds_for[-1].startswith("host, the default of web tables, is the best")
    assert not any("default" in said for said in advise(urls, ["domain", "url"]).holds_for)


def test_keys_that_are_no_urls_have_no_hosts():
    advice = advise([{"id": number} for number in range(200)], {"packed": LONG_KEY})

    assert (advice.scope, advice.holds_for) == (None, ())


def test_what_it_holds_for_is_in_the_text_the_json_the_page_and_the_notebook():
    advice = advise(EIGHT, ["host", "none"])

    read = json.loads(advice.to_json())
    assert read["holds_for"] == list(advice.holds_for)
    assert (read["scope"]["hosts"], read["scope"]["domains"]) == (8, 8)
    for said in advice.holds_for:
        assert said in str(advice)
        assert said[1:] in advice.to_html()
        assert said[1:] in advice._repr_html_()
    assert "<dt>hosts</dt><dd>8</dd>" in advice.to_html()


@pytest.mark.parametrize("regions", [1, 2, 16, 100])
def test_so_many_hosts_spread_and_a_fifth_fewer_do_not(regions):
    enough = hosts_that_spread(regions)

    assert fair_share(regions, enough) <= HOT / regions
    assert enough == 1 or fair_share(regions, enough * 4 // 5) > HOT / regions


# made-up hosts


def test_a_made_up_crawl_has_as_many_hosts_as_it_is_asked_for_and_their_sizes_are_those_of_the_urls():
    sizes = host_sizes(made(sites(1, 1, 2, 8), 400))

    assert sizes.total() == 400
    assert set(sizes) == {1, 2, 8}
    assert 150 < sizes[1] < 250
    assert 60 < sizes[2] < 140
    assert 60 < sizes[8] < 140


def test_a_made_up_host_has_the_paths_of_its_model_and_no_name_that_anybody_can_own():
    urls = ["https://docs.python.org/3/a.html", "http://www.sqlite.org:8080/b?q=1", "https://www.sqlite.org/c"]

    found = {(parts.scheme, parts.port, parts.path, parts.query) for parts in map(urlsplit, made(urls, 50))}

    assert found == {
        ("https", None, "/3/a.html", ""),
        ("http", 8080, "/b", "q=1"),
        ("https", None, "/c", ""),
    }
    assert all(urlsplit(url).hostname.endswith(".example") for url in made(urls, 50))


def test_hosts_of_one_domain_are_made_up_as_hosts_of_one_domain():
    urls = ["https://a.one.org/", "https://b.one.org/", "https://two.org/"]

    hosts = {urlsplit(url).hostname for url in made(urls, 300)}

    families = Counter(host.split(".")[-2] for host in hosts)
    assert len(hosts) == 300
    assert set(families.values()) == {1, 2}
    assert all(
        f"b.{host[2:]}" in hosts for host in hosts if host.startswith("a.") and families[host.split(".")[-2]] == 2
    )


def test_no_url_of_a_made_up_crawl_comes_twice_where_more_pages_are_needed_than_are_known():
    urls = sites(1_000, 3)

    found = made(urls, 20)

    assert max(host_sizes(found)) == 1_000
    assert len(set(found)) == len(found)


def test_pages_that_come_one_behind_the_other_do_so_in_the_made_up_crawl():
    by_host = sorted(sites(*[40] * 20))

    runs = [len(list(run)) for _, run in groupby(urlsplit(url).hostname for url in made(by_host, 300))]

    assert set(runs) == {40}


def test_hosts_that_take_turns_do_so_in_the_made_up_crawl():
    runs = [len(list(run)) for _, run in groupby(urlsplit(url).hostname for url in made(EIGHT, 300))]

    assert sum(runs) / len(runs) < 1.1


def test_a_made_up_crawl_is_the_same_each_time():
    first, second = (advise(iter(EIGHT), ["host", "none"], hosts=500).to_json() for _ in range(2))

    assert first == second


def test_with_many_made_up_hosts_the_salt_of_the_host_spreads():
    few, many = (advise(EIGHT, ["host"], hosts=hosts)["host"] for hosts in (None, 3_000))

    assert few.writes.is_hot
    assert not many.writes.is_hot
    assert many.heat < 1.2


def test_a_giant_among_the_hosts_is_among_the_made_up_ones_in_its_proportion():
    urls = sites(*[5] * 19, 400)

    sizes = host_sizes(made(urls, 1_000))

    assert 25 < sizes[400] < 80


def test_made_up_hosts_are_told_to_be_made_up():
    advice = advise(EIGHT, ["host"], hosts=10_000)

    assert (advice.scope.hosts, advice.scope.domains, advice.scope.models) == (10_000, 10_000, 8)
    assert advice.measure.startswith("600,000 made-up keys (60,000 of them measured")
    assert "10,000 made-up hosts of 10,000 domains" in advice.holds_for[0]
    assert "has less than 0.1% of the URLs" in advice.holds_for[0]
    assert "the hosts are made up, with names that end in .example" in advice.holds_for[1]
    assert "8 hosts say little about how large hosts get" in advice.holds_for[2]
    assert "<dt>made-up hosts</dt><dd>10,000</dd>" in advice.to_html()


def test_from_one_host_no_others_are_made_up():
    with pytest.raises(InvalidArgument, match=r"keys have URLs of www\.a\.example alone.*is seen from several"):
        advise([f"https://www.a.example/{n}" for n in range(50)], hosts=10_000)


@pytest.mark.parametrize("hosts", [0, -1, True, 1.5, 1_000_001])
def test_a_number_of_hosts_that_is_none_is_refused(hosts):
    with pytest.raises(InvalidArgument, match=rf"hosts={hosts} must be a whole number from 1 to 1,000,000"):
        advise(EIGHT, hosts=hosts)


def test_hosts_are_made_up_for_urls_only():
    with pytest.raises(InvalidArgument, match="hosts=10 can be made up for URLs only"):
        advise([{"id": 1}], {"packed": LONG_KEY}, hosts=10)


def test_what_is_no_url_is_left_out_before_hosts_are_made_up():
    advice = advise(["nonsense", *EIGHT], ["host"], hosts=20)

    assert (advice.skipped, advice.scope.models) == (1, 8)
    with pytest.raises(InvalidArgument, match="keys must have a key to measure designs on: 'nonsense'"):
        advise(["nonsense"], ["host"], hosts=20)


def test_however_long_the_stream_and_large_the_crawl_memory_is_bounded():
    count, hosts = examples(by_day=30_000, by_night=100_000), examples(by_day=15_000, by_night=50_000)
    urls = (f"https://h{n * 7919 % 5_003}.example/some/path/{n}" for n in range(count))

    tracemalloc.start()
    try:
        sample, made_up = made_up_crawl(host_models(urls, 4_096), hosts, 4_096)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(sample.items) <= 4_096
    assert sample.total > hosts * count // 10_000  # half of what as many hosts of that size have
    assert made_up.hosts == hosts
    assert 1_000 < made_up.models <= 4_096
    assert peak < 16 * 2**20


def test_of_too_many_hosts_some_are_models_and_sizes_stay_as_they_are_distributed():
    urls = sites(*[1, 3] * 2_000)

    models = host_models(urls, 512)

    assert sum(len(model.kept) for model in models.hosts.values()) <= 512
    sizes = Counter(model.pages for model in models.hosts.values())
    assert set(sizes) == {1, 3}
    assert 0.7 < sizes[1] / sizes[3] < 1.4


def test_fewer_hosts_than_there_are_can_be_made_up_too():
    sample, made_up = made_up_crawl(host_models(EIGHT, 1_000), 3, 1_000)

    assert made_up == MadeUp(hosts=3, domains=3, models=8, run=1.0)
    assert host_sizes(sample.items) == {60: 3}

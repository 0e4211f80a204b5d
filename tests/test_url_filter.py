"""Filters of URLs: each kind of rule with its borders, what is taken off, which rule decides, and linear time."""

from __future__ import annotations

import pickle
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable import URLFilter
from webtable.errors import InvalidArgument
from webtable.rowkey import canonical_url

HOST = "https://example.com"


# What each rule refuses (-) and lets through (+). Where a case is from a report to another tool, it is named.
RULES = {
    "a path is a prefix that ends with a segment (oobee 736)": (
        {"include": ["/docs"]},
        "+/docs +/docs/ +/docs/a +/docs?a=1 +/docs;v=1 -/docs-old -/doc -/a/docs -/Docs",
    ),
    "a path with a slash at its end is a directory (browsertrix 873)": (
        {"include": ["/docs/"]},
        "+/docs/ +/docs/a +/docs/?a=1 -/docs -/docs-old/",
    ),
    "a glob": (
        {"exclude": ["/calendar/**"]},
        "-/calendar/ -/calendar/2031/05 -/calendar/?day=1 +/calendar +/calendar-of-events +/a/calendar/",
    ),
    "one star stays in a segment": ({"exclude": ["/*/print"]}, "-/a/print -/a/print?x=1 +/a/b/print +/a/print/b"),
    "an ending, whatever the query (simplecrawler 28)": (
        {"exclude": ["/**.jpg"]},
        "-/a.jpg -/a/b.jpg?w=10 -/?file=a.jpg +/a.jpg/b +/a.jpeg",
    ),
    "two stars reach into the query (gpt-crawler 179)": (
        {"exclude": [f"{HOST}/docs/**hl=**"]},
        "-/docs/search?hl=de -/docs/search?a=1&hl=es-419 +/docs/search?h=de +/search?hl=de",
    ),
    "a question mark is that of the query (History-AutoDelete 79)": (
        {"exclude": ["/faq?faqItem=**"]},
        "-/faq?faqItem=3 +/faq +/faqs?faqItem=3 +/faq?a=1&faqItem=3",
    ),
    "a whole query": ({"exclude": ["/list?sort=name"]}, "-/list?sort=name +/list?sort=name&p=2 +/list"),
    "an expression is found anywhere (firecrawl 1268)": (
        {"exclude": ["re:add-to-cart="]},
        "-/product?add-to-cart=5 +/product",
    ),
    "an expression in any case": ({"exclude": ["re:(?i)/forum.*reply"]}, "-/Forum/x_Reply.cfm +/for/reply"),
    "what is excluded stays so (Norconex 109)": (
        {"include": ["/a"], "exclude": ["/a/b"]},
        "+/a -/a/b -/a/b/c -/b",
    ),
    "dots are resolved before (Norconex 230, 303)": ({"exclude": ["/b"]}, "-/a/../b/./c +/b/../a -/a/%2e%2e/b"),
    "patterns are spelled as URLs are": (
        {"exclude": ["/käse/**", "/a b"]},
        "-/k%C3%A4se/1 -/käse/1 -/a%20b +/kase/1",
    ),
    "parameters": (
        {"refuse_params": ["sort", "filter[*", "updated-*"]},
        "-/?sort=1 -/?a=1&sort -/?filter%5Bsize%5D=1 -/?filter[a]=1 -/?updated-min=1 +/?sorted=1 +/sort +/?a=sort",
    ),
    "extensions of two parts, and in capitals (scrapy 2074)": (
        {"refuse_extensions": ["tar.gz", ".pdf"]},
        "-/a.tar.gz -/A.PDF?x=1 -/a.pdf;v=1 +/a.gz +/pdf +/a.pdf/b +/?a.pdf",
    ),
    "the depth, of the path alone (heritrix3 13)": (
        {"max_depth": 3},
        "+/ +/a/b/c.html +/a/b/c/ +/a?x=/1/2/3/4/5 -/a/b/c/d -/a/b/c//",
    ),
    "repeated segments, in a row or not (stormcrawler 368)": (
        {"max_repeats": 2},
        "+/ +/a/a +/a/b/a/b -/a/a/a -/a/b/a/b/a +/a/a?a&a -/x////y",
    ),
    "repeated parameters (Zeno 558)": ({"max_repeats": 2}, "+/?a=1&a=2&a=3 -/?a=1&a=1&a=1"),
    "the number of parameters": ({"max_params": 2}, "+/ +/?a=1&b=2 -/?a=1&b=2&c=3"),
    "the length": ({"max_length": len(HOST) + 3}, "+/ab -/abc -/ä"),
    "session ids": (
        {"session_ids": "refuse"},
        "-/a;jsessionid=0A1B -/a;JSESSIONID=0A/b -/?PHPSESSID=abc -/?a=1&ASPSESSIONIDQQ=x "
        "-/(S(lit3py55t21z5v55vlm25s55))/a -/?sid=9682993c8daa2c5497996114facdc805 +/?sid=12 +/a;v=1 +/(a)/b",
    ),
}


@pytest.mark.parametrize(("arguments", "paths"), RULES.values(), ids=RULES)
def test_a_rule_refuses_what_it_says_and_nothing_else(arguments, paths):
    urls = URLFilter(**arguments)

    assert [path for path in paths.split() if urls.allows(HOST + path[1:]) != (path[0] == "+")] == []


@pytest.mark.parametrize(
    ("pattern", "allowed", "refused"),
    [
        ("//example.com/docs", "https://example.com/docs/a http://example.com/docs", "https://a.example.com/docs"),
        ("//*.example.com/**", "https://a.example.com/ http://a.b.example.com/c", "https://example.com/"),
        ("https://example.com", "https://example.com/a", "http://example.com/a https://example.com.evil.org/"),
        ("//localhost:3000/", "http://localhost:3000/a", "http://localhost/a http://localhost:30001/"),
        ("//[::1]/a", "http://[::1]/a", "http://[::2]/a"),
        ("//Bücher.example/", "https://xn--bcher-kva.example/a", "https://bucher.example/"),
        ("https://example.com:443/a", "https://example.com/a", "https://example.com:444/a"),
    ],
)
def test_a_pattern_may_have_a_host(pattern, allowed, refused):
    urls = URLFilter(include=[pattern])

    assert [urls.allows(url) for url in allowed.split()] == [True] * len(allowed.split())
    assert [urls.allows(url) for url in refused.split()] == [False] * len(refused.split())


def test_hosts_have_those_below_them_and_no_others():
    urls = URLFilter(hosts=["Example.com", "127.0.0.1", "bücher.example"])

    allowed = ["https://example.com/", "http://a.b.example.com:8080/", "https://example.com./", "http://127.0.0.1/"]
    assert all(map(urls.allows, [*allowed, "https://www.xn--bcher-kva.example/"]))
    refused = [
        "https://notexample.com/",
        "https://example.com.evil.org/",
        "https://com/",
        "http://1.127.0.0.1.example/",
    ]
    assert not any(map(urls.allows, refused))
    assert not urls.allows(f"https://{'a.' * 200}example.com/")


def test_schemes_and_what_is_no_page():
    assert URLFilter(schemes=["https"]).explain("http://example.com/").rule == "schemes=('https',)"
    for url in ("mailto:a@example.com", "javascript:void(0)", "ftp://example.com/", "", "//example.com/"):
        decision = URLFilter().explain(url)
        assert (decision.is_allowed, decision.url) == (False, None)
        assert "URL" in decision.rule


@pytest.mark.parametrize(
    ("arguments", "url", "clean"),
    [
        ({"drop_params": ["utm_*", "fbclid"]}, "/?utm_source=a&id=1&fbclid=x&utm%5Fid=2", "/?id=1"),
        ({"drop_params": ["utm_*"]}, "/a?utm_source=a", "/a"),
        ({"drop_params": ["utm_*"]}, "/a?", "/a?"),
        ({"drop_params": ["a"]}, "/?b=1&&b=1&a", "/?b=1&&b=1"),
        # The first parameter too (surt 16).
        ({"session_ids": "drop"}, "/?PHPSESSID=ab12&x=1", "/?x=1"),
        ({"session_ids": "drop"}, "/cart;jsessionid=0A1B.node1?p=2", "/cart?p=2"),
        ({"session_ids": "drop"}, "/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "/a.aspx"),
        ({"session_ids": "drop"}, "/a/..;jsessionid=1/b", "/b"),
        # What is dropped is not judged.
        ({"drop_params": ["a"], "max_params": 1, "refuse_params": ["a"], "max_length": 25}, "/?a=1&a=2&b=3", "/?b=3"),
        ({}, "/ä#top", "/%C3%A4"),
    ],
)
def test_what_is_dropped_is_taken_off_the_url_to_fetch(arguments, url, clean):
    urls = URLFilter(**arguments)

    assert urls.clean(HOST + url) == urls.explain(HOST + url).url == HOST + clean


def test_the_rule_that_decides_is_named():
    urls = URLFilter(hosts=["example.com"], include=["/a", "/b"], exclude=["/b/x", "re:\\d{4}"], max_depth=2)

    def rule(path):
        return urls.explain(HOST + path).rule

    assert rule("/b") == "include='/b'"
    assert rule("/b/x/1") == "exclude='/b/x'"
    assert rule("/a/2031") == r"exclude='re:\\d{4}'"
    assert rule("/c") == "include: no pattern matches"
    assert rule("/a/b/c") == "max_depth=2"
    assert urls.explain("https://example.org/a").rule == "hosts: it is on none of them, and below none"
    assert URLFilter().explain(HOST).rule == "no rule refuses it"


PIECES = st.sampled_from(
    ["/a", "/b", "/", ".", "*", "**", "?", "a=1", "&", ";jsessionid=1", "%41", "ä", "//", "/..", "utm_x=1"]
)
TEXTS = st.lists(PIECES, max_size=7).map("".join)
PATTERNS = st.lists(
    st.one_of(TEXTS.map(lambda text: f"/x{text}"), st.sampled_from(["re:a|b", "re:(?i)B$", "re:^http:", "//*/a"])),
    max_size=3,
)


@given(PATTERNS, PATTERNS, st.sampled_from(["keep", "drop", "refuse"]), st.none() | st.integers(0, 3), TEXTS)
def test_what_is_explained_is_what_is_done_and_to_clean_twice_changes_nothing(
    include, exclude, session_ids, most, text
):
    urls = URLFilter(
        include=include,
        exclude=exclude,
        session_ids=session_ids,
        drop_params=["utm_*"],
        max_depth=most,
        max_repeats=most,
    )
    url = f"{HOST}/{text}"

    decision = urls.explain(url)
    assert decision.is_allowed is urls.allows(url)
    assert decision.url == urls.clean(url)
    if decision.url is not None:
        assert canonical_url(decision.url) == decision.url
        assert urls.explain(decision.url) == decision
    else:
        assert decision.rule.startswith(("include", "exclude", "session_ids", "max_"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"include": ["*.pdf"]}, r"include='\*\.pdf': a pattern begins with / .*'/\*\*\.pdf', or is a regular"),
        ({"exclude": ["/{a,b}/"]}, r"exclude='/\{a,b\}/': \{ is not in URLs; write it as %7B, or use re:"),
        ({"exclude": ["/a#b"]}, "# is not in URLs"),
        ({"exclude": ["re:(?=a)"]}, r"exclude='re:\(\?=a\)' is no pattern of RE2: invalid perl operator"),
        ({"exclude": ["re:((a{100}){100}){100}"]}, "is no pattern of RE2"),
        ({"exclude": [r"re:\Qa"]}, r"not \\Q$"),
        ({"exclude": ["re:\ud800"]}, "is no pattern of RE2"),
        ({"exclude": ["re:a)|(b"]}, "is no pattern of RE2"),
        ({"exclude": ["//a:b/"]}, "its host or port is not valid"),
        ({"exclude": ["/a" * 40_000]}, "over 65,536 characters together"),
        ({"exclude": [""]}, "must be a list of texts"),
        ({"exclude": 5}, "exclude=5 must be a list of texts"),
        ({"hosts": ["example.com/a"]}, "hosts: 'example.com/a' is not a host name"),
        ({"schemes": ["ftp"]}, "schemes='ftp' must be of http, https"),
        ({"drop_params": ["*id"]}, r"drop_params='\*id' must be a name, or its beginning"),
        ({"session_ids": "no"}, "session_ids='no' must be one of keep, drop, refuse"),
        ({"max_depth": True}, "max_depth=True must be a whole number"),
        ({"max_length": -1}, "max_length=-1 must be a whole number"),
    ],
)
def test_a_mistake_is_refused_where_the_filter_is_made(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        URLFilter(**arguments)


def test_it_is_a_value():
    urls = URLFilter(hosts="example.com", exclude=["/a", "/a"], max_depth=3)

    assert urls == URLFilter(hosts=("example.com",), exclude=["/a"], max_depth=3)
    assert pickle.loads(pickle.dumps(urls)) == urls
    assert len({urls, eval(repr(urls))}) == 1
    assert str(urls) == "hosts example.com, exclude /a, max_depth 3"
    assert urls != URLFilter()


def seconds(urls: URLFilter, url: str) -> float:
    began = process_time()
    urls.allows(url)
    return process_time() - began


@pytest.mark.parametrize(
    "arguments",
    [
        {"exclude": ["/**a*b**a*b**a*b*c"]},
        {"exclude": ["re:(a|aa|ab)+c$", "re:(.*)*x(.*)*y", "re:(?:a?){500}a{500}c"]},
        {"include": [f"/**{number}*x" for number in range(300)]},
        {"session_ids": "drop", "drop_params": ["x*"], "max_repeats": 3, "max_depth": 10**6},
        {"hosts": ["example.com"], "refuse_params": ["x*"]},
    ],
)
@pytest.mark.parametrize("piece", ["ab", "a/", "a&", "/(A(", ";jsessionid="])
def test_ten_times_the_url_takes_about_ten_times_as_long(arguments, piece):
    urls = URLFilter(**arguments)
    short, long = (f"https://example.com/{'ab' * 50}?{piece * count}" for count in (2_000, 20_000))
    paths = [f"https://example.com/{piece * count}" for count in (2_000, 20_000)]

    for low, high in ((short, long), paths):
        base = min(seconds(urls, low) for _ in range(3))
        # In square time it would be a hundred times.
        assert min(seconds(urls, high) for _ in range(3)) < 40 * base + 0.02

"""Row keys: URL to key and back, order, ranges, salts and split points."""

from __future__ import annotations

import bisect
import json
import re
from itertools import pairwise
from pathlib import Path

import ada_url
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nightly import examples
from webtable.errors import InvalidArgument, InvalidURL, KeyFormatError, KeyTooLong
from webtable.rowkey import (
    MAX_WEB_KEY,
    KeyRange,
    Salt,
    WebKey,
    canonical_host,
    canonical_url,
    join_url,
    merged,
    prefix_range,
    registered_domain,
    split_points,
)
from webtable.rowkey.web import has_one_owner

SALTS = [Salt.host(), Salt.host(digits=1), Salt.host(digits=4), Salt.domain(), Salt.url(), Salt.none()]
WPT = json.loads((Path(__file__).parents[1] / "data" / "wpt_http_urls.json").read_text())

# Hosts that are neighbours in every way that has gone wrong in somebody's row keys.
HOSTS = [
    "example.com",
    "www.example.com",
    "docs.example.com",
    "a.docs.example.com",
    "example-shop.com",
    "examples.com",
    "example.com.evil.org",
    "example.co",
    "example.co.uk",
    "xample.com",
    "example0.com",
    "0.example.com",
    "e.com",
    "-.example.com",
    "a-b.example.com",
    "a0.example.com",
    "_dmarc.example.com",
    "xn--bcher-kva.example.com",
    "com",
    "example.com.",
    "a..example.com",
    "s3.amazonaws.com",
    "b.s3.amazonaws.com",
    "amazonaws.com",
    "localhost",
    "127.0.0.1",
    "10.0.0.1",
    "[::1]",
    "[2001:db8::1]",
    "xn--fiqs8s",
    "1.example",
    "4.3.2.example",
]
PATHS = [
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/a-b",
    "/a.b",
    "/a0",
    "/ab",
    "//",
    "/a//b",
    "/%2Fa",
    "/a%20b",
    "/~u/",
    "/a:b",
    "/a;b",
    "/a[1]|{b}",
    "/a%5b1%5D%7C",
]

hosts = st.sampled_from(HOSTS)
paths = st.sampled_from(PATHS) | st.text("ab/-.:0%~!é ", max_size=12).map(lambda text: f"/{text}")
queries = st.sampled_from(["", "?", "?id=7", "?a/b", "?a?b", "?q=é '", "?a[]=^`\\\\", "?a%5B%5D=%5E%60%5c"])
origins = st.sampled_from(["https", "http"])
ports = st.sampled_from(["", ":80", ":443", ":8080", ":0", ":1", ":65535"])
urls = st.builds("{}://{}{}{}{}".format, origins, hosts, ports, paths, queries)
salts = st.sampled_from(SALTS)


# Characters that RFC 3986 has no place for in paths and queries: raw or escaped, they are one address.
ONE_ADDRESS = {raw: f"%{ord(raw):02X}" for raw in "[]|{}^`\\"}
# What the web platform tests expect is another spelling of the address in these, and in no other.
SPELLED_OTHERWISE = {
    "http://example.org/foo/[61:24:74]:98": "http://example.org/foo/%5B61:24:74%5D:98",
    "http://example.org/foo/[61:27]/:foo": "http://example.org/foo/%5B61:27%5D/:foo",
    "http://h/%60%7B%7D?`{}": "http://h/%60%7B%7D?%60%7B%7D",
}


def without_secrets(href: str) -> str:
    return re.sub(r"^(https?://)[^/@]*@", r"\1", href.partition("#")[0])


def spelled(href: str) -> str:
    """Return *href*, as the URL standard serialises it, with the escapes of `ONE_ADDRESS` after its host."""
    origin, path, rest = re.fullmatch(r"(https?://[^/?]*)(/?)(.*)", href, re.DOTALL).groups()
    for raw, escaped in ONE_ADDRESS.items():
        rest = rest.replace(raw, escaped).replace(escaped.lower(), escaped)
    return origin + path + rest


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://example.com/products", b"5a:com.example/products"),
        ("http://example.com:8080/products?id=7", b"5a:com.example/products?id=7#http:8080"),
        ("http://example.com/", b"5a:com.example/#http"),
        ("https://example.com:8443/", b"5a:com.example/#https:8443"),
        ("http://example.com:0/", b"5a:com.example/#http:0"),
        ("https://Example.COM", b"5a:com.example/"),
        ("https://user:secret@example.com/#top", b"5a:com.example/"),
        ("https://bücher.example/", b"f8:example.xn--bcher-kva/"),
        ("https://127.0.0.1/x", b"f5:127.0.0.1/x"),
        ("https://[::1]:8080/x", b"50:[::1]/x#https:8080"),
    ],
)
def test_a_url_has_the_documented_key(url, key):
    assert WebKey().encode(url) == key
    assert WebKey().decode(key) == canonical_url(url)


@pytest.mark.parametrize(("text", "base", "href"), WPT)
def test_urls_are_parsed_and_refused_as_the_web_platform_tests_say(text, base, href):
    def parse() -> str:
        return canonical_url(text) if base is None else join_url(base, text)

    if href is None or not href.startswith(("http:", "https:")):
        with pytest.raises(InvalidURL):
            parse()
    else:
        expected = without_secrets(href)
        assert parse() == SPELLED_OTHERWISE.get(expected, expected)


@given(st.text("abc012.-_xn/%2eE57Dd?&=~!'|{^:@+#", max_size=40).map("https://{}".format) | urls)
@example("https://a/.%2e/b")
@example("https://1.2.3/")
@example("https://a.0x7f/")
@example("https://xn--a.example/")
def test_the_short_cut_for_canonical_urls_gives_what_the_parser_gives(url):
    try:
        parsed = spelled(without_secrets(ada_url.normalize_url(url)))
    except ValueError:
        with pytest.raises(InvalidURL):
            canonical_url(url)
    else:
        assert canonical_url(url) == parsed


@given(urls, salts)
def test_a_key_leads_back_to_its_canonical_url(url, salt):
    key = WebKey(salt).encode(url)

    assert WebKey(salt).decode(key) == canonical_url(url)
    assert WebKey(salt).encode(WebKey(salt).decode(key)) == key


@given(urls, urls, salts)
def test_two_urls_share_a_key_only_if_they_are_one(one, other, salt):
    key = WebKey(salt)

    assert (key.encode(one) == key.encode(other)) == (canonical_url(one) == canonical_url(other))


@given(urls | st.text(st.characters(max_codepoint=0x17F), max_size=20).map("https://example.com/{}".format))
def test_a_canonical_url_is_its_own_canonical_form_and_needs_no_more_escapes(url):
    canonical = canonical_url(url)

    assert canonical_url(canonical) == canonical
    assert re.fullmatch(r"https?://[^/]+/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*", canonical)  # pchar of RFC 3986, and %


# The values of Chromium 156 (`a.href`) and of w3lib 2.5.0 (`safe_url_string`, what Scrapy requests).
@pytest.mark.parametrize(
    ("raw", "chromium", "scrapy"),
    [
        ("/a[b]", "/a[b]", "/a%5Bb%5D"),
        ("/a|b", "/a%7Cb", "/a%7Cb"),
        ("/a{b}", "/a%7Bb%7D", "/a%7Bb%7D"),
        ("/a^b`", "/a%5Eb%60", "/a%5Eb%60"),
        (r"/a\b", "/a/b", "/a/b"),
        ("/?a[b]", "/?a[b]", "/?a%5Bb%5D"),
        ("/?a|b", "/?a|b", "/?a%7Cb"),
        ("/?a{b}", "/?a{b}", "/?a%7Bb%7D"),
        ("/?a^b`", "/?a^b`", "/?a%5Eb%60"),
        (r"/?a\b", r"/?a\b", "/?a%5Cb"),
    ],
)
def test_an_address_is_spelled_as_scrapy_requests_it(raw, chromium, scrapy):
    site = "https://example.com"

    assert canonical_url(site + raw) == canonical_url(site + chromium) == canonical_url(site + scrapy) == site + scrapy
    assert canonical_url(f"{site}{scrapy}".replace("%5B", "%5b").replace("%7C", "%7c")) == site + scrapy


pieces_of_urls = st.sampled_from([*ONE_ADDRESS, *"aé%&=+;~' ", "%2F", "%2f", "%25"])


@given(st.lists(pieces_of_urls, max_size=10), paths, salts, st.data())
def test_raw_and_escaped_characters_are_one_address_with_one_key(pieces, path, salt, data):
    def drawn(characters):
        return "".join(
            data.draw(st.sampled_from([piece, ONE_ADDRESS[piece], ONE_ADDRESS[piece].lower()]))
            if piece in characters
            else piece
            for piece in pieces
        )

    in_query = f"https://example.com{path.partition('?')[0]}?{drawn(ONE_ADDRESS)}"
    in_path = f"https://example.com/{drawn(set(ONE_ADDRESS) - {chr(92)})}"  # a raw backslash in a path is a slash
    everything_raw = "".join(pieces)

    assert WebKey(salt).encode(in_query) == WebKey(salt).encode(f"{in_query.partition('?')[0]}?{everything_raw}")
    assert WebKey(salt).encode(in_path) == WebKey(salt).encode(f"https://example.com/{everything_raw}")


@pytest.mark.parametrize("before", ["/", "/?"])
@pytest.mark.parametrize("escaped", ["%2F", "%26", "%3F", "%23", "%25", "%2B", "%3D"])
def test_escapes_of_characters_that_mean_something_stay_apart_from_them(escaped, before):
    raw = chr(int(escaped[1:], 16))
    spellings = {f"https://example.com{before}a{text}b" for text in (raw, escaped, escaped.lower())}

    assert len({WebKey().encode(url) for url in spellings}) == len(spellings)


@given(st.binary(max_size=40) | st.text("5a:com.example/?#http8043[]%", max_size=40).map(str.encode), salts)
def test_bytes_that_are_no_key_are_refused(data, salt):
    try:
        url = WebKey(salt).decode(data)
    except KeyFormatError:
        return
    assert WebKey(salt).encode(url) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b":",
        b"5a:",
        b"5a:com.example",
        b"5b:com.example/",
        b"5A:com.example/",
        b"com.example/",
        b"5a:com.example/#https",
        b"5a:com.example/#https:443",
        b"5a:com.example/#http:80",
        b"5a:com.example/#http:080",
        b"5a:com.example/#ftp",
        b"5a:com.example/a b",
        b"5a:com.example/a/../b",
        b"5a:com.Example/",
        b"5a:com.example/\xff",
        b"5a:com.example/#http:99999",
    ],
)
def test_near_misses_of_a_key_are_refused(data):
    with pytest.raises(KeyFormatError):
        WebKey().decode(data)


def pages_of(host):
    return lambda url: ada_url.URL(url).hostname == host


def pages_below(domain):
    # An address has nothing below it.
    ip = domain[0] == "[" or domain.rpartition(".")[2].isdigit()
    return lambda url: (name := ada_url.URL(url).hostname) == domain or (not ip and name.endswith(f".{domain}"))


def pages_in(directory):
    parts = ada_url.URL(directory)
    return lambda url: (
        (there := ada_url.URL(url)).hostname == parts.hostname
        and there.pathname.startswith(parts.pathname.rpartition("/")[0] + "/")
    )


@pytest.mark.slow
@settings(max_examples=examples(by_day=50, by_night=100))
@given(st.lists(urls, max_size=60), salts, hosts, paths)
def test_ranges_hold_exactly_the_pages_that_a_sorted_list_of_urls_has(crawl, salt, host, path):
    key = WebKey(salt)
    table = sorted({key.encode(url) for url in crawl})
    directory = f"https://{host}{path}"
    assume("?" not in canonical_url(directory))

    for ranges, wanted in [
        (key.host_ranges(host), pages_of(host)),
        (key.subtree_ranges(host), pages_below(host)),
        (key.directory_ranges(directory), pages_in(canonical_url(directory))),
    ]:
        found = [
            k for r in ranges for k in table[bisect.bisect_left(table, r.start) : bisect.bisect_left(table, r.stop)]
        ]

        assert sorted(found) == [k for k in table if wanted(key.decode(k))]


@given(st.lists(urls, unique=True, max_size=30))
def test_below_one_salt_the_pages_of_a_host_of_its_subtree_and_of_a_directory_are_contiguous(crawl):
    key = WebKey(Salt.none())
    ordered = [key.decode(k) for k in sorted({key.encode(url) for url in crawl})]

    for inside in (pages_of("example.com"), pages_below("example.com"), pages_in("https://example.com/a/")):
        places = [place for place, url in enumerate(ordered) if inside(url)]

        assert places == list(range(places[0], places[-1] + 1)) if places else True


def test_the_http_and_https_forms_of_a_page_are_neighbours():
    keys = sorted(map(WebKey().encode, ["https://a.com/x", "http://a.com/x", "https://a.com/x0", "https://a.com/x!"]))

    assert [WebKey().decode(k) for k in keys][0:1] == ["https://a.com/x"]
    assert keys.index(WebKey().encode("http://a.com/x")) - keys.index(WebKey().encode("https://a.com/x")) <= 2


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_the_lowest_and_the_highest_salt_are_in_the_ranges_and_in_the_regions(digits):
    key = WebKey(Salt.url(digits))
    low = next(f"https://a.com/{n}" for n in range(10**6) if key.encode(f"https://a.com/{n}").startswith(b"0" * digits))
    low, high = (
        next(f"https://a.com/{n}" for n in range(10**6) if key.encode(f"https://a.com/{n}").startswith(digit * digits))
        for digit in (b"0", b"f")
    )
    ranges = key.host_ranges("a.com")

    assert key.encode(low) in ranges[0]
    assert key.encode(high) in ranges[-1]
    assert len(ranges) == 16**digits


@pytest.mark.parametrize("salt", SALTS)
def test_the_range_of_a_host_that_has_a_key_is_found_without_all_of_them(salt):
    key = WebKey(salt)
    made = [key.encode(f"http://{host}/{rest}") for host in ("a.com", "b.a.com", "192.0.2.1") for rest in ("", "x?y")]
    wrong = [b"", b"zz", *(row.replace(b":", b";") for row in made), *(b"Z" + row[1:] for row in made)]

    for row in made + wrong:
        held = [keys for keys in key.host_ranges("a.com") if row in keys]
        assert key.host_range_of(row, "a.com") == (held[0] if held else None)


@pytest.mark.parametrize(
    ("salt", "host_ranges", "subtree_ranges"),
    [(Salt.host(), 1, 256), (Salt.domain(), 1, 1), (Salt.url(), 256, 256), (Salt.none(), 1, 1)],
)
def test_a_salt_costs_the_documented_number_of_ranges(salt, host_ranges, subtree_ranges):
    assert len(WebKey(salt).host_ranges("example.com")) == host_ranges
    assert len(WebKey(salt).subtree_ranges("example.com")) == subtree_ranges


@pytest.mark.parametrize("domain", ["amazonaws.com", "co.uk", "com", "github.io", "kawasaki.jp"])
def test_a_domain_with_public_suffixes_below_it_has_no_single_salt(domain):
    assert not has_one_owner(domain)
    assert len(WebKey(Salt.domain()).subtree_ranges(domain)) == 256


@pytest.mark.parametrize(
    ("host", "owner"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("user.github.io", "user.github.io"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.example.com.", "example.com"),
        ("a..example.com", "example.com"),
    ],
)
def test_a_host_has_the_registered_domain_that_the_public_suffix_list_says(host, owner):
    assert registered_domain(host) == owner


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "empty"),
        ("example.com", "no scheme"),
        ("ftp://example.com/", "'ftp'"),
        ("mailto:a@b.c", "'mailto'"),
        ("http://", "host or port"),
        ("https://exa mple.com/", "host or port"),
        ("https://a:99999/", "host or port"),
        ("https://a/\ud800\udfff\ud800", "surrogate"),
        (None, "NoneType"),
        (b"https://a/", "bytes"),
    ],
)
def test_an_invalid_url_is_refused_with_the_reason(url, reason):
    with pytest.raises(InvalidURL, match=reason) as raised:
        WebKey().encode(url)

    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("url", ["ftp://user:secret@example.com/", f"https://user:secret@example.com/{'a' * 20_000}"])
def test_a_refused_url_does_not_show_its_password(url):
    with pytest.raises(InvalidURL) as raised:
        WebKey().encode(url)

    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("host", ["", "a/b", "a:80", "a b", "user@a", "https://a", "a?b", "[::1]:80", None, b"a.com"])
def test_what_is_no_host_is_refused(host):
    with pytest.raises(InvalidURL):
        WebKey().host_ranges(host)


def test_a_host_is_taken_in_any_spelling():
    assert canonical_host("Bücher.Example") == "xn--bcher-kva.example"
    assert canonical_host("::1") == canonical_host("[::1]") == "[::1]"


def test_a_key_over_the_limit_is_an_error_and_one_at_the_limit_is_not():
    prefix = len(b"5a:com.example/")
    longest = f"https://example.com/{'a' * (MAX_WEB_KEY - prefix)}"

    assert len(WebKey().encode(longest)) == MAX_WEB_KEY
    assert WebKey().decode(WebKey().encode(longest)) == longest
    with pytest.raises(KeyTooLong, match=r"host of 60,004 bytes"):
        WebKey().encode(f"https://{'x' * 60_000}.com/")
    with pytest.raises(KeyTooLong, match=r"16,390 characters\) makes a row key of 16,385 bytes"):
        WebKey().encode(longest + "a")


def test_a_directory_with_a_query_is_refused():
    with pytest.raises(InvalidArgument, match="without a query"):
        WebKey().directory_ranges("https://example.com/docs/?q")


@pytest.mark.parametrize(
    "arguments", [{"source": "path"}, {"digits": 0}, {"digits": 5}, {"source": "none", "digits": 2}]
)
def test_an_impossible_salt_is_refused(arguments):
    with pytest.raises(InvalidArgument):
        Salt(**arguments)


def test_split_points_are_those_of_the_design():
    assert split_points(16) == [b"%x0" % digit for digit in range(1, 16)]
    assert split_points(1) == []
    assert split_points(256)[0] == b"01"
    assert split_points(3, digits=1) == [b"5", b"a"]
    assert split_points(1, digits=0) == []


@pytest.mark.parametrize(("regions", "digits"), [(0, 2), (257, 2), (2, 0), (17, 1), (-1, 2)])
def test_more_regions_than_salts_are_refused(regions, digits):
    with pytest.raises(InvalidArgument, match="regions="):
        split_points(regions, digits)


@given(st.lists(st.builds(KeyRange, st.binary(max_size=2), st.binary(max_size=2))), st.binary(max_size=3))
def test_merged_ranges_hold_the_same_keys_in_order_and_apart(ranges, key):
    result = merged(ranges)

    assert any(key in r for r in result) == any(key in r for r in ranges)
    assert all(a.stop and a.stop < b.start for a, b in pairwise(result))


@given(st.binary(max_size=4), st.binary(max_size=6))
def test_a_prefix_range_holds_what_begins_with_the_prefix(prefix, key):
    assert (key in prefix_range(prefix)) == key.startswith(prefix)

"""The keys of URLs in an index are those by which pywb and other replay tools look captures up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warc_folder import write_warc

import webtable
from webtable import Page
from webtable.formats import surt
from webtable.rowkey import canonical_url

SESSION = "0123456789abcdefABCDEF0123456789"
ASP_SESSION = "abcdefghijklmnopqrstuvwx"

# The second of each is what surt 0.3.1 makes of the first, and `pywb.utils.canonicalize` of pywb 2.10.0.
KEYS = [
    ("https://example.com/", "com,example)/"),
    ("https://www.Example.com:8080/Docs/?b=2&a=1", "com,example:8080)/docs?a=1&b=2"),
    ("http://www2.example.com/", "com,example)/"),
    ("https://www.www.example.com/a", "com,example,www)/a"),
    ("https://www1.com/", "com)/"),
    ("https://example.com./dot", "com,example)/dot"),
    ("https://a..example.com/", "com,example,a)/"),
    ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
    ("https://10.8.0.1/", "1,0,8,10)/"),
    ("https://[2001:db8::1]:8080/x", "2001:db8::1:8080)/x"),
    ("https://bücher.example/ä", "example,xn--bcher-kva)/%c3%a4"),
    ("https://example.com:0/", "com,example)/"),
    ("http://example.com:443/", "com,example:443)/"),
    ("https://example.com/wiki/Women%27s_sports", "com,example)/wiki/women's_sports"),
    ("https://example.com/%7Euser/", "com,example)/~user"),
    ("https://example.com/c%2B%2B", "com,example)/c++"),
    ("https://example.com/10.1007%2Fs10", "com,example)/10.1007/s10"),
    ("https://example.com/save/100%", "com,example)/save/100%25"),
    ("https://example.com/%2541", "com,example)/a"),
    ("https://example.com/%25%34%31", "com,example)/a"),
    ("https://example.com/a%20b%23c%3Fd", "com,example)/a%20b%23c?d"),
    ("https://example.com/jos%E9", "com,example)/jos%e9"),
    ("https://example.com/日本?q=日本", "com,example)/%e6%97%a5%e6%9c%ac?q=%e6%97%a5%e6%9c%ac"),
    ("https://example.com/a[1]|{b}^`", "com,example)/a[1]|{b}^`"),
    ("https://example.com/%5Ba%5D?%7C=%5C", "com,example)/[a]?|=\\"),
    ("https://example.com/a//b///c", "com,example)/a/b/c"),
    ("https://example.com//", "com,example)/"),
    ("https://example.com/a/%252e%252e/b", "com,example)/b"),
    ("https://example.com/%252e%252e/b", "com,example)/../b"),
    ("https://example.com/a/.%2Fb", "com,example)/a/b"),
    ("https://example.com/a%2F%2Fb/", "com,example)/a/b"),
    ("https://example.com/?", "com,example)/"),
    ("https://example.com/?q=a%2Bb", "com,example)/?q=a+b"),
    ("https://example.com/?b&a=&a=1&a.b=2&A", "com,example)/?a&a=&a=1&a.b=2&b"),
    ("https://example.com/?a%26b=%3D&%41=1", "com,example)/?a&a=1&b=="),
    ("https://example.com/?&&b", "com,example)/?&&b"),
    ("https://example.com/?q=100%25&p=%2525", "com,example)/?p=%25&q=100%25"),
    (f"https://example.com/?a=1&jsessionid={SESSION}", "com,example)/?&a=1"),
    (f"https://example.com/?PHPSESSID={SESSION}&a=1", "com,example)/?a=1"),
    (f"https://example.com/?sid={SESSION}", "com,example)/"),
    (f"https://example.com/?sid={SESSION[1:]}", f"com,example)/?sid={SESSION[1:].lower()}"),
    (f"https://example.com/?xsid={SESSION}&b", "com,example)/?xb"),
    (f"https://example.com/?sid={SESSION}&sid={SESSION}", f"com,example)/?&sid={SESSION.lower()}"),
    (f"https://example.com/?ASPSESSIONIDabcdefgh={ASP_SESSION}&a", "com,example)/?a"),
    ("https://example.com/?z=1&CFID=12&CFTOKEN=34&a=2", "com,example)/?a=2&z=1"),
    ("https://example.com/?cfid=cfid=1&cftoken=2", "com,example)/?cfid="),
    ("https://example.com/?cfid=1&cftoken=cfid=2&cftoken=3", "com,example)/?cfid=1&cftoken="),
    ("https://example.com/?cfid=1&cftoken=", "com,example)/?cfid=1&cftoken="),
    (f"https://example.com/({ASP_SESSION})/page.aspx", "com,example)/page.aspx"),
    (f"https://example.com/a/(A({ASP_SESSION})S({ASP_SESSION}))/b/Page.aspx?q=1", "com,example)/a/b/page.aspx?q=1"),
    (f"https://example.com/({ASP_SESSION})/page.html", f"com,example)/({ASP_SESSION})/page.html"),
    (f"https://example.com/({ASP_SESSION})/a%3Fb.aspx", f"com,example)/({ASP_SESSION})/a?b.aspx"),
    (f"https://example.com/a;jsessionid={SESSION}", f"com,example)/a;jsessionid={SESSION.lower()}"),
]


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_the_key_of_a_url_is_that_of_surt_and_pywb(url, key):
    assert surt(url) == surt(canonical_url(url)) == key


def test_the_lines_of_an_index_are_sorted_by_these_keys(tmp_path):
    with webtable.open("memory:urlkeys", create=True, indexes=[]) as table:
        for url, _ in KEYS:
            table.put(Page(url=url, body=b"a"))
        write_warc(table, tmp_path / "out", webtable.ALL)

    lines = (tmp_path / "out" / "index.cdxj").read_text().splitlines()

    assert lines == sorted(lines)
    assert [line.partition(" ")[0] for line in lines] == sorted(key for _, key in KEYS)


@given(st.text("%2541aF/.?&= é+", max_size=30).map("https://example.com/{}".format))
def test_a_key_is_ascii_without_blanks_and_has_no_more_escapes_than_it_needs(url):
    key = surt(url)

    assert key.isascii()
    assert key.isprintable()
    assert " " not in key
    assert not {escape[:2] for escape in key.split("%")[1:]} & {f"{ord(kept):02x}" for kept in "1aF/.?&=+"}


@pytest.mark.parametrize("path", ["%" + "25" * 8_000, "%3" * 5_000 + "5" * 5_000, "?" + "cfid=" * 3_000])
def test_a_long_url_made_to_be_slow_has_a_key(path):
    assert surt(f"https://example.com/{path}").startswith("com,example)/")

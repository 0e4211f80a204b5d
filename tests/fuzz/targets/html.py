"""HTML: whatever the body, its title, links and text are found or left out, and the same ones every time."""

from __future__ import annotations

from hypothesis import strategies as st

from targets.target import Strategy, Target, mutated
from webtable._charsets import charset_name, decoded
from webtable.formats import ReadLimits
from webtable.page.extract import MAX_FACT, extract, main_content, plain_text
from webtable.rowkey import canonical_url

_LIMITS = ReadLimits(parsed=1 << 16, links=20, link_text=1_000, seconds=1.0)
_CHARSETS = [None, "utf-8", "utf-16", "latin-1", "shift_jis", "gb18030", "x-user-defined", "\ud800", "utf-7", "idna"]
_TYPES = [None, "text/html", "application/xhtml+xml", "text/plain", "application/json", "image/png"]


def check(data: bytes) -> None:
    """The first byte chooses what the response named as the charset, and the media type; the rest is the body."""
    choice, body = (data[0], data[1:]) if data else (0, b"")
    charset, media = _CHARSETS[choice % len(_CHARSETS)], _TYPES[choice // 16 % len(_TYPES)]
    found = extract(body, "https://example.com/a/b?c", charset, _LIMITS)
    assert found.title is None or 0 < len(found.title) <= MAX_FACT
    assert len(found.outlinks) <= _LIMITS.links
    urls = [link.url for link in found.outlinks]
    assert [canonical_url(url) for url in urls] == urls
    assert len(set(found.outlinks)) == len(found.outlinks)
    assert charset_name(found.charset) == found.charset
    decoded(body, found.charset)
    text = plain_text(body, charset, media, _LIMITS)
    assert text is None or isinstance(text, str)
    content = main_content(body, charset, media, _LIMITS)
    assert content is None or set(content.headings) <= set(content.text.splitlines())


_BODIES = [
    b"<!doctype html><meta charset=iso-8859-1><title>A\xe4</title><base href=//b.example/><a href=c>d<img alt=e></a>",
    b"<?xml version='1.0'?><!-- x --><html xmlns='http://www.w3.org/1999/xhtml'><body><p>x</p></body></html>",
    b"<p><b><i><u><font a=1><font a=2><p>x<p>y<table><a href=javascript:x><td><a href='#top'><a href='?q=1#x'>",
    b"<svg><title>no</title></svg><area href=/x alt=y><template><a href=z></template><noscript><a href=w>",
    b"\xff\xfe<\x00p\x00>\x00",
    b"<script>'<a href=x>'</script><style><a></style><textarea><a href=1></textarea><plaintext><a href=2>",
]


def seeds() -> list[bytes]:
    """Return pages of several kinds, with and without what the response named."""
    return [bytes([choice]) + body for body in _BODIES for choice in (0, 1, 18, 35)]


def inputs() -> Strategy:
    """Return pages that are put together of odd tags, and good ones that were edited."""
    name = st.sampled_from(
        ["a", "b", "p", "title", "base", "meta", "svg", "table", "td", "select", "template", "!--", "font"]
    )
    attribute = st.sampled_from(
        [" href=/x", " href='", ' rel="a b"', " charset=utf-16", " alt=y", " href=//[", "/", " x=&#0;"]
    )
    tag = st.builds(lambda one, attributes: f"<{one}{''.join(attributes)}>", name, st.lists(attribute, max_size=3))
    part = (
        tag | name.map("</{}>".format) | st.text(max_size=5) | st.sampled_from(["<", "&amp", "-->", "]]>", "<![CDATA["])
    )
    made = st.lists(part, max_size=20).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
    choice = st.integers(0, 255).map(lambda one: bytes([one]))
    return st.tuples(choice, made).map(b"".join) | mutated(seeds())


HTML = Target("html", check, inputs, seeds, longest=2048)

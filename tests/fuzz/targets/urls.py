"""URLs: text becomes the row key of one URL and leads back to it, or is refused by an `InvalidURL`."""

from __future__ import annotations

from zlib import crc32

from hypothesis import strategies as st

from targets.target import Strategy, Target, mutated
from webtable.errors import InvalidURL
from webtable.rowkey import MAX_WEB_KEY, Salt, WebKey, canonical_host, canonical_url, join_url
from webtable.rowkey.urls import split_url
from webtable.store.rows import MAX_ROW_KEY

_KEYS = [WebKey(Salt.host(1)), WebKey(Salt.none()), WebKey(Salt.url(1)), WebKey(Salt.domain(1))]
_BASE = "https://www.example.com/docs/intro?x=1"


def check(data: bytes) -> None:
    """The URL, and the second one where there is a zero byte in front of it, have keys that lead back to them."""
    texts = [part.decode("utf-8", "surrogateescape") for part in data.split(b"\0", 1)]
    found = {url for text in texts for url in (_canonical(text), _joined(text)) if url is not None}
    key = _KEYS[crc32(data) % len(_KEYS)]
    keys = {url: made for url in found if (made := _key(key, url)) is not None}
    assert len(set(keys.values())) == len(keys), f"two URLs share a key: {keys}"
    _check_host(texts[0])


def _canonical(text: str) -> str | None:
    try:
        url = canonical_url(text)
    except InvalidURL:
        return None
    # A blank in front is no part of a URL, but keeps it from the short cut for plain ones.
    assert canonical_url(url) == canonical_url(" " + url) == canonical_url(" " + text) == url
    assert str(split_url(url)) == url
    return url


def _joined(text: str) -> str | None:
    try:
        url = join_url(_BASE, text)
    except InvalidURL:
        return None
    assert canonical_url(url) == url
    return url


def _key(key: WebKey, url: str) -> bytes | None:
    try:
        made = key.encode(url)
    except InvalidURL:  # the one for a key that is too long, as below
        assert len(url) > MAX_WEB_KEY - 100
        return None
    assert 0 < len(made) <= MAX_WEB_KEY <= MAX_ROW_KEY
    assert key.decode(made) == key.url_of(made) == url
    assert key.salted(key.unsalted(made)) == made
    parts = split_url(url)
    directory = url.partition("?")[0]
    for ranges in (
        key.subtree_ranges(parts.host),
        key.host_ranges(parts.host),
        key.directory_ranges(directory),
    ):
        assert any(made in one for one in ranges), f"{url} is in none of {len(ranges)} ranges"
    return made


def _check_host(text: str) -> None:
    try:
        host = canonical_host(text)
    except InvalidURL:
        return
    assert canonical_host(host) == host == split_url(f"https://{host}/").host


_GOOD = [
    "https://www.example.com/a/b?x=1#top",
    "http://user:secret@example.com:8080/%7Euser/../x y",
    "https://bücher.example/straße?q=ä",
    "http://[::1]:0/",
    "http://[::ffff:1.2.3.4]/a%2f../b",
    "https://127.1/",
    "http://0x7f.1:65535/?",
    "HTTP://EXAMPLE.com.:80/%2e%2E/%zz",
    "https://xn--bcher-kva.example/a;b=c,d",
    "https://a_b.example-.co.uk//x//./y/..?#",
    "//example.com/\\x",
    "mailto:a@example.com",
]


def seeds() -> list[bytes]:
    """Return URLs of all kinds, and two of them together."""
    return [*(text.encode() for text in _GOOD), b"https://a.example/\0http://a.example/"]


def inputs() -> Strategy:
    """Return URLs that are put together of odd parts, and good ones that were edited."""
    scheme = st.sampled_from(["https://", "http://", "HTTP:", "//", "", "https:/", "ftp://", "\t https://"])
    label = st.text("abzAZ09-_xn\xfc\u0661\u3002\uff0e%.", max_size=8) | st.just("x" * 70)
    host = st.lists(label, max_size=5).map(".".join) | st.sampled_from(["[::1]", "1.2.3", "0x10", "[1:2::]", "a" * 300])
    port = st.sampled_from(["", ":", ":0", ":80", ":443", ":65535", ":65536", ":0080", ":x"])
    odd = st.sampled_from(["/", "..", ".", "%2e", "%2F", "%", "#", "?", "@", "\\", "|", " ", "\ud800", "\u2028", "é"])
    rest = st.lists(odd | st.text(max_size=3) | st.text("ab/%25.", max_size=9), max_size=8).map("".join)
    long = st.integers(15_000, 17_000).map(lambda count: "/" + "x" * count)
    url = st.tuples(scheme, st.sampled_from(["", "a@", "a:b@", "@"]), host, port, rest | long).map("".join)
    raw = url.map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.one_of(raw, st.tuples(raw, raw).map(b"\0".join), mutated(seeds()))


URLS = Target("urls", check, inputs, seeds, longest=1024)

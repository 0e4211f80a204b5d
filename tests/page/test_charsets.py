"""Encodings are those of the Encoding Standard, which browsers follow, and not Python's codecs of the same names."""

from __future__ import annotations

from uuid import uuid4

import pytest

import webtable
from webtable import Page
from webtable.rowkey import canonical_url

HTML = "text/html"


@pytest.fixture
def stored():
    """A function that stores a page, and returns it as it was stored."""

    def put(page):
        with webtable.open(f"memory:{uuid4()}", create=True) as table:
            table.put(page)
            return table.get(page.url)

    return put


# From the indexes of the Encoding Standard (https://encoding.spec.whatwg.org/#indexes), where Python's codecs differ.
DECODED = {
    "Shift_JIS, NEC row 13": ("Shift_JIS", b"\x87\x40\x87\x8a", "①㈱", "shift_jis"),
    "Shift_JIS, IBM extensions": ("shift_jis", b"\xfa\x40\xed\x40", "ⅰ纊", "shift_jis"),
    "Windows-31J": ("Windows-31J", b"\x81\x60", "～", "shift_jis"),
    "EUC-KR is UHC": ("EUC-KR", b"\x81\x41", "갂", "euc-kr"),
    "Big5 with HKSCS": ("Big5", b"\x87\x40", "䏰", "big5"),
    "Big5 with ETEN": ("big5", b"\xf9\xd6", "碁", "big5"),
    "GBK has the euro sign": ("GBK", b"\x80", "€", "gbk"),
    "GB2312 is GBK": ("GB2312", b"\x81\x40", "丂", "gbk"),
    "GBK is decoded as gb18030": ("gbk", b"\x81\x30\x81\x30", "\x80", "gbk"),
    "TIS-620 is windows-874": ("TIS-620", b"\x80\x85", "€…", "windows-874"),
    "EUC-JP, NEC row 13": ("EUC-JP", b"\xad\xa1", "①", "euc-jp"),
    "ISO-2022-JP, NEC row 13": ("ISO-2022-JP", b"\x1b$B-!\x1b(B", "①", "iso-2022-jp"),
    "ISO-8859-1 is windows-1252": ("ISO-8859-1", b"\x80\x81", "€\x81", "windows-1252"),
    "US-ASCII is windows-1252": ("us-ascii", b"\x93", "“", "windows-1252"),
    "ISO-8859-9 is windows-1254": ("iso-8859-9", b"\x80", "€", "windows-1254"),
    "ISO-8859-8-I": ("ISO-8859-8-I", b"\xe0", "א", "iso-8859-8-i"),
    "KOI8-U is KOI8-RU": ("koi8-u", b"\xae", "ў", "koi8-u"),
    "x-user-defined": ("x-user-defined", b"\x80", "\uf780", "x-user-defined"),
    "macintosh": ("macintosh", b"\xdb", "€", "macintosh"),
    "replacement": ("iso-2022-kr", b"secret", "�", "replacement"),
}


@pytest.mark.parametrize(("label", "body", "text", "name"), DECODED.values(), ids=DECODED)
def test_a_page_is_read_in_the_encoding_that_browsers_take_its_label_for(stored, label, body, text, name):
    page = stored(Page(url="https://example.com/", body=body, headers={"Content-Type": f"{HTML}; charset={label}"}))

    assert page.html == text
    assert page.charset == name


def test_a_byte_order_mark_wins_over_the_label(stored):
    body = "\ufeff<title>né</title>".encode("utf-16-le")
    page = stored(Page(url="https://example.com/", body=body, headers={"Content-Type": f"{HTML}; charset=shift_jis"}))

    assert page.html == "<title>né</title>"


@pytest.mark.parametrize("label", ["utf-16", "UTF-16BE", "utf-16le"])
def test_a_declaration_in_bytes_is_not_in_utf_16(stored, label):
    body = f"<meta charset={label}><title>né</title>".encode()
    page = stored(Page(url="https://example.com/", body=body, content_type=HTML))

    assert "né" in page.html


def test_a_declared_x_user_defined_is_windows_1252(stored):
    body = b"<meta charset=x-user-defined><title>\x80</title>"
    page = stored(Page(url="https://example.com/", body=body, content_type=HTML))

    assert "€" in page.html


# What Chromium sends for `<a href="/s?q=…">` on a page in that encoding.
QUERIES = {
    "shift_jis": ("日本", "%93%FA%96{"),
    "euc-jp": ("日本", "%C6%FC%CB%DC"),
    "iso-2022-jp": ("日本", "%1B$BF|K\\%1B(B"),
    "iso-8859-1": ("café", "caf%E9"),
    "koi8-r": ("мир", "%CD%C9%D2"),
    "gbk": ("中文", "%D6%D0%CE%C4"),
    "gb18030": ("中文", "%D6%D0%CE%C4"),
    "big5": ("中文", "%A4%A4%A4%E5"),
    "euc-kr": ("한국", "%C7%D1%B1%B9"),
    "windows-1251": ("мир", "%EC%E8%F0"),
    "utf-8": ("café", "caf%C3%A9"),
    "utf-16le": ("café", "caf%C3%A9"),
}


@pytest.mark.parametrize(("charset", "word", "query"), [(name, *pair) for name, pair in QUERIES.items()], ids=QUERIES)
def test_the_query_of_a_link_is_in_the_encoding_of_its_page_and_the_path_in_utf_8(stored, charset, word, query):
    body = f'<a href="/né?q={word}#{word}">'.encode(charset, "ignore")
    headers = {"Content-Type": f"{HTML}; charset={charset}"}
    path = "/n%C3%A9" if "é".encode(charset, "ignore") else "/n"

    (link,) = stored(Page(url="https://example.com/", body=body, headers=headers)).outlinks

    assert link.url == canonical_url(f"https://example.com{path}?q={query}")


def test_a_character_that_an_encoding_lacks_is_a_decimal_reference_in_a_query(stored):
    body = '<a href="/s?q=&#20013;x">'.encode("windows-1252")
    headers = {"Content-Type": f"{HTML}; charset=windows-1252"}

    (link,) = stored(Page(url="https://example.com/", body=body, headers=headers)).outlinks

    assert link.url == "https://example.com/s?q=%26%2320013%3Bx"


def test_the_name_of_a_codec_of_python_is_understood_where_a_page_is_made_by_hand():
    assert Page(url="https://example.com/", body=b"n\xe9", content_type=HTML, charset="latin-1").html == "né"
    assert Page(url="https://example.com/", body=b"n\xc3\xa9", content_type=HTML, charset="klingon").html == "né"

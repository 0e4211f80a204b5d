"""The encodings of the web: their names, decoding, and queries of links, by the Encoding Standard. Pure: no I/O."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from functools import lru_cache

_MAX_CHARSET = 100


def charset_name(label: str | None) -> str | None:
    """The name of the encoding that browsers take *label* for, None for a label that they do not know.

    Labels and names are those of https://encoding.spec.whatwg.org/#names-and-labels, the names in lower case.

    >>> charset_name("ISO-8859-1"), charset_name("SJIS"), charset_name("klingon")
    ('windows-1252', 'shift_jis', None)
    """
    # Half a surrogate pair is more than the library takes, and no encoding has a name outside of ASCII.
    return _charset_name(label) if label and len(label) <= _MAX_CHARSET and label.isascii() else None


@lru_cache(maxsize=256)
def _charset_name(label: str) -> str | None:
    import webencodings

    encoding = webencodings.lookup(label.strip(" \t\"'"))
    return None if encoding is None else str(encoding.name)


def decoded(body: bytes, encoding: str) -> str:
    """Return *body* in the *encoding* of that name, without a byte order mark; what it cannot read is U+FFFD.

    Python's codecs of the same names are other encodings: its shift_jis lacks the characters of NEC and IBM, its big5
    those of Hong Kong, its euc_kr most of Hangul. endec is the decoder of Firefox (encoding_rs). What browsers know no
    encoding of that name for is read as UTF-8.
    """
    if encoding == "utf-8":
        return body.decode("utf-8", "replace").removeprefix("\ufeff")
    if encoding == "windows-1252":  # the commonest; Python's own reads it at twice the speed, but for five bytes
        with suppress(UnicodeDecodeError):
            return body.decode("cp1252")
    import endec

    try:
        return str(endec.decode(body, encoding, "replace")).removeprefix("\ufeff")
    except LookupError:
        return decoded(body, charset_name(encoding) or _python_name(encoding) or "utf-8")


def _python_name(encoding: str) -> str | None:
    # A page that is made by hand may have Python's name of a codec, as in latin-1.
    try:
        return charset_name(codecs.lookup(encoding).name)
    except (LookupError, ValueError):
        return None


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# The query percent-encode set of the URL Standard; the apostrophe belongs to it in http and https URLs.
_IN_QUERY = re.compile(rb"""[^\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]""")


def with_query_in(encoding: str, reference: str) -> str:
    """Return *reference*, a link of a document in *encoding*, with its query in that encoding, percent-encoded.

    Browsers do so (URL Standard, "percent-encode after encoding"): what a legacy encoding has no character for is sent
    as a decimal reference. Path and fragment are in UTF-8, and so are queries in documents in UTF-8 and UTF-16.

    >>> with_query_in("shift_jis", "/日本?q=日本")
    '/日本?q=%93%FA%96{'
    """
    path, mark, rest = reference.partition("?")
    if "#" in path or rest.isascii() or encoding in {"utf-8", "utf-16le", "utf-16be", "replacement"}:
        return reference
    query, jump, fragment = rest.partition("#")
    return path + mark + _NOT_ASCII.sub(lambda match: _escaped(match[0], encoding), query) + jump + fragment


def _escaped(text: str, encoding: str) -> str:
    import endec

    try:
        data = endec.encode(text, encoding)
    except UnicodeError:
        if len(text) > 1:
            return "".join(_escaped(character, encoding) for character in text)
        return f"%26%23{ord(text)}%3B"
    return _IN_QUERY.sub(lambda match: b"%%%02X" % match[0][0], data).decode("ascii")

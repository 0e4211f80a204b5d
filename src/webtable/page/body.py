"""The body of a page: which encoding it is in, as a browser finds out, and its digest.

A digest names its algorithm, as in `blake3:af13…`: that is the one of a body that is put. Others come with captures
whose body is not here; one that names none is taken for SHA-256.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import re
from contextlib import suppress
from hashlib import sha256

from webtable._charsets import charset_name, decoded

# A declaration counts only near the beginning, and more than this need not be looked at to tell UTF-8 from others.
_PROBE = 1 << 20
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_DECLARED_CHARSET = re.compile(
    rb"""<(?:meta\s[^>]*?\bcharset|\?xml\s[^>]*?\bencoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)""", re.IGNORECASE
)
_XHTML = "application/xhtml+xml"
_HTML_TYPES = frozenset({"text/html", _XHTML})
# What the MIME Sniffing standard takes for HTML (section 7.1), after white space, and the declaration of XHTML. A
# comment is matched as a whole, once: tried in all ways in which comments can be parted, 40 of them would take days.
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style"
    rb"|title|b|body|br|p)[\t\n\x0c\r />]|\?xml[^>]*\?>\s*(?:(?><!--.*?-->)\s*+)*+<(?:!doctype html|html)\b)",
    re.IGNORECASE | re.DOTALL,
)
_TEXT_TYPE = re.compile(r"text/|application/(?:json|xml|(?:x-)?javascript|ecmascript)$|[^/]+/[^/]+\+(?:json|xml)$")
# The "binary data bytes" of the MIME Sniffing standard (section 3).
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def encoding_of(body: bytes, announced: str | None) -> str:
    """The encoding of *body* as a browser picks it (HTML standard, "determining the character encoding").

    *announced* is what the response named. The encoding has its name in the Encoding Standard, in lower case.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return encoding
    if name := charset_name(announced):
        return name
    declared = _DECLARED_CHARSET.search(_COMMENT.sub(b"", body[:4_096]))
    if declared and (name := charset_name(declared[1].decode("ascii"))):
        # A declaration that can be read byte by byte is not in UTF-16, whatever it says; the other one is for files of
        # programs that write bytes as characters (HTML standard, "prescan a byte stream").
        return {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(name, name)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body[:_PROBE], final=len(body) <= _PROBE)
    except UnicodeDecodeError:
        from resiliparse.parse.encoding import detect_encoding

        return charset_name(detect_encoding(body[:_PROBE])) or "utf-8"
    return "utf-8"


def as_utf8(body: bytes, encoding: str) -> bytes:
    """Return *body* in UTF-8, read as by `decoded`; of a body in UTF-8 nothing is copied."""
    if encoding == "utf-8" and not body.startswith(codecs.BOM_UTF8):
        try:
            _ = body.isascii() or body.decode()
        except UnicodeDecodeError:
            pass
        else:
            return body
    return decoded(body, encoding).encode("utf-8", "replace")


def _essence(content_type: str | None) -> str:
    # A type without its parameters, in lower case; the name is that of the MIME Sniffing standard (section 4.2).
    return (content_type or "").partition(";")[0].strip().lower()


def is_html(content_type: str | None) -> bool:
    """Whether the media type *content_type*, with or without parameters, is HTML or XHTML."""
    return _essence(content_type) in _HTML_TYPES


def is_xhtml(content_type: str | None) -> bool:
    """Whether the media type *content_type*, with or without parameters, is that of XHTML."""
    return _essence(content_type) == _XHTML


def looks_like_html(body: bytes) -> bool:
    """Whether *body*, which came without a type, begins with what browsers take for HTML."""
    return _HTML_START.match(body[:2_048] + b" ") is not None


def is_text(body: bytes, charset: str | None, content_type: str | None) -> bool:
    """Whether a *body* with these headers is text that people read: by its type, else by the bytes it begins with."""
    if is_html(content_type) or (not content_type and looks_like_html(body)):
        return True
    if content_type and not _TEXT_TYPE.match(_essence(content_type)):
        return False
    start = body[:2_048]
    return not _BINARY.search(start) or encoding_of(start, charset).startswith("utf-16")


def digest_of(body: bytes) -> str:
    """Return the digest of *body*.

    >>> digest_of(b"")
    'blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
    """
    # Here, for it takes some milliseconds, and who reads a page does without.
    from blake3 import blake3

    return f"blake3:{blake3(body).hexdigest()}"


def algorithm_of(digest: str) -> str:
    """Return the name of the algorithm of *digest*, which may be one that is not known here.

    >>> algorithm_of("blake3:af1349"), algorithm_of("e3b0c4"), algorithm_of("sha1:ABCDEF")
    ('blake3', 'sha256', 'sha1')
    """
    return digest.rpartition(":")[0] or "sha256"


_DIGEST_SIZES = {"md5": 16, "sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}


def payload_digest(text: str | None) -> str | None:
    """Return the digest *text* of a WARC record in one spelling, `sha1:` and base32; None if it is not understood.

    It may be in base16, base32 or base64, and its name in any case.

    >>> payload_digest("SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    algorithm, _, value = (text or "").strip().partition(":")
    algorithm, value = algorithm.lower().replace("-", ""), value.strip().rstrip("=")
    size = _DIGEST_SIZES.get(algorithm)
    if size is None:
        return None
    raw = None
    with suppress(ValueError):
        if len(value) == 2 * size:
            raw = bytes.fromhex(value)
        elif len(value) == -(-size * 8 // 5):
            raw = base64.b32decode(value.upper() + "=" * (-len(value) % 8))
        elif len(value) == -(-size * 8 // 6):
            raw = base64.b64decode(value.replace("-", "+").replace("_", "/") + "=" * (-len(value) % 4), validate=True)
    return None if raw is None or len(raw) != size else _spelled(algorithm, raw)


def payload_digest_of(body: bytes, algorithm: str) -> str:
    """Return the digest of *body* by *algorithm*, one of hashlib, in the spelling of `payload_digest`."""
    return _spelled(algorithm, hashlib.new(algorithm, body, usedforsecurity=False).digest())


def _spelled(algorithm: str, raw: bytes) -> str:
    return f"{algorithm}:{base64.b32encode(raw).decode().rstrip('=')}"


def digest_like(digest: str, body: bytes) -> str | None:
    """Return the digest of *body* by the algorithm of *digest*, None where that is not known here."""
    algorithm = algorithm_of(digest)
    if algorithm == "blake3":
        return digest_of(body)
    named = "sha256:" if digest.startswith("sha256:") else ""
    return named + sha256(body).hexdigest() if algorithm == "sha256" else None

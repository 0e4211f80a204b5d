"""XHTML as HTML: what an HTML parser must be given to make the tree that a browser makes of XML. Pure: no I/O."""

from __future__ import annotations

import re
from xml.parsers import expat

_ROOT = 64 * 1024
"""Within so many bytes the root element begins, with its attributes."""
# Elements that have no end tag in HTML. Any other element may be closed by itself in XML, and would stay open in HTML.
_VOID = b"area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr"
_ATTRIBUTES = rb"""(?:\s+[^\s"'<>/=]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*+\s*+"""
# Comments and instructions are left alone. The pieces are of different kinds by their first bytes: time is linear.
_PIECES = re.compile(
    rb"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(?P<text>.*?)\]\]>"
    rb"|<(?!(?:" + _VOID + rb")[\s/>])(?P<name>[A-Za-z_][^\s<>/\"'=]*)(?P<attributes>" + _ATTRIBUTES + rb")/>",
    re.DOTALL,
)
_LANGUAGE = re.compile(rb"""(<(?:\w+:)?html\b)(?=[^<>]*?\sxml:lang\s*=\s*("[^"<]*"|'[^'<]*'))""")


def html_of_xhtml(markup: bytes) -> bytes | None:
    """Return the XHTML *markup*, in UTF-8, as HTML of the same tree; None if it is no well-formed XML.

    Elements that are closed by themselves get an end tag, sections of CDATA become text, and `xml:lang` of the root is
    its language. Entities of a document type are not looked up, and none is expanded.

    >>> html_of_xhtml(b"<html xml:lang='de'><script src='a.js'/><p>x</p></html>")
    b"<html lang='de' xml:lang='de'><script src='a.js'></script><p>x</p></html>"
    """
    if not _is_well_formed(markup):
        return None
    # It counts before `lang`; of two attributes of a name HTML takes the first.
    head = _LANGUAGE.sub(rb"\1 lang=\2", markup[:_ROOT], count=1)
    return _PIECES.sub(_piece, head + markup[_ROOT:])


def _piece(match: re.Match[bytes]) -> bytes:
    if (text := match["text"]) is not None:
        return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
    if (name := match["name"]) is not None:
        return b"<%s%s></%s>" % (name, match["attributes"].rstrip(), name)
    return match[0]


def _is_well_formed(markup: bytes) -> bool:
    parser = expat.ParserCreate("utf-8")
    # Browsers know the document types of XHTML, and so names such as &nbsp;. Entities that the document declares itself
    # are the way to make gigabytes of a few bytes: a document with any is no well-formed XHTML here.
    parser.UseForeignDTD(True)
    parser.EntityDeclHandler = _refused
    try:
        parser.Parse(markup, True)
    except (expat.ExpatError, _Refused):
        return False
    return True


class _Refused(Exception):
    pass


def _refused(*_: object) -> None:
    raise _Refused

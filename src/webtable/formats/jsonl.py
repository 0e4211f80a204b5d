"""Pages as JSON Lines: an object a line, with the fields of `Page` by their names.

The body is `html` where it is UTF-8 and `html_base64` where it is not, so every body comes back byte by byte. Links are
`[url, anchor, rel]`, times ISO 8601. A field that has its default is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from webtable.errors import InvalidURL, UnknownColumn
from webtable.formats.base import Damaged, DamagedRecord, LeftOut, ReadReport, check_type
from webtable.formats.http import media_type
from webtable.page import Page
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from webtable.formats.stream import ByteStream

MAX_LINE = 1 << 29
"""Bytes of a line above which the file counts as damaged."""

_FIELDS = Page.__struct_fields__


class _Line(Page, frozen=True, kw_only=True, rename={"html": "html_base64", "text": "html"}):
    """A page as it stands in a line: its body is text, or bytes under another name."""

    html: bytes | None = None
    text: str | None = None


_KNOWN = frozenset(_Line.__struct_encode_fields__)
_DEFAULTS: Mapping[str, Any] = {
    field.name: {} if field.name == "headers" else field.default for field in msgspec.structs.fields(Page)
}
_TIMES = ("fetched_at", "last_modified", "changed_at", "content_at")
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Line)
_names_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def page_to_json(page: Page, fields: Iterable[str] | None = None) -> bytes:
    """Return *page* as one line of JSON, without the line end.

    With *fields* it has exactly those, null where the page has none; else all that differ from their default.
    Raises `UnknownColumn` for a field that a page does not have.
    """
    if fields is None:
        values = {name: value for name in _FIELDS if (value := getattr(page, name)) != _DEFAULTS[name]}
    else:
        values = {name: getattr(page, name) for name in _checked(fields)}
    if values.get("html") is not None:
        values = {key: value for name in values for key, value in _body_or(name, values[name])}
    return _encoder.encode(values)


def write_pages(pages: Iterable[Page], out: BinaryIO, fields: Iterable[str] | None = None) -> int:
    """Write *pages* to *out*, a line each as from `page_to_json`, and return how many there were."""
    chosen = None if fields is None else _checked(fields)
    count = 0
    for page in pages:
        out.write(page_to_json(page, chosen) + b"\n")
        count += 1
    return count


def read_jsonl(stream: ByteStream, source: str, report: ReadReport, types: Collection[str] | None) -> Iterator[Page]:
    """Yield the pages of a JSON Lines file; a line that is no page is reported with its number and passed over."""
    number = 0
    while line := stream.read_to(b"\n", MAX_LINE):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        page = None
        try:
            page = _page(line, report)
            if page.content_type is not None:
                check_type(types, media_type(page.content_type)[0] or page.content_type)
        except LeftOut as what:
            page = None
            report.left_out[str(what)] += 1
        except Damaged as reason:
            report.add_damaged(DamagedRecord(source, number, None, str(reason), "line"))
        report.records += 1
        stream.mark = stream.offset
        if page is not None:
            report.pages += 1
            yield page


def _checked(fields: Iterable[str]) -> tuple[str, ...]:
    names = tuple(fields)
    for name in names:
        if name not in _FIELDS:
            raise UnknownColumn(f"a page has no field {name!r}; it has {', '.join(_FIELDS)}")
    return names


def _body_or(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if name != "html":
        yield name, value
        return
    try:
        yield "html", value.decode()
    except UnicodeDecodeError:
        yield "html_base64", value


def _page(line: bytes, report: ReadReport) -> Page:
    try:
        read = _decoder.decode(line)
        report.unknown_fields.update(_names_decoder.decode(line).keys() - _KNOWN)
        values = {name: getattr(read, name) for name in _FIELDS}
        if read.text is not None:
            values["html"] = read.text.encode()
        canonical_url(read.url)
    except (msgspec.MsgspecError, InvalidURL, UnicodeError) as exc:
        raise Damaged(str(exc)) from exc
    for name in _TIMES:
        if values[name] is not None and values[name].tzinfo is None:
            raise Damaged(f"its {name} {values[name].isoformat()} names no time zone")
    return Page(**values)

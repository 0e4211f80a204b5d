"""Pages from the rows of other programs: Screaming Frog, Sitebulb, advertools, and answers of webtable in CSV and TSV.

A row has what its crawler found out about a page, and not the body. It is known by the names of its columns.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from webtable.formats.read_report import Damaged, DamagedFile, OverLimit, check_announced, check_fields
from webtable.page.facts import with_facts
from webtable.page.headers import REDIRECTS, address_of, http_date, main_and_other, protocol_of, redirect_target
from webtable.page.json_lines import TYPES, time_in_row, types_of
from webtable.page.page import BLANK, Page, with_header_fields
from webtable.page.parts import Link
from webtable.page.robots import rules_by_bot, text_by_bot, text_for_all
from webtable.repository.answers.arrow_pages import page_of
from webtable.repository.answers.columns import PAGES
from webtable.repository.failed_fetches import FailedFetch, checked
from webtable.repository.page_storage.state import GIVEN
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from webtable._limits import ReadLimits
    from webtable.formats.read_report import DamagedRecord, ReadReport
    from webtable.formats.warc import WARCOptions
    from webtable.page.parts import SharedFact

_LANDMARKS = ("nav", "header", "footer")
"""The elements whose links advertools has apart as well; first the one that is likeliest within another."""
_LINK_COLUMNS = ("links_url", "links_text", "links_nofollow")
"""The columns of links, of advertools; those of a landmark begin with its name."""
_COLUMNS = {
    "url": "address",
    "fetched_at": "crawl_timestamp crawl_time",
    "status": "status_code http_status_code http_status",
    "error": "errors",
    "title": "title_1",
    "description": "meta_description meta_description_1 meta_desc",
    "h1": "h1_1",
    "robots": "meta_robots meta_robots_1 meta_robots_2 robots_by_bot",
    "x_robots_tag": "x_robots_tag_1 x_robots_tag_2",
    "canonical": "canonical_url canonical_1 canonical_link_element canonical_link_element_1 canonical_link_element_2 "
    "http_canonical other_canonical",
    "redirect_to": "redirect_url redirect_uri",
    "content_type": "content",
    "size": "size_bytes",
    "depth": "crawl_depth",
    "seconds": "response_time download_latency",
    "duration": "response_time_ms download_time_ms",
    "protocol": "http_version",
    "server_address": "ip_address",
    "referrer": "first_parent_url",
    **dict.fromkeys(_LINK_COLUMNS, ""),
    **{f"{landmark}_{name}": "" for landmark in _LANDMARKS for name in _LINK_COLUMNS},
    "redirect_urls": "",
    "redirect_reasons": "",
}
"""The names that columns have for each field, beside its own, in lower case and without signs.

They are those of Screaming Frog's user guide (Internal), of advertools' `crawl` and of Sitebulb's URL lists."""
_FIELDS = {name: name for name in PAGES.names if name in GIVEN and name != "body"}
_FIELDS |= {name: field for field, names in _COLUMNS.items() for name in (field, *names.split())}
_HEADER = "resp_headers_"
_COMPUTED = frozenset(PAGES.names).difference(GIVEN)
_SIGNS = re.compile(r"[^a-z0-9]+")
_BETWEEN = "@@"  # of advertools, between several values
_IN_WORDS = frozenset({"status", "http status"})
"""Columns that say the status in words, where another one has its number."""
_FIRST_OF_SEVERAL = frozenset({"title", "description", "h1", "charset"})
_MOST_OF_COLUMN, _MOST_OF_ERROR, _MOST_OF_DATE, _STATUS_DIGITS = 100, 1_000, 100, 3
_NO_DATE = "--date-fallback TIME (in Python date_fallback=) stores such pages with another"
_REASONS = {"robots": "robots", "dns": "dns", "refused": "refused", "time": "timeout", "ssl": "tls", "tls": "tls"}


def _field_of(column: str) -> str | None:
    """Return the field that a *column* has; "" for one that is computed when a page is stored, None if it has none."""
    return _known_field(column) if len(column) <= _MOST_OF_COLUMN else None


@lru_cache(maxsize=4_096)
def _known_field(column: str) -> str | None:
    if column.startswith(_HEADER):
        return column if len(column) > len(_HEADER) else None
    if column in _COMPUTED:
        return ""
    return _FIELDS.get(_SIGNS.sub("_", column.lower()).strip("_"))


def is_page_row(columns: Iterable[str]) -> bool:
    """Whether one of *columns* has the URLs of pages."""
    return any(_field_of(column) == "url" for column in columns)


def fields_of(columns: Iterable[str], report: ReadReport) -> dict[str, str]:
    """Return the field for each of the *columns* that have one, and count the others as unknown.

    >>> from webtable.formats.read_report import ReadReport
    >>> fields_of(["Address", "Status Code", "Status", "H1-1"], ReadReport())
    {'Address': 'url', 'Status Code': 'status', 'Status': 'error', 'H1-1': 'h1'}
    """
    fields = {column: _field_of(column) for column in columns}
    report.add_unknown_fields(column for column, field in fields.items() if field is None)
    if list(fields.values()).count("status") > 1:
        fields |= {column: "error" for column in fields if column.lower() in _IN_WORDS}
    return {column: field for column, field in fields.items() if field}


def fields_of_table(columns: Iterable[str], report: ReadReport, options: WARCOptions) -> dict[str, str]:
    """Return what `fields_of` does; raises `DamagedFile` for the *columns* of a table that has no pages or no dates."""
    fields = fields_of(columns, report)
    if "url" not in fields.values():
        raise DamagedFile(
            "a table without a column for the URLs of pages (url, URL or Address); take an export with a row for each "
            "page, as Screaming Frog's Internal: All. Its lists of links (All Inlinks) have no pages",
            0,
        )
    if "fetched_at" not in fields.values() and options.date_fallback is None:
        columns = "Crawl Timestamp, crawl_time or fetched_at"
        raise DamagedFile(f"a table without the dates of its pages ({columns}): {_NO_DATE}", 0)
    return fields


def counted(
    read: Callable[[], list[Page | FailedFetch]],
    damaged: Callable[[str], DamagedRecord],
    report: ReadReport,
    options: WARCOptions,
    restart: Callable[[], int],
) -> Iterator[Page | FailedFetch]:
    """Yield the captures of one record, which *read* returns, and count them; *restart* says where reading goes on."""
    captures: list[Page | FailedFetch] = []
    for capture in report.attempt(read, damaged) or ():
        if isinstance(capture, FailedFetch):
            report.failed_fetches += 1
            captures += [capture] if options.with_failed else []
        elif report.attempt(partial(check_announced, options.types, capture), damaged):
            captures.append(capture)
    # The record is passed with its last capture: reading that goes on before that has the others again.
    for capture in captures[:-1]:
        report.pages += isinstance(capture, Page)
        yield capture
    report.add_record(restart())
    for capture in captures[-1:]:
        report.pages += isinstance(capture, Page)
        yield capture


def captures_of_row(
    row: Mapping[str, Any], fields: Mapping[str, str], report: ReadReport, options: WARCOptions
) -> list[Page | FailedFetch]:
    """Return the page of a *row*, after the redirects that led to it, or the fetch that failed; raises `Damaged`.

    *row* has texts, numbers and None by the names of columns, *fields* the field of each.
    """
    values: dict[str, list[Any]] = {}
    headers: dict[str, Any] = {}
    for column, field in fields.items():
        value = row.get(column)
        if value is None or value == "":
            continue
        if field.startswith(_HEADER):
            headers[field.removeprefix(_HEADER)] = value
        else:
            values.setdefault(field, []).append(value)
    try:
        return _captures(values, headers, report, options)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as exc:
        raise Damaged(str(exc)) from exc


def _captures(
    values: dict[str, list[Any]], headers: dict[str, Any], report: ReadReport, options: WARCOptions
) -> list[Page | FailedFetch]:
    limits = options.limits
    links = _links(values, limits)
    check_fields({name: "".join(map(str, several)) for name, several in values.items()}, limits)
    hops, reasons = _parts(values, "redirect_urls"), _parts(values, "redirect_reasons")
    robots, canonicals, x_robots = (_parts(values, name) for name in ("robots", "canonical", "x_robots_tag"))
    row = {name: _converted(name, several[0]) for name, several in values.items()}
    error, seconds, url = str(row.pop("error", "")), row.pop("seconds", None), str(row.get("url", ""))
    canonical_url(url)
    row["fetched_at"] = _date(row.get("fetched_at"), report, options)
    if not row.get("status", not error):
        reason = next((reason for word, reason in _REASONS.items() if word in error.lower()), "other")
        return [checked(FailedFetch(url, reason, row["fetched_at"], detail=error[:_MOST_OF_ERROR] or None))]
    if x_robots:
        headers["X-Robots-Tag"] = ", ".join(x_robots)
    row["headers"] = {**row.get("headers", {}), **headers}
    check_fields(row, limits)
    if row.get("status", 200) not in REDIRECTS:
        row.pop("redirect_to", None)  # a script or the markup leads there
    if seconds is not None:
        row["duration"] = round(float(seconds) * 1_000)
    if links:
        report.shortened["links"] += len(links) > limits.links
        row["outlinks"] = links[: limits.links]
    rules = rules_by_bot(robots)
    canonical, other = main_and_other(redirect_target(url, reference) for reference in canonicals)
    facts: dict[SharedFact, str | None] = {
        "canonical": canonical,
        "robots": text_for_all(rules),
        "other_canonical": other,
        "robots_by_bot": text_by_bot(rules),
    }
    page = with_header_fields(page_of(row))
    page = with_facts(page, {name: value for name, value in facts.items() if value})
    return [*_redirects(hops, reasons, page), page]


def _converted(field: str, value: Any) -> Any:
    """Return *value* as a page has this *field*, if it is text in its place."""
    if field == "last_modified" and isinstance(value, str):
        return http_date(value) or time_in_row(value)
    if field == "protocol":
        return protocol_of(f"http/{value}" if str(value)[:1].isdecimal() else str(value))
    if field == "server_address":
        return address_of(str(value))
    kind = types_of(TYPES[field])[0] if field in TYPES else object
    if kind is str:
        return str(value).partition(_BETWEEN)[0] if field in _FIRST_OF_SEVERAL else str(value)
    if not isinstance(value, str):
        return value
    if kind in (int, float, bool):
        return msgspec.convert(float(value) if kind is int else value, kind, strict=False)
    return msgspec.json.decode(value) if field in ("headers", "outlinks") else value


def _date(value: Any, report: ReadReport, options: WARCOptions) -> datetime:
    try:
        return time_in_row(value)
    except (ValueError, TypeError, OverflowError) as exc:
        if options.date_fallback is None:
            what = "it has no date" if value is None else f"its date {str(value)[:_MOST_OF_DATE]!r} cannot be read"
            raise Damaged(f"{what}: {_NO_DATE}") from exc
    report.redated += 1
    return options.date_fallback


def _parts(values: dict[str, list[Any]], field: str) -> list[str]:
    """Remove a *field* from *values*, and return its values."""
    return [part for value in values.pop(field, ()) for part in str(value).split(_BETWEEN)]


def _links(values: dict[str, list[Any]], limits: ReadLimits) -> list[Any]:
    """Remove the links from *values* and return them, with anchors, `rel` and positions where these are clear."""
    own = values.pop("outlinks", [])
    known = chain(_LINK_COLUMNS, (f"{landmark}_{name}" for landmark in _LANDMARKS for name in _LINK_COLUMNS))
    if sum(len(str(value)) for value in chain(own, *(values.get(name, ()) for name in known))) > limits.link_text:
        raise OverLimit("link_text", f"its links have over {limits.link_text:,} characters")
    urls, anchors, nofollow = (_parts(values, name) for name in _LINK_COLUMNS)
    # An anchor may have in it what stands between anchors: then nobody knows to which link any of them belongs.
    rels = ["nofollow" if text == "True" else "" for text in nofollow]
    anchors, rels = (texts if len(texts) == len(urls) else [""] * len(urls) for texts in (anchors, rels))
    # Their anchors and `rel` are those of all links.
    counts, within = Counter(urls), {}
    for landmark in _LANDMARKS:
        in_landmark, *_ = [_parts(values, f"{landmark}_{name}") for name in _LINK_COLUMNS]
        within[landmark] = Counter(in_landmark)
    links = [
        Link(url, " ".join(anchor.split()), rel, position=_position(url, counts[url], within))
        for url, anchor, rel in zip(urls, anchors, rels, strict=True)
    ]
    return links or [link for value in own for link in _converted("outlinks", value)]


def _position(url: str, count: int, within: Mapping[str, Counter[str]]) -> str:
    """Return the landmark that all *count* links to *url* are in; "" if none or only some of them are in one."""
    landmark = next((name for name, urls in within.items() if urls[url]), "")
    return landmark if landmark and within[landmark][url] == count else ""


def _redirects(urls: list[str], reasons: list[str], page: Page) -> Iterator[Page]:
    """Yield the pages at *urls*, each of which leads to the next one and the last to *page*, by their *reasons*."""
    for url, target, reason in zip(urls, [*urls[1:], page.url], reasons, strict=False):
        canonical_url(url)
        status = int(reason) if reason.isdecimal() and len(reason) == _STATUS_DIGITS else 0
        if status in REDIRECTS:
            yield replace(BLANK, url=url, fetched_at=page.fetched_at, status=status, redirect_to=target)
        elif reason == "meta refresh":
            link = Link(target, kind="refresh")
            yield replace(BLANK, url=url, fetched_at=page.fetched_at, content_type="text/html", outlinks=(link,))

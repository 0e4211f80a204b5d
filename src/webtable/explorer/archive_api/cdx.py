"""The CDX server: a line for each stored version of each page, by the parameters of pywb and of the Wayback Machine.

Both use the same parameters, and differ in what they mean. `/cdx` answers as pywb does: `output=json` is an object in
each line, an expression of a filter matches the beginning, no line at all is 404, and a page after the last one 400.
`/cdx/search/cdx` answers as the Wayback Machine does: `output=json` is one array of arrays, of which the first has the
names; an expression matches all of a field, and a page after the last one is empty. Clients that know both, such as
cdx-toolkit, go by the form of the answer.

The lines of an exact question come by time. Those of another one come in the order of the table, by reversed host,
path, query and scheme, those of a page by time; they are sent while the table is read.
"""

from __future__ import annotations

import json
import re
import string
from base64 import urlsafe_b64decode, urlsafe_b64encode
from calendar import monthrange
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import dropwhile, groupby, islice
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import quote, unquote

import re2
from starlette.convertors import PathConvertor, register_url_convertor

from webtable import HostOnly, Page
from webtable._clock import milliseconds
from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer.archive_api.server import BlockStart, pages_of
from webtable.explorer.http import LateResponse, NoCapture
from webtable.formats import surt
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.explorer.archive_api.server import ArchiveServer


# --- URLs and times in requests, also those of Memento ----------------------------------------------------------------


_SCHEME: Final = re.compile(r"(https?):/+", re.IGNORECASE)
_ANY_SCHEME: Final = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_QUOTED: Final = re.compile(r"https?%3a", re.IGNORECASE)
_LATEST: Final = "29991231235959"


class Rest(PathConvertor):
    """The rest of a path, also with encoded line ends, which `path` of Starlette does not match."""

    regex = r"[\s\S]*"


register_url_convertor("rest", Rest())


def original_of(request: Request, parts: int) -> str:
    """Return the URL that follows the first *parts* parts of the path, with its query and its encoded characters."""
    parts += 1 + 2 * bool(request.scope.get("root_path"))  # that is /-/TOKEN
    path = request.scope["raw_path"].decode("utf-8", "replace").split("/", parts)[-1]
    query = request.scope["query_string"].decode("utf-8", "replace")
    url = (unquote(path) if _QUOTED.match(path) else path) + (f"?{query}" if query else "")
    return _SCHEME.sub(r"\1://", url, count=1) if _SCHEME.match(url) else url  # some clients make one slash of two


def forms_of(url: str) -> tuple[str, ...]:
    """Return the canonical URLs that have the same key in an index as *url*, which may lack its scheme, itself first.

    They have the other scheme, and a `www.` more or less. Raises `InvalidURL`.

    >>> forms_of("example.com/a")[:2]
    ('https://example.com/a', 'https://www.example.com/a')
    """
    scheme, _, rest = canonical_url(url if _ANY_SCHEME.match(url) else f"https://{url}").partition("://")
    other = "http" if scheme == "https" else "https"
    return tuple(f"{either}://{host}" for either in (scheme, other) for host in with_www(rest))


def with_www(host: str) -> tuple[str, ...]:
    """Return *host*, what may follow it included, and the same with a `www.` more or less; an IP address is alone."""
    name = re.split(r"[/:]", host, maxsplit=1)[0]
    if host.startswith("[") or name.rpartition(".")[2].isdigit():
        return (host,)
    return (host, host.removeprefix("www.") if host.startswith("www.") else f"www.{host}")


def timestamp_of(moment: datetime) -> str:
    """Return *moment* in 14 digits, in UTC."""
    return f"{moment.astimezone(UTC):%Y%m%d%H%M%S}".rjust(14, "0")


def digits_of(name: str, text: str) -> str:
    """Return *text*, which is up to 14 digits; raises `InvalidArgument`, which quotes *name*."""
    if not re.fullmatch(r"\d{1,14}", text, re.ASCII):
        raise InvalidArgument(f"{name}={text[:100]!r} must be a time in up to 14 digits, as in 2026 or 20261120103000")
    return text


def moment_of(name: str, text: str) -> datetime:
    """Return the end of the year, month, day or second that *text* names in up to 14 digits, as pywb takes it.

    Numbers that no month, day or hour has become the nearest that one has. Raises `InvalidArgument`, which quotes
    *name*.

    >>> moment_of("closest", "202602")
    datetime.datetime(2026, 2, 28, 23, 59, 59, tzinfo=datetime.timezone.utc)
    """
    whole = digits_of(name, text) + _LATEST[len(text) :]
    year, month = max(int(whole[:4]), 1), min(max(int(whole[4:6]), 1), 12)
    last = monthrange(year, month)[1]
    day = last if len(text) < len("YYYYMMDD") else min(max(int(whole[6:8]), 1), last)
    hour, minute, second = (min(int(whole[start : start + 2]), most) for start, most in ((8, 23), (10, 59), (12, 59)))
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


# --- The parameters ---------------------------------------------------------------------------------------------------


# The fields of a line, by the names that pywb has for them.
FIELDS: Final[dict[str, Callable[[Page], str]]] = {
    "urlkey": lambda page: surt(page.url),
    "timestamp": lambda page: timestamp_of(page.fetched_at),
    "url": lambda page: page.url,
    "mime": lambda page: page.content_type or "unk",
    "status": lambda page: str(page.status),
    "digest": lambda page: page.digest or "-",
    "length": lambda page: "-" if page.size is None else str(page.size),
}
# The fields that have another name at the Wayback Machine.
WAYBACK: Final = {"original": "url", "mimetype": "mime", "statuscode": "status"}
# What a request may have.
PARAMETERS: Final = (
    "url", "matchType", "from", "to", "filter", "output", "limit", "sort", "closest", "fl", "fields", "collapse",
    "page", "pageSize", "showNumPages", "showResumeKey", "resumeKey",
)  # fmt: skip
# Those that may be given more than once.
MANY: Final = frozenset({"filter", "collapse"})
# Clients of the Wayback Machine send them; they change nothing here.
_IGNORED: Final = frozenset({"gzip", "fastLatest", "resolveRevisits"})
_TYPES: Final = ("exact", "prefix", "host", "domain")
_FILTER: Final = re.compile(r"(!?)([=~]?)([A-Za-z]+):(.*)", re.DOTALL)
_COLLAPSE: Final = re.compile(r"([A-Za-z]+)(?::(\d{1,4}))?", re.ASCII)
# How many of the last lines can be asked for: they are held in memory.
MOST_LAST: Final = 10_000
# Those that are numbers, with the least of them.
NUMBERS: Final = {"limit": -MOST_LAST, "page": 0, "pageSize": 1}
# Expressions are a stranger's: Python's own engine, and that of `regex`, can take years to match one and gigabytes to
# compile it. RE2 matches in time linear in the value, with bounded memory; it lacks look-around and back-references.
_LINEAR: Final = re2.Options()
_LINEAR.max_mem = 1 << 20
_LINEAR.log_errors = False
_MOST_CHARACTERS: Final = 300


class ResumeFrom(NamedTuple):
    """The last version of an answer, after which another one goes on: its URL and its time in epoch milliseconds."""

    url: str
    milliseconds: int

    @classmethod
    def of(cls, version: Page) -> Self:
        """Return that of *version*."""
        return cls(version.url, milliseconds(version.fetched_at))

    @classmethod
    def from_key(cls, key: str) -> Self:
        """Return what was made into *key*; raises `InvalidArgument`."""
        try:
            moment, _, url = urlsafe_b64decode(f"{key}{'=' * (-len(key) % 4)}").decode().partition(" ")
            return cls(canonical_url(url), int(moment[:20]))
        except (ValueError, WebTableError):
            raise InvalidArgument(f"resumeKey={key[:100]!r} is not a key of showResumeKey=true") from None

    def key(self) -> str:
        """Return it as text that no client has to encode."""
        return urlsafe_b64encode(f"{self.milliseconds} {self.url}".encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class CdxQuery:
    """What was asked, checked; `urls` are those of an exact question, `sites` what is read for another one."""

    url: str
    urls: tuple[str, ...]
    sites: tuple[str | HostOnly, ...]
    keeps: Callable[[str], bool]
    """Whether a URL without its scheme is one of those of a prefix, or of a port."""
    filters: tuple[Callable[[Page], bool], ...]
    output: str
    limit: int | None
    order: str
    closest: datetime | None
    fields: tuple[str, ...]
    collapse: tuple[Callable[[Page], str], ...]
    page: int | None
    page_size: int
    is_count: bool
    is_wayback: bool
    has_resume_key: bool
    resume_from: ResumeFrom | None

    def wants(self, version: Page) -> bool:
        """Whether a line of *version* is wanted."""
        return all(wanted(version) for wanted in self.filters)


def query_of(texts: Mapping[str, Sequence[str]], *, is_wayback: bool) -> CdxQuery:
    """The query of the parameters *texts*; raises `InvalidArgument` and `InvalidURL`."""
    if unknown := sorted(texts.keys() - {*PARAMETERS} - _IGNORED):
        raise InvalidArgument(f"{unknown[0][:100]}: not a parameter; these are: {', '.join(PARAMETERS)}")
    if several := [name for name, values in texts.items() if len(values) > 1 and name not in MANY]:
        raise InvalidArgument(f"{several[0]} was given {len(texts[several[0]])} times, and it takes one value")
    values = {name: texts[name][-1] for name in texts if texts[name] and texts[name][-1]}
    if "url" not in values:
        raise InvalidArgument("url is needed: the URL of a page, or example.com/*, or *.example.com")
    url, kind = _kind_of(values["url"], values.get("matchType"))
    urls, sites, keeps = _scope(url, kind)
    output = _chosen("output", values.get("output", "text" if is_wayback else "cdxj"), ("json", "cdxj", "text"))
    order = _chosen("sort", values.get("sort", "closest" if "closest" in values else ""), ("", "reverse", "closest"))
    if order and kind != "exact":
        raise InvalidArgument(f"sort={order} needs matchType=exact: other answers come in the order of the table")
    if order == "closest" and "closest" not in values:
        raise InvalidArgument("sort=closest needs closest=, a time in up to 14 digits")
    names = {name: place for place, name in WAYBACK.items()} if is_wayback else {}
    usual = ",".join(names.get(field, field) for field in FIELDS)
    first, last = digits_of("from", values.get("from", "0")).ljust(14, "0"), digits_of("to", values.get("to", "9"))
    last, limit = last.ljust(14, "9"), _number("limit", values)
    filters = (_filter(text, is_wayback=is_wayback) for text in texts.get("filter", ()) if text)
    return CdxQuery(
        url=url,
        urls=urls,
        sites=sites,
        keeps=keeps,
        filters=(lambda version: first <= timestamp_of(version.fetched_at) <= last, *filters),
        output=output,
        limit=limit or None,
        order=order,
        closest=moment_of("closest", values["closest"]) if order == "closest" else None,
        fields=tuple(_field("fl", name.strip()) for name in values.get("fl", values.get("fields", usual)).split(",")),
        collapse=tuple(map(_collapse, filter(None, texts.get("collapse", ())))),
        page=_number("page", values),
        page_size=_number("pageSize", values) or 1,
        is_count=_flag("showNumPages", values),
        is_wayback=is_wayback,
        has_resume_key=_flag("showResumeKey", values),
        resume_from=ResumeFrom.from_key(values["resumeKey"]) if "resumeKey" in values else None,
    )


def _kind_of(url: str, kind: str | None) -> tuple[str, str]:
    """Return *url* without its wildcard, and the type of match that was given, or that the wildcard stands for."""
    by_wildcard = "exact"
    if url.startswith("*."):
        url, by_wildcard = url[2:].removesuffix("*"), "domain"
    elif url.endswith("*") and kind != "exact":  # there it is a character of the URL
        url, by_wildcard = url[:-1], "prefix"
    return url, _chosen("matchType", kind or by_wildcard, _TYPES)


def _scope(url: str, kind: str) -> tuple[tuple[str, ...], tuple[str | HostOnly, ...], Callable[[str], bool]]:
    """Return the `urls`, the `sites` and what `keeps` of a query."""
    forms = forms_of(url)
    rests = tuple(dict.fromkeys(form.partition("://")[2] for form in forms))
    hosts = [re.sub(r":\d+$", "", rest.partition("/")[0]) for rest in rests]
    port = _port_of(rests[0])
    match kind:
        case "exact":
            return forms, (), lambda _: True
        case "prefix":
            directories = dict.fromkeys(f"https://{_directory(rest)}" for rest in rests)
            return (), tuple(directories), lambda rest: rest.startswith(rests)
        case "host":  # as in pywb, it has the port of its scheme unless another one is given
            return (), tuple(dict.fromkeys(map(HostOnly, hosts))), lambda rest: _port_of(rest) == port
    return (), (min(hosts, key=len),), lambda rest: port in ("", _port_of(rest))


def _port_of(rest: str) -> str:
    """Return the port with which *rest*, a URL without its scheme, begins; "" for that of the scheme."""
    return rest.partition("/")[0].rpartition("]")[2].partition(":")[2]


def _directory(rest: str) -> str:
    """Return the host and the directory in which *rest* lies; the name of a site has no `?`, `@` or `*`."""
    return re.split(r"[?@*]", rest, maxsplit=1)[0].rpartition("/")[0] + "/"


def _filter(text: str, *, is_wayback: bool) -> Callable[[Page], bool]:
    if (parts := _FILTER.fullmatch(text)) is None:
        raise InvalidArgument(f"filter={text[:100]!r} must be [!][=|~]field:text, as in =status:200")
    negation, kind, name, wanted = parts.groups()
    _field("filter", name)
    if kind == "~" or (is_wayback and not kind):
        matches = _expression(wanted, is_whole=not kind)
    else:
        matches = wanted.__eq__ if kind else lambda value: wanted in value
    return lambda page: bool(matches(value_of(page, name))) != bool(negation)


def _expression(text: str, *, is_whole: bool) -> Callable[[str], object]:
    if len(text) > _MOST_CHARACTERS:
        raise InvalidArgument(f"filter: an expression has at most {_MOST_CHARACTERS} characters")
    try:
        compiled = re2.compile(text, _LINEAR)
    except (re2.error, UnicodeEncodeError) as exc:
        reason = exc.args[0].decode("utf-8", "replace") if isinstance(exc.args[0], bytes) else exc
        raise InvalidArgument(f"filter: {text!r} is not an expression of RE2: {reason}") from exc
    matches: Callable[[str], object] = compiled.fullmatch if is_whole else compiled.match
    return matches


def _collapse(text: str) -> Callable[[Page], str]:
    """Return the function whose values collapse: those of a field, or their first characters."""
    if (parts := _COLLAPSE.fullmatch(text)) is None:
        raise InvalidArgument(f"collapse={text[:100]!r} must be a field, or a field and a number: timestamp:8")
    name, characters = _field("collapse", parts[1]), None if parts[2] is None else int(parts[2])
    return lambda version: value_of(version, name)[:characters]


def value_of(page: Page, field: str) -> str:
    """Return the value of a *field* of *page*, by any of its names."""
    return FIELDS[WAYBACK.get(field, field)](page)


def _field(parameter: str, name: str) -> str:
    if WAYBACK.get(name, name) not in FIELDS:
        raise InvalidArgument(f"{parameter}: there is no field {name[:100]!r}; these are: {', '.join(FIELDS)}")
    return name


def _chosen(name: str, text: str, choices: Sequence[str]) -> str:
    if text not in choices:
        raise InvalidArgument(f"{name}={text[:100]!r} must be one of {', '.join(filter(None, choices))}")
    return text


def _flag(name: str, values: Mapping[str, str]) -> bool:
    return values.get(name, "").lower() in {"true", "1"}


def _number(name: str, values: Mapping[str, str]) -> int | None:
    text, least = values.get(name), NUMBERS[name]
    if text is None:
        return None
    if not re.fullmatch(r"-?\d{1,12}", text, re.ASCII) or int(text) < least:
        raise InvalidArgument(f"{name}={text[:100]!r} must be a whole number, {least} or more")
    return int(text)


# --- Answers ----------------------------------------------------------------------------------------------------------


async def answer(server: ArchiveServer, request: Request, *, is_wayback: bool) -> Response:
    """The answer of pywb, or that of the Wayback Machine."""
    texts = {name: request.query_params.getlist(name) for name in request.query_params}
    is_json = texts.get("output") == ["json"]

    def lines() -> Generator[str]:
        query = query_of(texts, is_wayback=is_wayback)
        yield from (_counts if query.is_count else _answer)(server, server.table, query)

    media = ("application/json" if is_wayback else "application/x-ndjson") if is_json else "text/plain"
    return LateResponse(server.streaming.body(lines()), media)


def _counts(server: ArchiveServer, table: WebTable, query: CdxQuery) -> Iterator[str]:
    blocks = len(server.blocks.starts(table, query.sites)) if query.sites else 1
    pages = -(-blocks // query.page_size)
    counts = {"blocks": blocks, "pages": pages, "pageSize": query.page_size}
    yield f"{pages if query.is_wayback else json.dumps(counts)}\n"


def _answer(server: ArchiveServer, table: WebTable, query: CdxQuery) -> Iterator[str]:
    start: BlockStart | None = BlockStart()
    if query.page:
        start = server.blocks.start(table, query.sites, query.page * query.page_size)
    if start is None:
        if not query.is_wayback:
            raise InvalidArgument(f"page={query.page} is after the last one")
        # cdx-toolkit asks for one page after another until it gets no text at all.
        if server.blocks.start(table, query.sites, ((query.page or 1) - 1) * query.page_size) is not None:
            return
    versions = iter(()) if start is None else _versions(table, query, start)
    for collapse in query.collapse:
        versions = (next(same) for _, same in groupby(versions, collapse))
    if query.resume_from is not None:
        # The version itself comes once more, so that lines like it are collapsed with it.
        versions = dropwhile(lambda version: ResumeFrom.of(version) == query.resume_from, versions)
    limit = query.limit
    if limit is not None and limit < 0:
        versions, limit = iter(deque(versions, -limit)), None
    last, is_array = None, query.is_wayback and query.output == "json"
    for version in islice(versions, limit):
        # An array of the versions, each an array, of which the first one names the fields.
        names = f"[{json.dumps(query.fields)}" if last is None else ""
        yield f"{names},\n{_line(version, query)}" if is_array else f"{_line(version, query)}\n"
        last = version
    key = _resume_key(last, versions) if query.has_resume_key else None
    if is_array:
        yield ("[" if last is None else "") + (f",\n[],\n{json.dumps([key])}" if key else "") + "]\n"
    elif key:
        yield f"\n{key}\n"
    if last is None and not query.is_wayback:
        raise NoCapture(f"No Captures found for: {query.url[:1_000]}")


def _resume_key(last: Page | None, following: Iterator[Page]) -> str | None:
    """Return the key with which another answer goes on after *last*; None if it would be empty."""
    return None if last is None or next(following, None) is None else ResumeFrom.of(last).key()


def _versions(table: WebTable, query: CdxQuery, start: BlockStart) -> Iterator[Page]:
    """Yield the versions that are wanted, in the order that is wanted; from that on after which they are to go on."""
    resume_from = query.resume_from
    if query.urls:
        wanted = [version for url in query.urls for version in table.history(url) if query.wants(version)]
        wanted.sort(key=lambda version: version.fetched_at, reverse=query.order == "reverse")
        if (closest := query.closest) is not None:
            wanted.sort(key=lambda version: abs(version.fetched_at - closest))
        numbers = [number for number, version in enumerate(wanted) if ResumeFrom.of(version) == resume_from]
        if resume_from is not None and not numbers:
            raise InvalidArgument(f"resumeKey: its version of {resume_from.url[:1_000]} is not in this answer any more")
        yield from wanted[numbers[0] :] if numbers else wanted
        return
    if resume_from is not None:
        start = _resumed(table, query, resume_from)
        for version in reversed(table.history(resume_from.url)):
            if query.wants(version) and milliseconds(version.fetched_at) >= resume_from.milliseconds:
                yield version
    pages = pages_of(table, query.sites, start, None if query.page is None else query.page_size)
    for versions in table.history_many(page.url for page in pages if query.keeps(page.url.partition("://")[2])):
        yield from filter(query.wants, reversed(versions))


def _resumed(table: WebTable, query: CdxQuery, resume_from: ResumeFrom) -> BlockStart:
    """Return where the pages of the answer go on after that of *resume_from*; raises `InvalidArgument`."""
    page = Page(url=resume_from.url)
    host = page.url.partition("://")[2].partition("/")[0].partition(":")[0]
    for number, site in enumerate(query.sites):
        name = site.host if isinstance(site, HostOnly) else site.partition("://")[2].partition("/")[0]
        if len(query.sites) == 1 or host == name.partition(":")[0]:
            return BlockStart(number, table.pages(site).token_after(page))
    raise InvalidArgument(f"resumeKey: {resume_from.url[:1_000]} is not a page of this question")


def _line(version: Page, query: CdxQuery) -> str:
    values = {field: value_of(version, field) for field in query.fields}
    match query.output:
        case "json":
            return json.dumps([value_of(version, name) for name in query.fields] if query.is_wayback else values)
        case "text":
            return " ".join(quote(value, safe=string.punctuation) or "-" for value in values.values())
    rest = {field: value for field, value in values.items() if field not in {"urlkey", "timestamp"}}
    return f"{value_of(version, 'urlkey')} {value_of(version, 'timestamp')} {json.dumps(rest)}"

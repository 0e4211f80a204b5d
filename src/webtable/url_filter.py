r"""One filter of addresses for crawlers, questions and files: which URLs are wanted, and which rule decides that.

A pattern of `include` and `exclude` is matched with the whole canonical URL by RE2, in time linear in the URL, whoever
wrote it. It is one of:

    /docs               that path, and all below it and after it: /docs, /docs/intro, /docs?page=2; not /docs-old
    /docs/              all below that path
    /calendar/**        a glob: `*` stands for characters other than `/` and `?`, `**` for any, those of a query too
    /list?**sort=**     a glob with a query; one without a `?` takes any query
    //example.com/docs  the same on one host, as are https://example.com/docs/ and //*.example.com/**
    re:/20\d\d/       a regular expression of RE2 that is found somewhere in the URL

`?`, `[` and `{` mean what they mean in URLs. Patterns are compared in canonical form, as browsers send URLs: /käse/ is
/k%C3%A4se/, and capitals in a path differ from small letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args
from urllib.parse import unquote_plus

import re2

from webtable.errors import InvalidArgument, InvalidURL
from webtable.rowkey.urls import MAX_HOST, URLParts, canonical_host, is_ip_address, parts_of, quoted, split_url

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SessionIds", "URLDecision", "URLFilter"]

SessionIds = Literal["keep", "drop", "refuse"]
"""What becomes of session ids in URLs."""
SCHEMES: Final = ("http", "https")
MOST_CHARACTERS: Final = 1 << 16
"""The most characters that the patterns of one filter have together."""
_PATTERN_BYTES: Final = 1 << 20
"""The most memory of one pattern; of this depends the time that a byte of a URL may take, as RE2 says it."""
_ALL_BYTES: Final = 1 << 24

# --- Patterns ---------------------------------------------------------------------------------------------------------


_WILDCARD = re.compile(r"(\*+)")
_REGULAR = "re:"
_ANY_SCHEME = "https?"


def _expression(name: str, pattern: str) -> str:
    """Return *pattern* as an expression for the whole of a canonical URL; raises `InvalidArgument`."""
    wrong = f"{name}={quoted(pattern)}: "
    if pattern.startswith(_REGULAR):
        if r"\Q" in pattern or pattern == _REGULAR:  # the quotation could go on into the next pattern
            raise InvalidArgument(
                f"{wrong}write what is to be found, with a backslash before special characters, not \\Q"
            )
        return pattern.removeprefix(_REGULAR)
    if not pattern.startswith(("/", "http://", "https://")):
        raise InvalidArgument(
            f"{wrong}a pattern begins with / (a path), // (a host), http:// or https://, as in '/**.pdf', or is a "
            "regular expression after re:"
        )
    if unknown := sorted(set("[]{}#").intersection(pattern.replace("//[", "", 1).replace("]", "", 1))):
        raise InvalidArgument(f"{wrong}{unknown[0]} is not in URLs; write it as %{ord(unknown[0]):02X}, or use re:")
    is_path = not pattern.startswith(("//", "http"))
    url = f"https://any.invalid{pattern}" if is_path else f"https:{pattern}" if pattern.startswith("//") else pattern
    try:
        parts = split_url(url)
    except InvalidURL as exc:
        raise InvalidArgument(f"{wrong}{exc}") from exc
    scheme = parts.scheme if pattern.startswith("http") else _ANY_SCHEME
    port = "" if parts.port is None else f":{parts.port}"
    authority = "[^/]*" if is_path else _globbed(f"{parts.host}{port}")
    if parts.query:
        rest = f"{_globbed(f'{parts.path}{parts.query}')}$"
    elif "*" in parts.path:
        rest = f"{_globbed(parts.path)}(?:\\?|$)"
    else:
        rest = f"{_globbed(parts.path)}{'' if parts.path.endswith('/') else '(?:[/?;]|$)'}"
    return f"^{scheme}://{authority}{rest}"


def _globbed(text: str) -> str:
    """Return the expression of a glob."""
    pieces = _WILDCARD.split(text)
    return "".join(
        piece and ("[^/?]*" if piece == "*" else ".*") if number % 2 else re2.escape(piece)
        for number, piece in enumerate(pieces)
    )


def _compiled(name: str, pattern: str, expression: str, memory: int) -> Any:
    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture = memory, False, True
    try:
        return re2.compile(expression, options)
    except (re2.error, UnicodeEncodeError) as exc:
        reason = exc.args[0].decode(errors="replace") if isinstance(exc.args[0], bytes) else exc
        raise InvalidArgument(f"{name}={quoted(pattern)} is no pattern of RE2: {reason}") from exc


class _Patterns:
    """Patterns, as one expression that says whether a URL matches, and each, which says the first that does."""

    def __init__(self, name: str, patterns: Sequence[str]) -> None:
        expressions = {pattern: _expression(name, pattern) for pattern in patterns}
        self._each = {
            pattern: _compiled(name, pattern, expression, _PATTERN_BYTES) for pattern, expression in expressions.items()
        }
        whole = "|".join(f"(?:{expression})" for expression in expressions.values())
        self._whole = _compiled(name, f"{len(patterns)} patterns together", whole, _ALL_BYTES)

    def match(self, url: str) -> bool:
        """Whether a pattern matches *url*."""
        # Of bytes it has no places of characters to find; canonical URLs are ASCII.
        return self._whole.search(url.encode()) is not None

    def first(self, url: str) -> str:
        """Return the first pattern that matches *url*."""
        return next(pattern for pattern, compiled in self._each.items() if compiled.search(url) is not None)


# --- Parts of URLs ----------------------------------------------------------------------------------------------------


# As the canonicalizers of web archives know them (webarchive-commons, surt). A short `sid` may name anything.
_SESSION_PARAMETER = re.compile(
    r"(?:jsessionid|phpsessid|aspsessionid[a-z]*|sessionid|session_id|sessid|cfid|cftoken|oscsid|zenid)=.*"
    r"|sid=[0-9a-z]{16,}",
    re.IGNORECASE,
)
_SESSION_IN_PATH = re.compile(r";jsessionid=[^/;]*|/\((?:[a-z]\([0-9a-z_-]{16,}\))+\)(?=/)", re.IGNORECASE)


def _has_session(parts: URLParts) -> bool:
    if _SESSION_IN_PATH.search(parts.path):
        return True
    return any(_SESSION_PARAMETER.fullmatch(parameter) for parameter in _parameters(parts.query))


def _parameters(query: str) -> list[str]:
    return query[1:].split("&") if len(query) > 1 else []


def _named(argument: str, names: Iterable[str]) -> Callable[[str], bool]:
    """Return a test whether a parameter has one of *names*, of which `utm_*` is every name that begins so."""
    if wrong := [name for name in names if "*" in name[:-1]]:
        raise InvalidArgument(f"{argument}={wrong[0]!r} must be a name, or its beginning and *, as in 'utm_*'")
    whole = frozenset(name for name in names if not name.endswith("*"))
    beginnings = tuple(name[:-1] for name in names if name.endswith("*"))

    def test(parameter: str) -> bool:
        name = unquote_plus(parameter.partition("=")[0])
        return name in whole or name.startswith(beginnings)

    return test


def _segments(path: str) -> list[str]:
    """Return the segments of a *path*, without the empty one after a slash at its end."""
    return path[1:].removesuffix("/").split("/") if len(path) > 1 else []


def _most_repeats(parts: URLParts) -> int:
    """Return how often the most frequent segment of the path, or parameter with its value, is there."""
    pieces = [*_segments(parts.path), *(f"?{parameter}" for parameter in _parameters(parts.query))]
    # Mostly each is there once, and to count them takes five times as long.
    return min(len(pieces), 1) if len(set(pieces)) == len(pieces) else max(Counter(pieces).values())


def _host(text: str) -> str:
    try:
        return canonical_host(text).removesuffix(".")
    except InvalidURL as exc:
        raise InvalidArgument(f"hosts: {exc}") from exc


def _is_below(host: str, hosts: Set[str]) -> bool:
    """Whether *host* is one of *hosts*, or below one."""
    rest = host.removesuffix(".")
    if len(rest) > MAX_HOST:  # in no DNS, and cutting it label by label would take long
        return False
    while rest:
        if rest in hosts:
            return True
        rest = "" if is_ip_address(rest) else rest.partition(".")[2]
    return False


# --- The filter -------------------------------------------------------------------------------------------------------


class URLDecision(NamedTuple):
    """Whether a URL is wanted, the rule that decides, in words, and the URL to fetch (None if it is not wanted).

    The rule begins with the name of the argument of `URLFilter`, as in "exclude='/calendar/**'".
    """

    is_allowed: bool
    rule: str
    url: str | None


@dataclass(frozen=True, kw_only=True)
class URLFilter:
    """Which URLs are wanted; without arguments every http and https URL is.

    - *hosts*: on these hosts, and those below them.
    - *include*: matching one of these patterns; *exclude*: matching none of these, which always wins. The module
      `webtable.url_filter` says how patterns are written.
    - *schemes*: with these schemes, http and https by default.
    - *refuse_params*: without query parameters of these names; `utm_*` is every name that begins so.
    - *drop_params*: parameters of these names are taken off a URL before it is judged and fetched (`clean`).
    - *session_ids*: "refuse" URLs with a session id (PHPSESSID, ;jsessionid=… and their kind), or "drop" it, as
      parameters; "keep" by default.
    - *refuse_extensions*: whose path does not end so, as in `["pdf", "tar.gz"]`, in capitals or not.
    - *max_length*: of at most so many characters; *max_depth*: of at most so many segments of the path (3 in
      /a/b/c.html); *max_params*: of at most so many query parameters; *max_repeats*: that have no segment of the path,
      and no parameter with its value, more than so many times.

    It is a value: equal to one with the same arguments, hashable, and sent to other processes. Raises `InvalidArgument`
    for an argument that is not one, and for patterns that RE2 does not know, or of over 65,536 characters together.

    >>> urls = URLFilter(hosts=["example.com"], exclude=["/calendar/**"], drop_params=["utm_*"])
    >>> urls.clean("https://www.example.com/docs?utm_source=mail&page=2")
    'https://www.example.com/docs?page=2'
    >>> urls.explain("https://example.com/calendar/2031/05").rule
    "exclude='/calendar/**'"
    """

    hosts: Sequence[str] = ()
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    schemes: Sequence[str] = SCHEMES
    refuse_params: Sequence[str] = ()
    drop_params: Sequence[str] = ()
    session_ids: SessionIds = "keep"
    refuse_extensions: Sequence[str] = ()
    max_length: int | None = None
    max_depth: int | None = None
    max_params: int | None = None
    max_repeats: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("max_"):
                # Not `isinstance`: True is an int.
                if value is not None and (type(value) is not int or value < 0):
                    raise InvalidArgument(f"{field.name}={value!r} must be a whole number, 0 or more")
            elif field.name != "session_ids":
                object.__setattr__(self, field.name, _texts(field.name, value))
        if self.session_ids not in get_args(SessionIds):
            raise InvalidArgument(f"session_ids={self.session_ids!r} must be one of {', '.join(get_args(SessionIds))}")
        if wrong := sorted(set(self.schemes).difference(SCHEMES)):
            raise InvalidArgument(f"schemes={wrong[0]!r} must be of {', '.join(SCHEMES)}, the schemes of stored pages")
        if sum(map(len, chain(self.include, self.exclude))) > MOST_CHARACTERS:
            raise InvalidArgument(f"include and exclude have over {MOST_CHARACTERS:,} characters together")
        _ = self._rules, self._is_dropped  # a mistake is reported where it is made, not at the first URL

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], URLFilter], tuple[dict[str, Any]]]:
        return _of_arguments, (self.arguments,)

    def __str__(self) -> str:
        """Return the arguments that were given, in words."""
        return ", ".join(
            f"{name} {' or '.join(value) if isinstance(value, tuple) else value}"
            for name, value in self.arguments.items()
        )

    def __repr__(self) -> str:
        return f"URLFilter({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that differ from the defaults, by name."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    @property
    def drops(self) -> bool:
        """Whether it takes anything off URLs."""
        return self._is_dropped is not None

    def allows(self, url: str) -> bool:
        """Whether *url* is wanted; what is no http or https URL is not."""
        return self.clean(url) is not None

    def clean(self, url: str) -> str | None:
        """Return the URL to fetch for *url*, in canonical form without what is to be dropped; None if it is not wanted.

        So it can be the `process_value` of Scrapy's LinkExtractor.
        """
        try:
            parts = self._cleaned(url)
        except InvalidURL:
            return None
        cleaned = str(parts)
        return None if any(refuses(cleaned, parts) for _, refuses in self._rules) else cleaned

    def explain(self, url: str) -> URLDecision:
        """Return whether *url* is wanted, and the rule that decides."""
        try:
            parts = self._cleaned(url)
        except InvalidURL as exc:
            return URLDecision(False, str(exc), None)
        cleaned = str(parts)
        for name, refuses in self._rules:
            if refuses(cleaned, parts):
                return URLDecision(False, self._rule(name, cleaned), None)
        rule = f"include={self._included.first(cleaned)!r}" if self.include else "no rule refuses it"
        return URLDecision(True, rule, cleaned)

    def _rule(self, name: str, url: str) -> str:
        """Return the rule *name*, which refuses *url*, in words."""
        match name:
            case "exclude":
                return f"exclude={self._excluded.first(url)!r}"
            case "include":
                return "include: no pattern matches"
            case "hosts":
                return "hosts: it is on none of them, and below none"
        return f"{name}={getattr(self, name)!r}"

    @cached_property
    def _included(self) -> _Patterns:
        return _Patterns("include", self.include)

    @cached_property
    def _excluded(self) -> _Patterns:
        return _Patterns("exclude", self.exclude)

    @cached_property
    def _rules(self) -> list[tuple[str, Callable[[str, URLParts], bool]]]:
        """The arguments that were given and may refuse a URL, each with its test, the cheapest first."""
        length, depth, params, repeats = (
            number or 0 for number in (self.max_length, self.max_depth, self.max_params, self.max_repeats)
        )
        hosts = {_host(host) for host in self.hosts}
        endings = tuple(f".{extension.lower().removeprefix('.')}" for extension in self.refuse_extensions)
        is_refused = _named("refuse_params", self.refuse_params)
        tests: dict[str, Callable[[str, URLParts], bool]] = {
            "max_length": lambda url, _: len(url) > length,
            "schemes": lambda _, parts: parts.scheme not in self.schemes,
            "hosts": lambda _, parts: not _is_below(parts.host, hosts),
            "exclude": lambda url, _: self._excluded.match(url),
            "include": lambda url, _: not self._included.match(url),
            "refuse_extensions": lambda _, parts: (
                parts.path.rpartition("/")[2].partition(";")[0].lower().endswith(endings)
            ),
            "refuse_params": lambda _, parts: any(map(is_refused, _parameters(parts.query))),
            "session_ids": lambda _, parts: self.session_ids == "refuse" and _has_session(parts),
            "max_depth": lambda _, parts: len(_segments(parts.path)) > depth,
            "max_params": lambda _, parts: len(_parameters(parts.query)) > params,
            "max_repeats": lambda _, parts: _most_repeats(parts) > repeats,
        }
        # A pattern with a mistake is refused here.
        _ = self.include and self._included, self.exclude and self._excluded
        given = self.arguments
        return [(name, refuses) for name, refuses in tests.items() if name in given]

    @cached_property
    def _is_dropped(self) -> Callable[[str], bool] | None:
        """Whether a parameter is taken off URLs; None if none is."""
        is_dropped = _named("drop_params", self.drop_params)
        if self.session_ids != "drop":
            return is_dropped if self.drop_params else None
        return lambda parameter: is_dropped(parameter) or _SESSION_PARAMETER.fullmatch(parameter) is not None

    def _cleaned(self, url: str) -> URLParts:
        """Return the parts of *url* without what is to be dropped; raises `InvalidURL`."""
        parts = URLParts._make(parts_of(url))
        if self._is_dropped is None:
            return parts
        parameters = _parameters(parts.query)
        kept = [parameter for parameter in parameters if not self._is_dropped(parameter)]
        if len(kept) < len(parameters):
            parts = parts._replace(query=f"?{'&'.join(kept)}" if kept else "")
        path = _SESSION_IN_PATH.sub("", parts.path) if self.session_ids == "drop" else parts.path
        # What is left may be a dot segment, and so is parsed again.
        return parts if path == parts.path else split_url(str(parts._replace(path=path)))


def checked_filter(urls: object) -> URLFilter:
    """Return *urls*; raises `InvalidArgument` if it is no filter."""
    if not isinstance(urls, URLFilter):
        raise InvalidArgument(f"urls={urls!r} must be a webtable.URLFilter, as in URLFilter(include=['/docs'])")
    return urls


def _of_arguments(arguments: dict[str, Any]) -> URLFilter:
    return URLFilter(**arguments)


def _texts(name: str, values: Iterable[str]) -> tuple[str, ...]:
    texts = (values,) if isinstance(values, str) else tuple(values) if isinstance(values, Iterable) else ()
    if not all(isinstance(text, str) and text for text in texts) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name}={values!r} must be a list of texts")
    return tuple(dict.fromkeys(texts))

"""The rules that a page has for robots, in its head and in the header X-Robots-Tag: for all of them, and for one bot.

They are read as Google publishes it (developers.google.com/search/docs/crawling-indexing/robots-meta-tag): rules are
parted by commas and in any case; the name of a bot stands before its rules, and holds to the end of its line; of two
rules the more restrictive counts. Bing reads the same rules, and `nocache` as `noarchive`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain

GOOGLEBOT = "googlebot"
"""The bot whose rules count beside those for all, where none is named."""
EVERYONE = ""
"""Stands for all bots, where rules are grouped by the name of a bot."""
Rules = Mapping[str, Iterable[str]]
"""Rules by the name of the bot that they are for."""

_MOST_TEXT = 65_536
"""Characters of one text that are read: servers send at most half of that."""
_MOST_KNOWN = 200
"""Characters of a text whose rules are remembered."""
_AFTER = "unavailable_after"
_BOT = re.compile(r"[a-z0-9*][a-z0-9._*/-]{0,99}")
# Dates have commas of their own, and no rule begins with a number.
_REST_OF_DATE = re.compile(r"\d{1,4}\b")
_NAMES_OF_ALL = frozenset({"robots", "*"})
# What only robots are told; "index" or "all" may be meant for somebody else.
_OF_ROBOTS = frozenset({"noindex", "nofollow", "noarchive", "nocache", "nosnippet", "noimageindex", "indexifembedded"})
_CRAWLER = re.compile(r"bot|spider|crawl|slurp|yandex|mediapartners|teoma")
_IMAGE_PREVIEWS = {"none": 0, "standard": 1, "large": 2}


def rules_by_bot(lines: Iterable[str]) -> dict[str, dict[str, None]]:
    """Return the rules in *lines* (those of the header, or of markup), by bot; those for all under `EVERYONE`.

    >>> {bot: list(rules) for bot, rules in rules_by_bot(["NoIndex , max-snippet: 5, BadBot: none"]).items()}
    {'': ['noindex', 'max-snippet:5'], 'badbot': ['none']}
    """
    rules: dict[str, dict[str, None]] = {}
    # Browsers' tools join the lines of a header by line ends.
    for line in chain.from_iterable(text[:_MOST_TEXT].splitlines() for text in lines):
        for bot, rule in (_known_rules if len(line) <= _MOST_KNOWN else _rules)(line):
            rules.setdefault(bot, {})[rule] = None
    return rules


def _rules(line: str) -> tuple[tuple[str, str], ...]:
    return tuple(_parsed(line))


# A crawl has few of them and many pages.
_known_rules = lru_cache(maxsize=1_024)(_rules)


def _parsed(line: str) -> Iterator[tuple[str, str]]:
    """Yield the rules of *line*, each with the name of its bot."""
    bot, pieces = EVERYONE, deque(line.lower().split(","))
    while pieces:
        words = deque(":".join(part.strip() for part in pieces.popleft().split(":")).split())
        while words:
            word = words.popleft()
            name, colon, value = word.partition(":")
            if colon and name.replace("-", "_") == _AFTER:
                date = [" ".join([value, *words])]
                while pieces and _REST_OF_DATE.match(pieces[0].strip()):
                    date.append(" ".join(pieces.popleft().split()))
                yield bot, f"{_AFTER}: {', '.join(date).strip()}"
                break
            if colon and not name.startswith("max-") and _BOT.fullmatch(name):
                bot = EVERYONE if name in _NAMES_OF_ALL else name
                words.extendleft([value] if value else [])
            elif word.strip(":"):
                yield bot, word


def rules_of_markup(name: str, content: str) -> str | None:
    """Return what a `<meta>` of that *name* and *content* tells robots, as a line of the header; None if nothing.

    >>> rules_of_markup("googlebot", "noindex, nofollow"), rules_of_markup("rating", "all")
    ('googlebot: noindex, nofollow', None)
    """
    if name in _NAMES_OF_ALL:
        return content
    if not _BOT.fullmatch(name):
        return None
    words = content.lower().replace(",", " ").split()
    is_for_robots = _CRAWLER.search(name) or not _OF_ROBOTS.isdisjoint(words)
    return f"{name}: {content}" if is_for_robots and words else None


def header_line(lines: list[str]) -> str:
    """Return the *lines* of the header X-Robots-Tag as one that says the same.

    Joined as they are, a rule for all bots might stand behind the name of one.

    >>> header_line(["BadBot: noindex", "noarchive"]), header_line(["NoIndex", "nofollow"])
    ('noarchive, badbot: noindex', 'NoIndex, nofollow')
    """
    if not any(":" in line for line in lines):
        return ", ".join(lines)
    rules = rules_by_bot(lines)
    return ", ".join(filter(None, (text_for_all(rules), text_by_bot(rules))))


def text_for_all(rules: Rules, limit: int | None = None) -> str | None:
    """Return the *rules* for all bots as text, as many as fit in *limit* characters; None without any."""
    return _text(rules.get(EVERYONE, ()), limit) or None


def text_by_bot(rules: Rules, limit: int | None = None) -> str | None:
    """Return the *rules* for single bots as text, as many as fit in *limit* characters; None without any."""
    names = (bot for bot in rules if bot != EVERYONE)
    told = (f"{bot}: {rule}" if first else rule for bot in names for first, rule in _numbered(rules[bot]))
    return _text(told, limit) or None


def _numbered(rules: Iterable[str]) -> Iterator[tuple[bool, str]]:
    return ((number == 0, rule) for number, rule in enumerate(rules))


def _text(rules: Iterable[str], limit: int | None) -> str:
    kept: list[str] = []
    length = -2
    for rule in rules:
        length += 2 + len(rule)
        if limit is not None and length > limit:
            break
        kept.append(rule)
    return ", ".join(kept)


# --- What they come to ------------------------------------------------------------------------------------------------


def rules_for(robots: str | None, robots_by_bot: str | None, bot: str = EVERYONE) -> list[str]:
    """Return the rules that hold for a *bot*, or for all, of the fields of a page: the strictest of those that it has.

    >>> rules_for("index", "googlebot: noindex", "googlebot"), rules_for("index", "googlebot: noindex")
    (['noindex'], ['index'])
    """
    rules = rules_by_bot(filter(None, (robots, robots_by_bot)))
    names = dict.fromkeys((EVERYONE, bot.strip().lower()))
    return strictest(rule for name in names for rule in rules.get(name, ()))


def strictest(rules: Iterable[str]) -> list[str]:
    """Return *rules* without those that a more restrictive one of them overrules.

    >>> strictest(["index", "follow", "max-snippet:50", "noindex", "max-snippet:20"])
    ['follow', 'noindex', 'max-snippet:20']
    """
    kept = dict.fromkeys(rules)
    overruled = {rule for rule in kept if f"no{rule}" in kept}
    if "none" in kept:
        overruled |= {"index", "follow"}
    if kept.keys() - {"all", "index", "follow"}:
        overruled.add("all")
    valued: dict[str, list[str]] = {}
    for rule in kept:
        name, colon, _ = rule.partition(":")
        if colon:
            valued.setdefault(name, []).append(rule)
    for name, several in valued.items():
        overruled.update(set(several) - {min(several, key=_freedom)})
        if name == "max-snippet" and "nosnippet" in kept:
            overruled.update(several)
    return [rule for rule in kept if rule not in overruled]


def _freedom(rule: str) -> float:
    """Return how much the *rule*, which has a value, leaves free, in comparison with others of its name."""
    name, _, value = rule.partition(":")
    if name == _AFTER:
        date = _date(value.strip())
        return float("inf") if date is None else date.timestamp()
    if value in _IMAGE_PREVIEWS:
        return _IMAGE_PREVIEWS[value]
    # -1 stands for no limit; what is no number is no rule.
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else float("inf")


def is_noindex(rules: Iterable[str], at: datetime) -> bool:
    """Whether *rules* keep search engines from listing a page, at the moment *at*."""
    return any(rule in ("noindex", "none") or _is_past(rule, at) for rule in rules)


def _is_past(rule: str, at: datetime) -> bool:
    if not rule.startswith(_AFTER):
        return False
    date = _date(rule.partition(":")[2].strip())
    return date is not None and date <= at


def _date(text: str) -> datetime | None:
    """Return the time *text*, in UTC: ISO 8601, or as in mail and HTTP (RFC 822, RFC 850); None for another one."""
    # The package email takes long to import, and few pages have such a rule.
    from email.utils import parsedate_to_datetime

    for read, part in (
        (datetime.fromisoformat, text.upper()),
        (parsedate_to_datetime, text[:100]),
        (parsedate_to_datetime, f"{text[:50]} 00:00"),
        (datetime.fromisoformat, text[:10]),
    ):
        try:
            date = read(part)
            return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None

"""The rules of a robots.txt for one bot (RFC 9309), in time and memory that grow with the file, and no faster.

Rules are kept for the bot alone. (protego, which tests compare this with, keeps them for each bot of a group: a file of
60 KB, of 2,000 bots above 2,000 rules, takes it 276 MB and 13 seconds, and one of 500 KB a hundred times as much.)
As Google publishes it, a bot without rules of its own has those of the name before its last hyphen (`googlebot` for
`googlebot-image`), and known misspellings count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from webtable.errors import InvalidArgument
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_BYTES: Final = 500 * 1024
"""The bytes of a robots.txt that are read: what RFC 9309 asks for at least, and Google reads."""
_MOST_TEXT = 500
_FOR_ALL = "*"
_LINE_ENDS = re.compile(r"[\r\n]+")
_LINE = re.compile(r"(user[ -]?agent|(allow)|diss?all?ow|diasllow|disallaw)(?:\s*:|\s)(.*)", re.IGNORECASE)
_PRODUCT = re.compile(r"\*(?=\s|$)|[^\s/*]+")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_SAFE = "!$%&'()*+,/:;=?@"
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


class RobotsRule(NamedTuple):
    """A rule of one bot: whether it allows what it matches, and its line."""

    is_allowed: bool
    line: str
    pattern: str
    """What it matches, without the `$` of one that matches whole paths."""
    is_whole: bool

    @property
    def precedence(self) -> tuple[int, bool]:
        """The longest pattern decides; of two that are as long, the one that allows."""
        return len(self.pattern) + self.is_whole, self.is_allowed

    def matches(self, path: str) -> bool:
        """Whether the rule is about *path*; takes time that grows with the path, however many `*` there are."""
        first, *others = self.pattern.split("*")
        if not path.startswith(first):
            return False
        if self.is_whole and not others:
            return path == first
        at, last = len(first), others.pop() if self.is_whole else ""
        for part in others:
            if (begin := path.find(part, at)) < 0:
                return False
            at = begin + len(part)
        return not self.is_whole or (len(path) - len(last) >= at and path.endswith(last))


class RobotsRules:
    r"""The rules of one robots.txt for one bot.

    >>> rules = RobotsRules.of(b"User-agent: *\nDisallow: /a\nAllow: /a/b", "googlebot")
    >>> [rule and rule.line for rule in map(rules.rule, ("https://example.com/a", "https://example.com/a/b/c"))]
    ['Disallow: /a', 'Allow: /a/b']
    """

    def __init__(self, rules: Iterable[tuple[bool, str]]) -> None:
        """Keep *rules*: whether each allows, and its path."""
        made = (
            RobotsRule(
                is_allowed,
                f"{'Allow' if is_allowed else 'Disallow'}: {path[:_MOST_TEXT]}",
                _normal(path.removesuffix("$")).replace("$", "%24"),
                path.endswith("$"),
            )
            for is_allowed, path in rules
        )
        self._rules = sorted(made, key=lambda rule: rule.precedence, reverse=True)
        self._beginnings = tuple({rule.pattern.partition("*")[0] for rule in self._rules})

    @classmethod
    def of(cls, body: bytes, bot: str) -> RobotsRules:
        """Return the rules that *body*, a robots.txt, has for *bot*, a name as `bot_name` returns it."""
        names = _names(bot)
        rules: dict[str, list[tuple[bool, str]]] = {}
        group: set[str] = set()
        is_begun = False
        for line in _LINE_ENDS.split(body[:MOST_BYTES].decode("utf-8-sig", "replace")):
            # Other lines, as Sitemap, neither begin a group nor end one.
            if (match := _LINE.match(line.partition("#")[0].strip())) is None:
                continue
            kind, allow, value = match[1], match[2], match[3].strip()
            if kind[0] in "uU":
                if not is_begun:
                    group, is_begun = set(), True
                if (product := _PRODUCT.match(value.lower())) and product[0] in names:
                    group.add(product[0])
                    rules.setdefault(product[0], [])
                continue
            is_begun = False
            if value:
                for name in group:
                    rules[name].append((bool(allow), value))
        return cls(next((rules[name] for name in names if name in rules), ()))

    def rule(self, url: str) -> RobotsRule | None:
        """Return the rule that decides on *url*, a canonical URL; None if none does, and it is allowed."""
        parts = split_url(url)
        path = _normal(parts.path + parts.query).replace("*", "%2A").replace("$", "%24")
        # Most paths begin as no rule does, which one call finds out.
        if path == "/robots.txt" or not path.startswith(self._beginnings):
            return None
        return next((rule for rule in self._rules if rule.matches(path)), None)


def bot_name(bot: str) -> str:
    """Return the product token of *bot* in lower case; raises `InvalidArgument` for what has none.

    >>> bot_name("Googlebot/2.1")
    'googlebot'
    """
    product = _PRODUCT.match(bot.strip().lower()[:_MOST_TEXT]) if isinstance(bot, str) else None
    if product is None or product[0] == _FOR_ALL:
        raise InvalidArgument(f"bot={bot!r} must be the name of a bot, as in 'googlebot'")
    return product[0]


def _names(bot: str) -> list[str]:
    """Return the names under which *bot* looks for rules, the first one that has a group counts."""
    words = bot.split("-")
    return [*("-".join(words[:count]) for count in range(len(words), 0, -1)), _FOR_ALL]


def _normal(path: str) -> str:
    """Return *path* as it is compared: what must be escaped is, and what need not be is not."""
    return _ESCAPE.sub(_unescaped, quote(path, safe=_SAFE))


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if _UNRESERVED.fullmatch(character) else escape[0].upper()

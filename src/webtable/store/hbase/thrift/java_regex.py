r"""Words as regular expressions of Java's that find them whatever their case, wherever Python does.

What counts is Python's `word.lower() in value.lower()`. Java's own ignoring of case follows another table, so each
character is spelled out as those whose lower case it is in. What is not a letter or a digit of ASCII is written as its
number, so that neither the expression nor the filter string around it has anything to quote.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Final, NamedTuple

_CASED_BELOW: Final = 0x20000
"""No character from here on has another lower case than itself."""
_REPLACEMENT: Final = "\ufffd"


class _Cases(NamedTuple):
    """For a character those with it as the first of their lower case, and the characters that come behind a first."""

    upper: dict[str, str]
    following: frozenset[str]


@cache
def _cases() -> _Cases:
    upper: defaultdict[str, str] = defaultdict(str)
    following: set[str] = set()
    for character in map(chr, range(_CASED_BELOW)):
        lower = character.lower()
        if lower != character:
            upper[lower[0]] += character
            following.update(lower[1:])
    upper["ς"] += "Σ"  # at the end of a word
    return _Cases(dict(upper), frozenset(following))


def expression(word: str) -> str | None:
    r"""Return the regular expression that finds *word*; None where none is certain to, or it is in every value.

    >>> expression("Öl-1")
    '[\\x{f6}\\x{d6}][lL]\\x{2d}1'
    """
    # A value that is no UTF-8 has replacement characters here, and Java may count them otherwise.
    return None if not word or _REPLACEMENT in word else "".join(map(_character, word.lower()))


def _character(character: str) -> str:
    cases = _cases()
    upper = cases.upper.get(character)
    one = _escaped(character) if upper is None else f"[{''.join(map(_escaped, character + upper))}]"
    # The lower case of İ is two characters, of which the second has then no character of its own in the value.
    return f"{one}?" if character in cases.following else one


def _escaped(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"

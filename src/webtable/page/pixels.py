"""How wide a text is where Google shows it: in Arial, titles with 20 pixels and descriptions with 14.

The widths are those of Helvetica in Adobe's metrics of the 14 core fonts of PDF (Helvetica.afm), which Arial shares.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from unicodedata import combining, east_asian_width, normalize

TITLE_SIZE: Final = 20
"""The size of the font of titles in pixels."""
DESCRIPTION_SIZE: Final = 14
"""The size of the font of descriptions in pixels."""
_BY_WIDTH = {
    191: "'",
    222: "ijlł‘’‚",
    260: "|¦",
    278: " !,./:;I[\\]ft·ıìíîïī",
    333: "()-`r¡¨¯²³´¸¹“”„‹›",
    334: "{}",
    350: "•",
    355: '"',
    365: "º",
    370: "ª",
    389: "*",
    400: "°",
    469: "^",
    500: "Jcksvxyz",
    556: "#$0123456789?L_abdeghnopqu¢£¤¥§«µ»ðþđŁƒ–†‡€",
    584: "+<=>~¬±×÷−",
    611: "FTZ¿ßø",
    667: "&ABEKPSVXYÞ",
    722: "CDHNRUwÐĐ",
    737: "©®",
    778: "GOQØ",
    833: "Mm",
    834: "¼½¾",
    889: "%æ",
    944: "Wœ",
    1000: "ÆŒ—…‰™",
    1015: "@",
}
"""Thousandths of the size of the font, and the characters that are as wide."""
_WIDTHS = {character: width for width, characters in _BY_WIDTH.items() for character in characters}
_OTHERS = 556
_FULL = 1000


def pixels(text: str, size: int) -> int:
    """Return about how many pixels *text* is wide in Arial of a *size* in pixels; spaces count as browsers show them.

    Letters of Latin are exact, without kerning. A wide character of East Asia is as wide as the size, and one of
    another script as a digit is.

    >>> pixels("Tables of the web", 20), pixels("表", 20)
    (158, 20)
    """
    return round(sum(map(_width, " ".join(text.split()))) * size / 1000)


@lru_cache(maxsize=4_096)
def _width(character: str) -> int:
    if (width := _WIDTHS.get(character)) is not None:
        return width
    if east_asian_width(character) in ("W", "F"):
        return _FULL
    return 0 if combining(character) else _WIDTHS.get(normalize("NFD", character)[0], _OTHERS)

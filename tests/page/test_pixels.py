"""Widths in pixels are those of the metrics of the font, as Adobe publishes them (matplotlib brings the file)."""

from __future__ import annotations

import re
from pathlib import Path
from unicodedata import normalize

import matplotlib as mpl
import pytest

from webtable import Page
from webtable.page.pixels import pixels

METRICS = Path(mpl.get_data_path(), "fonts", "pdfcorefonts", "Helvetica.afm").read_text(encoding="latin-1")
# Of Latin-1, codes of Adobe's encoding are those of ASCII, but for two quotes.
WIDTHS = {chr(int(code)): int(width) for code, width in re.findall(r"^C (\d+) ; WX (\d+)", METRICS, re.MULTILINE)}
ASCII = {character: width for character, width in WIDTHS.items() if character < "\x7f" and character not in "'` "}


def test_the_characters_of_ascii_are_as_wide_as_in_the_metrics():
    assert len(ASCII) == 92
    assert {character: pixels(character, 1000) for character in ASCII} == ASCII


@pytest.mark.parametrize(
    "name", ["Eacute", "adieresis", "ccedilla", "scaron", "oslash", "ae", "germandbls", "icircumflex"]
)
def test_letters_with_accents_are_as_wide_as_in_the_metrics(name):
    letters = dict(
        zip(["Eacute", "adieresis", "ccedilla", "scaron", "oslash", "ae", "germandbls"], "Éäçšøæß", strict=True)
    )
    letter = letters.get(name, "î")
    width = int(re.search(rf"WX (\d+) ; N {name} ;", METRICS)[1])

    assert pixels(letter, 1000) == width
    assert name == "icircumflex" or pixels(normalize("NFD", letter), 1000) == width


def test_a_page_has_the_widths_of_its_title_and_its_description_as_google_shows_them():
    page = Page(url="https://example.com/", title=" Wide \n title ", description="Wide title")
    thousandths = sum(WIDTHS[letter] for letter in "Widetitle") + 278

    assert page.title_pixels == round(thousandths * 20 / 1000)
    assert page.description_pixels == round(thousandths * 14 / 1000)
    assert (Page(url="https://example.com/").title_pixels, Page(url="https://example.com/").description_pixels) == (
        None,
        None,
    )


def test_other_scripts_have_a_mean_and_wide_characters_the_size():
    assert (pixels("表意", 20), pixels("ж", 1000), pixels("한", 20)) == (40, 556, 20)

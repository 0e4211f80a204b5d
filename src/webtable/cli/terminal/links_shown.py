"""URLs in a table: one line each, that can be clicked where the terminal can, and cut in the middle where they must."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._shown import harmless

if TYPE_CHECKING:
    from rich.text import Text


def url_cell(url: str, width: int | None = None) -> Text:
    """Return *url* for a terminal: as a link (OSC 8), and in *width* columns if it is longer."""
    from rich.style import Style
    from rich.text import Text

    shown = harmless(url)
    # What is no plain URL could end the link early and say something else to the terminal.
    is_plain = url.isascii() and shown == url and url.startswith(("http://", "https://"))
    return Text(cut(shown, width) if width else shown, style=Style(link=url) if is_plain else "")


def cut(text: str, width: int) -> str:
    """Return *text* in *width* columns, without its middle where it is longer: both ends of a URL tell what it is.

    >>> cut("https://example.com/a/very/long/path/page.html", 30)
    'https://example.com/…page.html'
    """
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    tail = text[-max((width - 1) // 3, 1) :]
    return set_cell_size(text, width - 1 - cell_len(tail)).rstrip() + "…" + tail

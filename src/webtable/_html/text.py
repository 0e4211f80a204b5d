"""Text of others as it is written into pages: shown, and never live markup."""

from __future__ import annotations

import html


def escaped(text: str) -> str:
    r"""Return *text* for HTML and XML, with what is invisible or forbidden there made visible.

    >>> escaped("<b>\x00&")
    '&lt;b&gt;\\x00&amp;'
    """
    shown = "".join(c if c.isprintable() else " " if c.isspace() else c.encode("unicode_escape").decode() for c in text)
    return html.escape(shown)


def shortened(text: str, most: int) -> str:
    """Return *text* with at most so many characters.

    >>> shortened("example", 4)
    'exa…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def web_link(url: str, most: int = 200) -> str:
    """Return *url* as a link that tells its target nothing; as text where it is none of the web (`javascript:`).

    At most *most* of its characters are shown.

    >>> web_link("javascript:alert(1)"), web_link("https://a.example/")[:29]
    ('javascript:alert(1)', '<a href="https://a.example/" ')
    """
    shown = escaped(shortened(url, most))
    if not url.lower().startswith(("http://", "https://")):
        return shown
    return f'<a href="{escaped(url)}" rel="noopener noreferrer nofollow">{shown}</a>'

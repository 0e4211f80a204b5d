"""Keys, shares and names as they are written into pages and pictures."""

from __future__ import annotations

import re

from webtable.rowkey.ranges import key_text

_LABEL = 22
"""How many characters of a split point are shown; of a longer one the beginning and the end."""
_SIGN = re.compile(r"\\x[0-9A-F]{2}|.")


def share_text(share: float) -> str:
    """Return a share as percent, with a decimal only where it is small.

    >>> share_text(0.341), share_text(0.0162), share_text(0)
    ('34%', '1.6%', '0%')
    """
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def start_text(key: bytes) -> str:
    r"""Return the first key of a region, with spaces made visible; the first region has a name of its own.

    >>> start_text(b" x"), start_text(b"")
    ('\\x20x', '(beginning)')
    """
    return key_text(key).replace(" ", r"\x20") or "(beginning)"


def shared_start(low: bytes, high: bytes) -> int:
    """Return how many bytes two keys have in common at their beginning."""
    return next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))


def label(start: bytes, shared: int) -> str:
    """Return the first key of a region; of a long one what it does not share with all others, its beginning and end."""
    text = start_text(start)
    if len(text) > _LABEL and shared > 2:
        text = f"…{start_text(start[shared:])}" if start[shared:] else text
    if len(text) > _LABEL:
        # An escape such as \\xFF stays whole.
        signs = [(sign.start(), sign.end(), sign[0]) for sign in _SIGN.finditer(text)]
        head = "".join(sign for _, end, sign in signs if end <= _LABEL - 7)
        tail = "".join(sign for start, _, sign in signs if start >= len(text) - 6)
        text = f"{head}…{tail}"
    return text

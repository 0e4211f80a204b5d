"""Stored markup as a browser may show it: it runs nothing, and asks no other host."""

from __future__ import annotations

import re
from typing import Final

SANDBOX: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The policy of stored markup: it runs nothing, asks no other host, and is shown by the pages of the explorer alone."""
# No policy holds back the connections that a browser opens ahead: for `rel=preconnect` and `dns-prefetch`, and to where
# a frame leads before it is refused. So `<link` and `<frame` become `<meta`, an element of the same form without that
# effect, and `<iframe` hidden text, as its `srcdoc` may have more of them.
_CONNECTING: Final = re.compile(r"<(/?)(?:(link|frame(?!set))|iframe)", re.IGNORECASE)


def inert(markup: str) -> str:
    """Return *markup* without elements that connect to other hosts whatever the policy is.

    >>> inert("<LINK rel=preconnect href=//a.example><iframe srcdoc='<link>'></iframe>")
    "<meta rel=preconnect href=//a.example><noframes srcdoc='<meta>'></noframes>"
    """
    return _CONNECTING.sub(lambda one: f"<{one[1]}{'meta' if one[2] else 'noframes'}", markup)

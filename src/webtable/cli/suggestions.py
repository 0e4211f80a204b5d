"""What was meant: a URL where a host is asked for, a host where a URL is, and questions that nothing can answer."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webtable.cli.session import Session
    from webtable.repository import WebTable

_WITHOUT_SCHEME = re.compile(r"'([\w.-]+\.[\w-]+(?::\d+)?)(/[^'?#\s]*)?' is no URL: it has no scheme")
_STATUSES = range(100, 600)


def as_meant(given: dict[str, Any]) -> dict[str, Any]:
    """Return what a command was *given*, with the URL of a site in the place of a domain taken apart.

    Its directory becomes --path where the command has that, and is not given; where it has none, the URL of a host
    alone is taken.
    """
    domain = given.get("domain")
    if not isinstance(domain, str) or not domain.startswith(("https://", "http://")):
        return given
    try:
        url = urlsplit(domain)
        is_plain = bool(url.hostname) and url.port is None and not (url.username or url.query or url.fragment)
    except ValueError:
        return given
    if not is_plain:
        return given
    if url.path in ("", "/"):
        return given | {"domain": url.hostname}
    if "path" in given and given["path"] is None:
        return given | {"domain": url.hostname, "path": url.path}
    return given


def instead(message: str, command: str, session: Session) -> str:
    """Return what to run in place of a *command* that was refused with *message*, "" where there is no telling.

    >>> from webtable.cli.session import Session
    >>> instead("'a.org' is no URL: it has no scheme", "get", Session("./webtable.db", said=""))
    'did you mean `webtable pages a.org` or `webtable get https://a.org/`?'
    """
    found = _WITHOUT_SCHEME.match(message)
    if found is None:
        return ""
    host, path = found[1], found[2] or "/"
    site = shlex.join(["pages", host, *(["--path", path] if path != "/" else [])])
    page = shlex.join([command, f"https://{host}{path}"])
    return f"did you mean `{session.command(site)}` or `{session.command(page)}`?"


def stored_likes(table: WebTable, url: str) -> str:
    """Return what to say of the URLs that are stored and look like *url*, which is not: "" where there are none."""
    scheme, _, rest = url.partition("://")
    other = "http" if scheme.lower() == "https" else "https"
    slashed = rest.removesuffix("/") if rest.endswith("/") and rest.count("/") > 1 else f"{rest}/"
    likes = [f"{other}://{rest}", *([] if "?" in rest else [f"{scheme}://{slashed}", f"{other}://{slashed}"])]
    there = [page.url for page in table.get_many(likes, columns=()) if page is not None]
    unlike = list(dict.fromkeys(one for one in there if one != url))
    return f"; stored is {', '.join(unlike)}" if unlike else ""


def why_nothing(given: Mapping[str, Any]) -> str:
    """Return why no page can be what was *given*, "" where one can."""
    statuses = given.get("status") or ()
    impossible = [one for one in ([statuses] if isinstance(statuses, int) else statuses) if one not in _STATUSES]
    if impossible:
        return f": no server answers with {', '.join(map(str, impossible))}, statuses are from 100 to 599"
    return ""

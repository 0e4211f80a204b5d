"""Credentials for a gateway in HTTP mode, or for a proxy before it: the header `Authorization`.

Credentials come from the netrc file, from the environment or from a file that the environment names. A store URL only
names their kind: URLs are visible in process lists and may come from strangers, who must not obtain credentials with
them. So a host is sent only credentials meant for it: netrc names its hosts, and `WEBTABLE_HBASE_AUTH_HOSTS` those of
the environment.
"""

from __future__ import annotations

import base64
import netrc
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webtable.store.hbase.thrift.transport import Headers

KINDS: Final = ("basic", "bearer", "hook", "negotiate")
HOSTS: Final = "WEBTABLE_HBASE_AUTH_HOSTS"
USER: Final = "WEBTABLE_HBASE_USER"
PASSWORD: Final = "WEBTABLE_HBASE_PASSWORD"  # noqa: S105 - the name of a variable, as is the next one
TOKEN: Final = "WEBTABLE_HBASE_TOKEN"  # noqa: S105
HOOK: Final = "WEBTABLE_HBASE_HEADERS"
"""The variable with the hook, as `module:function`; the environment may name code to run, a URL may not."""
_FILE: Final = "_FILE"
"""The ending of variables that name a file with the password or the token."""


class NoTicket(OSError):
    """There is no Kerberos ticket for the host; the message says why."""


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """A user and a password; never displayed."""

    user: str
    password: str

    def headers(self, _host: str = "") -> dict[str, str]:
        """Return the header of the scheme Basic."""
        return {"Authorization": "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()}


def headers_by(kind: str) -> Headers:
    """Return the function that makes the headers of a request to a host, from credentials of this *kind*.

    It raises `InvalidArgument` for a host without credentials. Raises `InvalidArgument` for an unknown kind, and if the
    hook, or the package for Kerberos, is missing.
    """
    if kind == "hook":
        return _hook()
    if kind == "negotiate":
        return _negotiate()
    if kind not in KINDS:
        raise InvalidArgument(f"store: auth must be one of {', '.join(KINDS)}")
    return _basic if kind == "basic" else _bearer


def _basic(host: str) -> Mapping[str, str]:
    if (entry := _netrc_entry(host)) is not None:
        return entry.headers()
    if (user := os.environ.get(USER)) and (password := _secret(PASSWORD, host)):
        return Login(user, password).headers()
    raise _none_for(host, f"{USER} and {PASSWORD} or {PASSWORD}{_FILE}")


def _bearer(host: str) -> Mapping[str, str]:
    entry = _netrc_entry(host)
    if token := entry.password if entry is not None else _secret(TOKEN, host):
        return {"Authorization": f"Bearer {token}"}
    raise _none_for(host, f"{TOKEN} or {TOKEN}{_FILE}")


def _none_for(host: str, variables: str) -> InvalidArgument:
    return InvalidArgument(f"store: no credentials for {host!r}: neither in netrc, nor in {variables}")


def _netrc_entry(host: str) -> Login | None:
    """Return user and password of *host* in the file that NETRC names, or in ~/.netrc; `default` is ignored."""
    given = os.environ.get("NETRC")
    path = Path(given) if given else Path.home() / ".netrc"
    if not given and not path.is_file():
        return None
    try:
        found = netrc.netrc(str(path) if given else None).hosts.get(host)
    except netrc.NetrcParseError as exc:
        # The text of the error quotes the unreadable part, which may be a password.
        raise InvalidArgument(f"store: {path}: it is not valid netrc, or others may read it") from exc
    except (OSError, ValueError) as exc:
        raise InvalidArgument(f"store: {path}: it cannot be read ({type(exc).__name__})") from exc
    return Login(found[0], found[2]) if found is not None else None


def _secret(variable: str, host: str) -> str | None:
    """Return the value of *variable*, or the content of the file that its sibling names, if *host* may have it.

    The file is read each time because tokens are renewed.
    """
    value, file = os.environ.get(variable), os.environ.get(variable + _FILE)
    if not value and not file:
        return None
    if not any(fnmatchcase(host, one.strip()) for one in os.environ.get(HOSTS, "").split(",")):
        raise InvalidArgument(
            f"store: {HOSTS} does not name {host!r}, so credentials of the environment are not sent to it; it has "
            "names with commas between them, as in gateway-1.example.com,*.hbase.example.com"
        )
    if value:
        return value
    try:
        return Path(str(file)).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as exc:
        raise InvalidArgument(f"store: {variable}{_FILE}={file!r}: it cannot be read ({type(exc).__name__})") from exc


def _hook() -> Headers:
    named = os.environ.get(HOOK, "")
    module, colon, function = named.partition(":")
    if not (module and colon and function):
        raise InvalidArgument(f"store: auth=hook needs {HOOK}=module:function, which returns headers for a host")
    try:
        hook: Headers = getattr(import_module(module), function)
    except Exception as exc:
        raise InvalidArgument(f"store: {HOOK}={named!r} cannot be imported ({type(exc).__name__})") from exc
    if not callable(hook):
        raise InvalidArgument(f"store: {HOOK}={named!r} is no function")
    return hook


def _negotiate() -> Headers:
    """Return the function that gets a Kerberos token for each request; a server accepts each token once."""
    try:
        gssapi = import_module("gssapi")
    except ImportError as exc:
        raise InvalidArgument("store: auth=negotiate needs the package gssapi (pip install gssapi)") from exc

    def headers(host: str) -> Mapping[str, str]:
        try:
            service = gssapi.Name(f"HTTP@{host}", gssapi.NameType.hostbased_service)
            token = gssapi.SecurityContext(name=service, usage="initiate").step()
        except gssapi.exceptions.GSSError as exc:
            raise NoTicket(f"no Kerberos ticket for HTTP@{host}: {exc}") from exc
        return {"Authorization": "Negotiate " + base64.b64encode(token).decode()}

    return headers

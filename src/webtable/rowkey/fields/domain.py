"""A field of host names, reversed label by label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webtable.errors import InvalidArgument, InvalidURL, NoRange
from webtable.rowkey.fields.field import Below, Condition, StartingWith
from webtable.rowkey.fields.text import Text, escaped
from webtable.rowkey.ranges import KeyRange, merged, prefix_range
from webtable.rowkey.urls import cached_by_host, canonical_host, is_ip_address

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class ReversedDomain(Text):
    """A host name with its labels reversed: `com.example.www`, so that a domain sorts right before all hosts below it.

    Width: the bytes of the canonical host and the terminator; a *size* in bytes is refused. Order: not that of the
    names, but `below(domain)` has ranges: a domain and all hosts below it are one range if the terminator is `/`, else
    two. IP addresses are not reversed and have nothing below them. Errors: `FieldError` for an invalid host, `NoRange`
    for the beginning of a name, `InvalidArgument` for a *size*. Source: Chang et al., Bigtable (OSDI 2006), section 2.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            raise InvalidArgument(
                f"size={self.size!r} of {self.name!r} must be left out: the size of host names varies"
            )

    @property
    def ordered(self) -> bool:
        """False: hosts sort by their reversed names."""
        return False

    @property
    def unordered_because(self) -> tuple[str, str]:
        """Hosts sort by their reversed names."""
        return "host names sort by their labels from last to first", "ask for a host, or with below()"

    def ranges(self, condition: Condition) -> list[KeyRange]:
        """Return the ranges for `below`."""
        if not isinstance(condition, Below):
            if isinstance(condition, StartingWith):
                raise NoRange(
                    f"{condition} of {self.name!r} has no range, because {self.unordered_because[0]}",
                    self.unordered_because[1],
                )
            return super().ranges(condition)
        # Hosts below it continue with a dot; the domain itself ends, so its rows are not always next to theirs.
        alone = self.encode(condition.domain)
        only = KeyRange(alone, alone + b"\x00") if self.terminator is None else prefix_range(alone)
        domain = self.hash_input(condition.domain).decode()
        if is_ip_address(domain):
            return [only]
        return merged([prefix_range(escaped(f"{reversed_host(domain)}.".encode(), self.terminator)), only])

    def hash_input(self, value: Any) -> bytes:
        """Return the canonical host, not reversed."""
        if not isinstance(value, str):
            self.refuse(value, "a host name (str)")
        try:
            return _canonical(value)
        except InvalidURL as exc:
            self.refuse(value, f"a host name ({exc})")

    def encoder(self) -> Callable[..., bytes]:
        """Return an encoder with a cache of hosts."""
        end = self.terminator
        return _reversed if end is None else lambda value: escaped(_reversed(value), end) + end

    def hash_encoder(self) -> Callable[[Any], bytes]:
        """Return a hash encoder with a cache of hosts."""
        return _canonical

    def kept(self, value: Any) -> str:
        """Return the canonical host."""
        return self.hash_input(value).decode()

    def _raw(self, value: Any) -> bytes:
        self.hash_input(value)
        return _reversed(value)

    def _value(self, raw: bytes) -> Any:
        host = host_of(raw.decode("ascii"))
        if self._raw(host) != raw:
            raise ValueError(raw)
        return host


@cached_by_host
def _canonical(host: str) -> bytes:
    return canonical_host(host).encode()


@cached_by_host
def _reversed(host: str) -> bytes:
    return reversed_host(canonical_host(host)).encode()


def reversed_host(host: str) -> str:
    """Return the labels of a canonical *host* in reverse order; an IP address unchanged.

    >>> reversed_host("www.example.com"), reversed_host("127.0.0.1")
    ('com.example.www', '127.0.0.1')
    """
    return host if is_ip_address(host) else ".".join(reversed(host.split(".")))


def host_of(reversed_name: str) -> str:
    """Return the host of a name from `reversed_host`."""
    # An address begins with a bracket or a number; a reversed domain with its top-level label, which is neither.
    is_address = reversed_name.startswith("[") or reversed_name.partition(".")[0].isdigit()
    return reversed_name if is_address else ".".join(reversed(reversed_name.split(".")))

"""The settings of a crawler that begin with `WEBTABLE_`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from webtable.errors import InvalidArgument
from webtable.page.methods import DEFAULT_METHODS, wanted_methods

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

THREADS = 8

_WRITER = {
    "WEBTABLE_BUFFER_BYTES": int,
    "WEBTABLE_BUFFER_PAGES": int,
    "WEBTABLE_MAX_AGE": float,
    "WEBTABLE_MAX_BODY": int,
    "WEBTABLE_DETECT_LANGUAGE": bool,
    "WEBTABLE_IN_FLIGHT": int,
    "WEBTABLE_DEADLINE": float,
    "WEBTABLE_SPOOL": str,
}
"""The options of `WebTable.writer`, by the names of the settings."""

_KNOWN = {
    *_WRITER,
    "WEBTABLE_URI",
    "WEBTABLE_CREATE",
    "WEBTABLE_OPEN",
    "WEBTABLE_STORE_RESPONSES",
    "WEBTABLE_METHODS",
    "WEBTABLE_THREADS",
    "WEBTABLE_WRITER_PROCESS",
}


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The settings of a crawler: its table, the options to open it and to make its writer, and the concurrent reads.

    *apart* says whether pages are completed and stored in another process, *methods* which requests are answered by
    pages, None for all.
    """

    url: str = field(repr=False)
    opening: dict[str, Any] = field(default_factory=dict)
    writer: dict[str, Any] = field(default_factory=dict)
    threads: int = THREADS
    apart: bool = False
    methods: frozenset[str] | None = DEFAULT_METHODS

    @classmethod
    def of(cls, settings: BaseSettings) -> Self:
        """Return those of webtable in *settings*; raises `InvalidArgument` for a missing, unknown or wrong one."""
        if unknown := sorted(name for name in settings if name.startswith("WEBTABLE_") and name not in _KNOWN):
            raise InvalidArgument(f"{unknown[0]} is not a setting of webtable; there are {', '.join(sorted(_KNOWN))}")
        if not settings.get("WEBTABLE_URI"):
            raise InvalidArgument(
                "the setting WEBTABLE_URI is missing: a file, as in 'crawl.db', or 'hbase://host:9090/table'"
            )
        given = {name: settings.get(name) for name in _WRITER if settings.get(name) is not None}
        given |= {name: settings.getbool(name) for name in given if _WRITER[name] is bool}
        return cls(
            str(settings["WEBTABLE_URI"]),
            {"create": settings.getbool("WEBTABLE_CREATE"), **_dictionary(settings, "WEBTABLE_OPEN")},
            {_argument(name): _as(_WRITER[name], name, value) for name, value in given.items()},
            _as(int, "WEBTABLE_THREADS", settings.get("WEBTABLE_THREADS", THREADS)),
            settings.getbool("WEBTABLE_WRITER_PROCESS"),
            _methods(settings),
        )


def _methods(settings: BaseSettings) -> frozenset[str] | None:
    names = settings.getlist("WEBTABLE_METHODS", [*DEFAULT_METHODS])
    return wanted_methods(["*" if name.strip().lower() == "all" else name.strip() for name in names])


def _argument(name: str) -> str:
    return name.removeprefix("WEBTABLE_").lower()


def _as(kind: type[Any], name: str, value: object) -> Any:
    """Return *value*, which is text if it comes from the command line, converted to *kind*."""
    try:
        return kind(value)
    except (TypeError, ValueError) as exc:
        raise InvalidArgument(f"{name}={value!r} must be of type {kind.__name__}") from exc


def _dictionary(settings: BaseSettings, name: str) -> dict[str, Any]:
    try:
        return settings.getdict(name)
    except ValueError as exc:
        raise InvalidArgument(f"{name}={settings.get(name)!r} must be a dictionary, or one in JSON") from exc

"""The question which pages say that there is nothing, with status 200: by title, heading, or like an error page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import BY_URL, SITE, Listing
from webtable.repository.duplicates.near import AT_LEAST, check_at_least
from webtable.repository.questions.findings import is_read, label_of, problem_option, problems_of
from webtable.repository.questions.pages import ScopeQuestion, ScopeRows, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey.urls import split_url
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from webtable.page.page import Page
    from webtable.page.similarity import Hashes
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope

    ErrorPage = tuple[str, str, Hashes]
    """URL, main text and shingles of an error page."""

ERROR_PAGES: Final = 8
"""With how many different error pages of its host a page is compared."""
_HOSTS_REMEMBERED: Final = 64
_SAYS_SO: Final = re.compile(
    r"\bnot found\b|\b(?:doesn['’]t|does not|no longer) exists?\b|\bno longer available\b"
    r"|(?:^|[|–:-]\s?)404\s?(?:$|[|–:.!-]|error|not|page)|\b(?:error|fehler|erreur|errore|erro)\W{0,3}404\b"
    r"|nicht gefunden|existiert nicht|nicht mehr verfügbar|introuvable|n['’]existe (?:pas|plus)"
    r"|no encontrad[oa]|no existe|não encontrad[oa]|não existe|non trovat[oa]|non esiste|niet gevonden|bestaat niet"
    r"|nie znaleziono|nie istnieje|не найден|не существует|hittades inte|ikke fun[nd]et|nenalezen|bulunamadı"
    r"|見つかりません|找不到|不存在|찾을 수 없",
    re.IGNORECASE,
)
_TABLE = "CREATE TABLE answers (host TEXT, digest TEXT, place BLOB, PRIMARY KEY (host, digest)) WITHOUT ROWID"
_OF_HOST = f"SELECT place FROM answers WHERE host = ? ORDER BY digest LIMIT {ERROR_PAGES}"

Soft404Reason = Literal["title", "heading", "text"]


@dataclass(frozen=True, slots=True)
class Soft404:
    """A page with status 200 that says that there is nothing, by its `title` or `heading`, or by its text.

    Of a text `like` is the URL of the error page of the host that is most like it, and `similarity` that of Jaccard of
    both main texts, as of `NearDuplicate`.
    """

    url: str
    reasons: tuple[Soft404Reason, ...]
    title: str | None
    like: str | None = None
    similarity: float | None = None


LISTING = Listing(
    "soft_404s",
    declared(
        Soft404,
        "soft 404",
        column("url", "url"),
        column("reasons", "urls", lambda page: list(page.reasons), share=1),
        column("title", "title"),
        column("like", "url", share=2),
        column("similarity", "fraction"),
    ),
    orders=BY_URL,
    options=(SITE, AT_LEAST, problem_option(Soft404Reason, "reason")),
    examples=(
        "webtable soft-404s example.com",
        "webtable soft-404s example.com --reason text --at-least 0.9 --format csv > soft-404s.csv",
    ),
    help=f"""List the HTML pages with status 200 that say that there is nothing, as an error page should.

    Their title or first heading says "not found" in one of 17 languages, or their main text is nearly that of one of
    {ERROR_PAGES} pages of the host with status 404 or 410. Pages about errors are listed too.
    """,
)


class Soft404sQuestion(ScopeQuestion[Soft404]):
    """Which pages of a scope say that there is nothing."""

    listing = LISTING
    how: Sequence[str] = ("the metadata of all pages are read first, for error pages with a body",)
    notes: Sequence[str] = ("if there are such error pages, the bodies of all pages are read as well, and compared",)

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        at_least: float,
        reason: Soft404Reason | Collection[Soft404Reason] | None,
    ) -> None:
        super().__init__(context, scope, window)
        check_at_least(at_least)
        self.at_least = at_least
        self.reasons: frozenset[str] | None = problems_of(reason, Soft404Reason, "reason")
        self.title: str = f"{self.pages.label} that say there is nothing, or {at_least:g} of what an error page says"
        self.title += label_of(self.reasons)
        self._around = scope.of_host()

    def spec(self, columns: Sequence[str] = ("body",)) -> ScanSpec:
        return self.pages.spec(Wanted(self.context.codec.select(columns)))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Soft404]:
        pages = ScopeRows(self.context, self._around)
        with TemporaryTables(_TABLE) as scratch:
            is_compared = self.reasons is None or "text" in self.reasons
            stored = pages.all(damage) if is_compared else ()
            answers = (page for page in stored if page.status in (404, 410) and page.has_body)
            rows = ((split_url(page.url).host, page.digest or page.url, pages.by_url(page.url)) for page in answers)
            scratch.fill("answers", rows, 3)

            @lru_cache(_HOSTS_REMEMBERED)
            def error_pages(host: str) -> Sequence[ErrorPage]:
                keys = [self.context.key.encode(url_at(place)) for (place,) in scratch.rows(_OF_HOST, (host,))]
                return list(_read(self.context, keys, damage))

            has_answers = scratch.first("SELECT 1 FROM answers") is not None
            spec = self.spec(("body",) if has_answers else ())
            for page in self.pages.pages(spec, self.window.order, after, damage):
                result = self._judged(page, error_pages) if is_read(page) else None
                if result is not None and (self.reasons is None or not self.reasons.isdisjoint(result.reasons)):
                    yield result

    def _judged(self, page: Page, error_pages: Callable[[str], Sequence[ErrorPage]]) -> Soft404 | None:
        reasons: list[Soft404Reason] = []
        if _SAYS_SO.search(page.title or ""):
            reasons.append("title")
        if _SAYS_SO.search(page.h1 or ""):
            reasons.append("heading")
        like, share = None, 0.0
        others = error_pages(split_url(page.url).host) if page.body else ()
        text = page.main_text if others else None
        if text:
            from webtable.page.similarity import shingles, similarity

            own = shingles(text)
            shares = ((1.0 if other == text else similarity(own, hashes), url) for url, other, hashes in others)
            share, like = max(shares, key=lambda pair: pair[0])
        if share >= self.at_least:
            reasons.append("text")
        if not reasons:
            return None
        is_like = "text" in reasons
        return Soft404(page.url, tuple(reasons), page.title, like if is_like else None, share if is_like else None)


def _read(context: TableContext, keys: Sequence[bytes], damage: Damage) -> Iterator[ErrorPage]:
    """Yield the error pages *keys* that have a main text."""
    from webtable.page.similarity import shingles  # it needs numpy, which a site without error pages does not

    for page in damage.sift(context.counted.read_each(keys, ("body",)) if keys else ()):
        if page is not None and (text := page.main_text):
            yield page.url, text, shingles(text)

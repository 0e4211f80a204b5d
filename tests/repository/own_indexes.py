"""Indexes as a user would define them, by importable names."""

from __future__ import annotations

from webtable import Page
from webtable.indexes import Index

BROKEN = "/broken"


def language_of(page: Page) -> list[str]:
    return [page.headers.get("content-language", "none")]


def path_of(page: Page) -> list[str]:
    return [str(1 / (not page.url.endswith(BROKEN)))]


language = Index("language", language_of)
fragile = Index("fragile", path_of)
titles = Index("titles", lambda page: [page.title])
impostor = Index("time", language_of)

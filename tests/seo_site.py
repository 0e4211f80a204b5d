"""The questions about the shop of the notebooks, each with the right answer, counted by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from made_up_shop import (
    ARTICLES,
    HOST,
    IN_PAGES_SITEMAP,
    LANGUAGES,
    PER_LIST,
    PRODUCTS,
    REDIRECTS,
    SITE,
    SPECIAL,
    article,
    lists,
    product,
)

__all__ = ["HOST", "QUESTIONS", "SITE", "Question"]


class Question(NamedTuple):
    """A question of the library: the options of it beside the site, the columns that are compared, and the rows."""

    name: str
    options: Mapping[str, str]
    columns: tuple[str, ...]
    rows: frozenset[tuple[object, ...]]


def question(name: str, columns: str, rows: Iterable[object], **options: str) -> Question:
    """Return a question whose *rows* are texts for one column, else tuples; *columns* are parted by spaces."""
    as_tuples = (row if isinstance(row, tuple) else (row,) for row in rows)
    return Question(name, options, tuple(columns.split()), frozenset(as_tuples))


CASE = "/cases/{}".format
NOINDEX = {*map(CASE, ("noindex", "noindex-header", "noindex-googlebot")), product(10)}
CANONICALISED = {
    *map(CASE, ("canonicalised", "canonical-chain", "canonical-to-error", "canonical-to-redirect")),
    *map(CASE, ("canonical-to-noindex", "canonical-abroad")),
    product(11),
}
ERRORS = {CASE("gone-410"), CASE("error-500"), CASE("missing-404"), product(14)}
REDIRECTING = {*REDIRECTS, product(15)}
NOT_HTML = {"/robots.txt", "/sitemap.xml", "/sitemap-products.xml.gz", "/sitemap-pages.xml"}
LISTS = {path for path, _, _ in lists()}
PAGES = {"/", "/about", "/blog/", "/cases/", "/products/?sort=price", "/private/1", "/orphan", "/blog/new", *NOT_HTML}
PAGES |= {*LISTS, *map(product, range(PRODUCTS)), *map(article, range(ARTICLES)), *SPECIAL, *REDIRECTS, *LANGUAGES}
INDEXABLE = PAGES - NOINDEX - CANONICALISED - ERRORS - REDIRECTING - NOT_HTML - {"/private/1"}
IN_SITEMAPS = {*map(product, range(PRODUCTS)), *IN_PAGES_SITEMAP}
TO_LONELY = "/cases/missing-404"
# The menu of each page leads to the lists, and its foot to "About us"; a list to the next one and to its products. A
# redirect is no click.
DEPTHS = {"/": 0, "/about": 1, "/products/": 1, "/blog/": 1, "/cases/": 1, "/private/1": 1}
DEPTHS |= dict.fromkeys(LANGUAGES, 1) | {f"/products/?page={number}": number for number in range(2, 6)}
DEPTHS |= {product(number): 2 + number // PER_LIST for number in range(PRODUCTS)}
DEPTHS |= dict.fromkeys(map(article, range(ARTICLES)), 2) | dict.fromkeys(SPECIAL, 2)
DEPTHS |= dict.fromkeys(REDIRECTS, 1) | {TO_LONELY: 1}
DEPTHS |= dict.fromkeys(PAGES - DEPTHS.keys())
BETWEEN, BEFORE_SECOND = "2026-11-12", "2026-11-16"
CHANGED = (
    (product(10), "changed", ("robots",)),
    (product(11), "changed", ("content", "canonical")),
    (product(12), "changed", ("content", "description")),
    (product(13), "changed", ("content", "title")),
    (product(16), "changed", ("content",)),
)
"""The pages that changed in the second crawl; the last has another comment and another token."""
NEW = ("/blog/new", "new", None)
GONE = (product(14), "gone", ("content", "status", "title", "description", "h1"))
MOVED = (
    product(15),
    "moved",
    ("content", "status", "redirect_to", "title", "description", "h1", "language"),
)
QUESTIONS = (
    question("pages", "url", PAGES),
    question("indexability", "url", INDEXABLE, verdict="indexable"),
    question("indexability", "url", NOINDEX, verdict="noindex"),
    question("indexability", "url", CANONICALISED, verdict="canonicalised"),
    question("indexability", "url", REDIRECTING, verdict="redirect"),
    question("indexability", "url", ERRORS, verdict="error"),
    question("indexability", "url", NOT_HTML, verdict="not html"),
    question("indexability", "url reason", [("/private/1", "Disallow: /private/")], verdict="blocked"),
    question("errors", "url", ERRORS),
    question("with_status", "url", [CASE("gone-410"), product(14)], status="410"),
    question("redirects", "url", REDIRECTING),
    question(
        "redirect_chains", "length end", [(3, 200), (2, 301), (1, 404), (1, None)], problem="long,loop,error,missing"
    ),
    question("sitemaps", "url", IN_SITEMAPS & NOINDEX, problem="noindex"),
    question("sitemaps", "url", IN_SITEMAPS & CANONICALISED, problem="canonicalised"),
    question("sitemaps", "url", IN_SITEMAPS & ERRORS, problem="error"),
    question("sitemaps", "url", IN_SITEMAPS & REDIRECTING, problem="redirect"),
    question("sitemaps", "url sitemap", [("/never-crawled", "/sitemap-pages.xml")], problem="missing"),
    question("sitemaps", "url", INDEXABLE - IN_SITEMAPS, problem="unlisted"),
    question("titles", "url", [CASE("no-title")], problem="missing"),
    question("titles", "url", [CASE("long-title")], problem="too long"),
    question("titles", "url", map(CASE, ("same-title-1", "same-title-2", "copy-1", "copy-2")), problem="duplicate"),
    question("pages", "url", [CASE("no-description")], finding="no-description"),
    question("pages", "url", [CASE("no-h1")], finding="no-h1"),
    question("pages", "url", [CASE("canonical-conflict")], finding="canonical-conflict"),
    question("duplicate_groups", "urls", [((CASE("copy-1"), CASE("copy-2")),)]),
    question(
        "near_duplicate_groups",
        "urls",
        [((CASE("copy-1"), CASE("copy-2")),), (("/products/", "/products/?sort=price"),)],
    ),
    question("images", "url src", [(CASE("images"), "/a.png")], alt="missing"),
    question("images", "url src", [(CASE("images"), "/b.png")], alt="empty"),
    question(
        "images",
        "url src width loading",
        [(CASE("images"), "/c.png", "40", "lazy")],
        alt="text",
        include="/cases/images",
    ),
    question("headings", "level text", [(1, "Article 7"), (2, "First"), (3, "Second")], include="/blog/07"),
    question("structured_data", "url", [CASE("broken-json")], problem="broken"),
    question("structured_data", "url", [CASE("broken-json")], problem="empty"),
    question(
        "insecure_content",
        "url problem target",
        [
            (CASE("mixed"), "mixed content", "http://cdn.example/a.js"),
            (CASE("form"), "form to http", "http://shop.example/login"),
        ],
    ),
    question("orphans", "url", ["/orphan", "/blog/new", "/products/?sort=price"]),
    question(
        "broken_links",
        "source target status",
        [
            ("/cases/", TO_LONELY, 404),
            ("/old/to-error", TO_LONELY, 404),
            ("/cases/", CASE("gone-410"), 410),
            ("/cases/", CASE("error-500"), 500),
            ("/products/", product(14), 410),
        ],
    ),
    question("discovered", "url", ["/never-crawled"]),
    question("canonicals", "url", [CASE("canonical-chain")], problem="chain"),
    question("canonicals", "url target", [(CASE("canonical-to-error"), TO_LONELY)], problem="error"),
    question("canonicals", "url target", [(CASE("canonical-to-redirect"), "/old/about")], problem="redirect"),
    question("canonicals", "url", [CASE("canonical-to-noindex")], problem="noindex"),
    question("canonicals", "url target", [(CASE("canonical-abroad"), "https://other.example/")], problem="other-host"),
    question("canonicals", "url", [CASE("canonical-conflict")], problem="conflict"),
    question("hreflang", "url target", [("/fr/size-guide", "/en/size-guide")], problem="no-return"),
    question("hreflang", "url language", [("/en-gb/size-guide", "en-uk")], problem="code"),
    question("pagination", "url", ["/products/?page=5"], problem="sequence"),
    question("soft_404s", "url", [CASE("soft-404")]),
    question("depths", "url clicks", [*DEPTHS.items()]),
    question("near_duplicate_groups", "urls", [(("/products/", "/products/?sort=price"),)], facets="true"),
    question(
        "links_of",
        "url anchor rel position",
        [
            ("/", "Shop", "", "header"),
            ("/products/", "Products", "", "nav"),
            ("/blog/", "Blog", "", "nav"),
            (product(0), "Lamp", "nofollow", "main"),
            (product(0), "The lamp", "", "main"),
            ("/about", "About us", "", "footer"),
        ],
        url=f"{SITE}/cases/two-links",
    ),
    question("changes", "url kind changed", [*CHANGED, NEW, GONE, MOVED], since=BETWEEN),
    question("changes", "url kind changed", {*CHANGED[:4], NEW, GONE, MOVED}, since=BETWEEN, ignore="boilerplate"),
    question("changes", "url kind changed", CHANGED[:1], since=BETWEEN, fields="robots"),
    question("changes", "url", [product(17)], since=BETWEEN, kind="missing", met_since=BEFORE_SECOND),
)

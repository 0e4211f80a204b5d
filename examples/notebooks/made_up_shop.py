"""A made-up shop with everything that an SEO looks for, crawled twice, a week apart.

Each page says once what is wrong with it. Paths stand for URLs of `SITE`. `tests/seo_site.py` has the right answer to
each question about it, counted by hand.
"""

from __future__ import annotations

import gzip
import html
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import webtable
from webtable import Page

HOST = "shop.example"
SITE = f"https://{HOST}"
SECOND = datetime(2026, 11, 16, 6, tzinfo=UTC)
FIRST = SECOND - timedelta(days=7)
"""When the two crawls began."""
PRODUCTS, PER_LIST = 150, 30
ARTICLES = 20


def url(path: str) -> str:
    """Return the URL of a *path*; a URL stays as it is."""
    return path if "//" in path else f"{SITE}{path}"


def product(number: int) -> str:
    """Return the path of a product."""
    return f"/products/{number:03}"


def article(number: int) -> str:
    """Return the path of an article."""
    return f"/blog/{number:02}"


def words(seed: str, count: int = 120) -> str:
    """Return a text that no other seed shares."""
    return " ".join(f"{seed}{number}" for number in range(count))


MENU = '<header><a href="/">Shop</a></header><nav><a href="/products/">Products</a> <a href="/blog/">Blog</a></nav>'
FOOT = '<footer><a href="/about">About us</a></footer>'


def markup(
    title: str | None,
    *content: str,
    head: str = "",
    h1: str | None = "",
    description: str | None = "",
    text: str | None = None,
) -> str:
    """Return a page; without another value its heading is its title, and its description is made of it."""
    heading = title if h1 == "" else h1
    described = f"All about {title}." if description == "" else description
    return "".join(
        (
            "<!DOCTYPE html><html lang=en><head>",
            f"<title>{html.escape(title)}</title>" if title is not None else "",
            f'<meta name="description" content="{html.escape(described)}">' if described is not None else "",
            f"{head}</head><body>{MENU}<main>",
            f"<h1>{html.escape(heading)}</h1>" if heading is not None else "",
            *content,
            f"<p>{words(title or 'untitled') if text is None else text}</p></main>{FOOT}</body></html>",
        )
    )


def json_ld(text: str) -> str:
    """Return *text* as structured data."""
    return f'<script type="application/ld+json">{text}</script>'


def links(paths: Iterable[str]) -> str:
    """Return links to *paths*, with these as their texts."""
    return "".join(f'<a href="{path}">{path}</a>' for path in paths)


SPECIAL = tuple(
    f"/cases/{name}"
    for name in (
        "no-title", "no-description", "no-h1", "long-title", "same-title-1", "same-title-2", "noindex",
        "noindex-header", "noindex-googlebot", "canonicalised", "canonical-chain", "canonical-to-error",
        "canonical-to-redirect",
        "canonical-to-noindex", "canonical-abroad", "canonical-conflict", "copy-1", "copy-2", "images", "broken-json",
        "mixed", "form", "two-links", "soft-404", "gone-410", "error-500", "missing-404",
    )
)  # fmt: skip
REDIRECTS = {
    "/old/about": "/about",
    "/old/1": "/old/2",  # a chain of three
    "/old/2": "/old/3",
    "/old/3": "/products/",
    "/old/loop-1": "/old/loop-2",
    "/old/loop-2": "/old/loop-1",
    "/old/to-error": "/cases/missing-404",
    "/old/to-nothing": "/never-crawled",
}
LANGUAGES = ("/en/size-guide", "/de/size-guide", "/fr/size-guide", "/en-gb/size-guide")
HREFLANG = {
    # What each page names: the English and the German page name each other; the French one names the English one, which
    # does not name it; the page for Britain has a wrong code, for the country's is GB.
    "/en/size-guide": (("en", "/en/size-guide"), ("de", "/de/size-guide"), ("x-default", "/en/size-guide")),
    "/de/size-guide": (("en", "/en/size-guide"), ("de", "/de/size-guide")),
    "/fr/size-guide": (("fr", "/fr/size-guide"), ("en", "/en/size-guide")),
    "/en-gb/size-guide": (("en-UK", "/en-gb/size-guide"),),
}
ROBOTS = f"User-agent: *\nDisallow: /private/\nSitemap: {SITE}/sitemap.xml\n"
INDEX = "".join(f"<sitemap><loc>{SITE}/sitemap-{name}</loc></sitemap>" for name in ("products.xml.gz", "pages.xml"))
IN_PAGES_SITEMAP = (
    "/", "/products/", "/blog/", "/about", *LANGUAGES, "/cases/noindex", "/cases/canonicalised", "/cases/missing-404",
    "/old/about", "/never-crawled",
)  # fmt: skip


def sitemap(paths: Iterable[str]) -> str:
    """Return a sitemap of *paths*."""
    locations = "".join(f"<url><loc>{url(path)}</loc></url>" for path in paths)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'


def lists() -> Iterator[tuple[str, str, str]]:
    """Yield the pages of the list of products: path, head and markup. The last but one names no next page."""
    last = PRODUCTS // PER_LIST
    for number in range(1, last + 1):
        path = "/products/" if number == 1 else f"/products/?page={number}"
        before = "/products/" if number == 2 else f"/products/?page={number - 1}"
        head = f'<link rel="prev" href="{before}">' if number > 1 else ""
        head += f'<link rel="next" href="/products/?page={number + 1}">' if number < last - 1 else ""
        shown = links(map(product, range((number - 1) * PER_LIST, number * PER_LIST)))
        onward = f'<a href="/products/?page={number + 1}">Next</a>' if number < last else ""
        yield path, head, shown + onward


def pages(crawl: datetime) -> Iterator[Page]:
    """Yield the pages of the crawl that began at one of the two moments, one a second."""
    for second, page in enumerate(_pages(crawl)):
        yield Page(**{**page, "url": url(page["url"]), "fetched_at": crawl + timedelta(seconds=second)})


def _pages(crawl: datetime) -> Iterator[dict[str, Any]]:
    is_second = crawl == SECOND

    def page(path: str, text: str = "", **fields: Any) -> dict[str, Any]:
        fields.setdefault("content_type", "text/html; charset=utf-8")
        return {"url": path, "body": text.encode(), **fields}

    yield page("/robots.txt", ROBOTS, content_type="text/plain")
    yield page("/sitemap.xml", f"<sitemapindex>{INDEX}</sitemapindex>", content_type="application/xml")
    yield {
        "url": "/sitemap-products.xml.gz",
        "body": gzip.compress(sitemap(map(product, range(PRODUCTS))).encode(), mtime=0),
        "content_type": "application/gzip",
    }
    yield page("/sitemap-pages.xml", sitemap(IN_PAGES_SITEMAP), content_type="application/xml")
    doors = [
        "/cases/",
        "/old/about",
        "/old/1",
        "/old/loop-1",
        "/old/to-error",
        "/old/to-nothing",
        "/private/1",
        *LANGUAGES,
    ]
    yield page("/", markup("Shop", links(doors)))
    yield page("/about", markup("About us"))
    for path, head, shown in lists():
        yield page(path, markup(f"Products {path.rpartition('=')[2]}", shown, head=head))
    # The same list, sorted: the same text, at an address that nobody needs.
    yield page("/products/?sort=price", markup("Products by price", text=words("Products /products/")))
    for number in range(PRODUCTS):
        if text := _product(number, is_second=is_second):
            yield page(product(number), **text)
    yield page("/blog/", markup("Blog", links(map(article, range(ARTICLES)))))
    for number in range(ARTICLES):
        yield page(article(number), markup(f"Article {number}", "<h2>First</h2><h3>Second</h3>"))
    if is_second:
        yield page("/blog/new", markup("A new article"))
    yield page("/cases/", markup("Cases", links(SPECIAL)))
    yield from _cases(page)
    for source, target in REDIRECTS.items():
        yield page(source, status=301, redirect_to=url(target), content_type=None)
    for path, alternates in HREFLANG.items():
        head = "".join(f'<link rel="alternate" hreflang="{code}" href="{target}">' for code, target in alternates)
        yield page(path, markup(f"Size guide {path}", head=head))
    yield page("/private/1", markup("Private"))
    yield page("/orphan", markup("Orphan"))


def _product(number: int, *, is_second: bool) -> dict[str, Any] | None:
    """Return what is at the page of a product; None where the crawl did not meet it."""
    name = f"Product {number:03}"
    data = json_ld(f'{{"@context": "https://schema.org", "@type": "Product", "name": "{name}"}}')
    fields: dict[str, Any] = {"text": markup(name, data)}
    if is_second:
        match number:
            case 10:
                fields["headers"] = {"X-Robots-Tag": "noindex"}  # the body is the same
            case 11:
                fields["text"] = markup(name, data, head='<link rel="canonical" href="/products/012">')
            case 12:
                fields["text"] = markup(name, data, description="Another description.")
            case 13:
                fields["text"] = markup(
                    f"{name}, new", data, h1=name, description=f"All about {name}.", text=words(name)
                )
            case 14:
                return {"text": markup("Gone"), "status": 410}
            case 15:
                return {"status": 301, "redirect_to": url("/products/016"), "content_type": None}
            case 16:
                # A comment and a token are another body, and no other page.
                fields["text"] = markup(name, data, "<!-- built 7 --><input type=hidden name=csrf value=b7>")
            case 17:
                return None
    elif number == 16:
        fields["text"] = markup(name, data, "<!-- built 6 --><input type=hidden name=csrf value=a6>")
    return fields


def _cases(page: Any) -> Iterator[dict[str, Any]]:
    """Yield the pages of `SPECIAL`, and what they lead to."""

    def canonical(target: str) -> str:
        return f'<link rel="canonical" href="{target}">'

    yield page("/cases/no-title", markup(None, h1="No title", description="It has no title."))
    yield page("/cases/no-description", markup("No description", description=None))
    yield page("/cases/no-h1", markup("No heading", h1=None))
    yield page(
        "/cases/long-title", markup("A title of sixty-one characters, which is one more than it may.", h1="Long")
    )
    yield page("/cases/same-title-1", markup("The same title", h1="First", text=words("first")))
    yield page("/cases/same-title-2", markup("The same title", h1="Second", text=words("second")))
    yield page("/cases/noindex", markup("Noindex", head='<meta name="robots" content="noindex, follow">'))
    yield page("/cases/noindex-header", markup("Noindex by header"), headers={"X-Robots-Tag": "noindex"})
    yield page("/cases/noindex-googlebot", markup("Noindex for one", head='<meta name="googlebot" content="noindex">'))
    yield page("/cases/canonicalised", markup("Canonicalised", head=canonical("/about")))
    yield page("/cases/canonical-chain", markup("Canonical chain", head=canonical("/cases/canonicalised")))
    yield page("/cases/canonical-to-error", markup("Canonical to an error", head=canonical("/cases/missing-404")))
    yield page("/cases/canonical-to-redirect", markup("Canonical to a redirect", head=canonical("/old/about")))
    yield page("/cases/canonical-to-noindex", markup("Canonical to noindex", head=canonical("/cases/noindex")))
    yield page("/cases/canonical-abroad", markup("Canonical abroad", head=canonical("https://other.example/")))
    yield page("/cases/canonical-conflict", markup("Two canonicals", head=canonical("/about") + canonical("/blog/")))
    copy = markup("Copied", text=words("copied"))
    yield page("/cases/copy-1", copy)
    yield page("/cases/copy-2", copy)
    images = (
        '<img src="/a.png"><img src="/b.png" alt=""><img src="/c.png" alt="A lamp" width=40 height=30 loading=lazy>'
    )
    yield page("/cases/images", markup("Images", images))
    yield page("/cases/broken-json", markup("Broken data", json_ld('{"@type": "Product",}'), json_ld("")))
    yield page("/cases/mixed", markup("Mixed content", '<script src="http://cdn.example/a.js"></script>'))
    yield page("/cases/form", markup("A form", '<form action="http://shop.example/login"></form>'))
    image = '<a rel="nofollow" href="/products/000"><img src="/lamp.png" alt="Lamp"></a>'
    yield page("/cases/two-links", markup("Two links to one page", image, '<a href="/products/000">The lamp</a>'))
    yield page("/cases/soft-404", markup("Page not found", text="Sorry, the page that you want does not exist."))
    yield page("/cases/gone-410", markup("Gone for good"), status=410)
    yield page("/cases/error-500", markup("Server error"), status=500)
    yield page(
        "/cases/missing-404", markup("Not found", text="Sorry, the page that you want does not exist."), status=404
    )


def store_shop(table: webtable.WebTable) -> None:
    """Store both crawls in *table*, which gets the indexes that are added by who wants them."""
    for name in ("similarity", "indexstatus"):
        table.indexes.add(name)
    for crawl in (FIRST, SECOND):
        with table.writer() as writer:
            writer.put_many(pages(crawl))
    table.links.refresh()

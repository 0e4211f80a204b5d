"""Pages with status 200 that say that there is nothing, on every store."""

from __future__ import annotations

import pytest
from damaging import damage

from store_differences import on_every_store
from webtable.errors import InvalidArgument

WORDS = [f"word{n}" for n in range(60)]


def page(site, path, text=WORDS, *, title="Lamps", h1="", **fields):
    body = f"<title>{title}</title><main>{h1 and f'<h1>{h1}</h1>'}<p>{' '.join(text)}</p></main>".encode()
    return site.page(path, **{"body": body, "content_type": "text/html", "title": None, **fields})


def reasons(site, *args, **options):
    answer = site.table.soft_404s(*(args or (site.domain,)), **options)
    return {page.url.removeprefix(site.url("")): " ".join(page.reasons) for page in answer}


@on_every_store
@pytest.mark.parametrize("order", ["url", "storage"])
def test_pages_that_are_like_an_error_page_or_say_so_are_listed_with_the_reason(site, order):
    site.store(
        page(site, "/gone", status=404),
        page(site, "/same"),
        page(site, "/nearly", WORDS[:-2]),
        page(site, "/half", WORDS[:30]),
        page(site, "/other", ["different"] * 60),
        page(site, "/said", ["other", "words"], title="Page not found | Shop"),
        page(site, "/heading", ["other", "words"], h1="Seite nicht gefunden"),
        page(site, "/both", title="404"),
        page(site, "/text", content_type="text/plain"),
        page(site, "/error", status=500),
        page(site, "/same", host="www"),
    )

    assert reasons(site, order=order) == {
        "/same": "text",
        "/nearly": "text",
        "/said": "title",
        "/heading": "heading",
        "/both": "title text",
    }
    found = {page.url: page for page in site.table.soft_404s(site.domain, reason="text")}
    nearly = found[site.url("/nearly")]
    # Of 56 and 54 shingles of five words 54 are common.
    assert (nearly.like, round(nearly.similarity, 3)) == (site.url("/gone"), round(54 / 56, 3))
    assert found[site.url("/same")].similarity == 1.0
    assert reasons(site, at_least=1.0, reason="text").keys() == {"/same", "/both"}


def test_the_error_pages_of_the_whole_host_count_for_a_directory(site):
    site.store(page(site, "/gone", status=410), page(site, "/a/same"), page(site, "/b/same"))

    assert reasons(site, site.url("/a/")) == {"/a/same": "text"}


def test_short_texts_are_compared_as_a_whole(site):
    site.store(
        page(site, "/gone", ["Sorry!"], status=404), page(site, "/same", ["Sorry!"]), page(site, "/no", ["Hello!"])
    )

    assert reasons(site) == {"/same": "text"}


def test_without_error_pages_no_body_is_read(site):
    site.store(page(site, "/a", title="Error 404"), page(site, "/b", status=404, body=None))

    answer = site.table.soft_404s(site.domain)

    assert [(page.reasons, page.like, page.similarity) for page in answer] == [(("title",), None, None)]


@pytest.mark.parametrize(
    "title",
    [
        "404", "404 - Shop", "Shop | 404", "404 Page not found", "Error 404", "Fehler 404!", "Page Not Found",
        "This page doesn’t exist", "Page introuvable", "Página no encontrada", "Страница не найдена",
        "ページが見つかりません", "Strony nie znaleziono",
    ],
)  # fmt: skip
def test_titles_say_so_in_several_languages(site, title):
    site.store(page(site, "/", title=title))

    assert reasons(site) == {"/": "title"}


@pytest.mark.parametrize("title", ["Peugeot 404", "404 Media", "Founded in 1404", "Foundation", "Lamp 4040"])
def test_other_titles_do_not(site, title):
    site.store(page(site, "/", title=title))

    assert reasons(site) == {}


def test_an_answer_goes_on_after_each_token(site):
    site.store(page(site, "/gone", status=404), *(page(site, f"/{n}") for n in range(7)))
    pieces, token = [], None
    while True:
        batch = site.table.soft_404s(site.domain, after=token).page(2)
        pieces += batch
        if not (token := batch.next_token):
            break

    assert pieces == list(site.table.soft_404s(site.domain))
    assert len(pieces) == 7


def test_a_damaged_error_page_is_counted(site):
    site.store(page(site, "/gone", status=404), page(site, "/same"))
    damage(site.table, site.url("/gone"))

    answer = site.table.soft_404s(site.domain)

    assert list(answer) == []
    assert len(answer.damaged) == 1


def test_wrong_arguments_are_refused(site):
    with pytest.raises(InvalidArgument, match="reason='body' must be one of title"):
        site.table.soft_404s(site.domain, reason="body")
    with pytest.raises(InvalidArgument, match="at_least=0"):
        site.table.soft_404s(site.domain, at_least=0)

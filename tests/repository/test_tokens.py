"""Page tokens: what was altered is refused, whatever it has become."""

from __future__ import annotations

import random

import pytest
from damaging import Web

from webtable import Link
from webtable.errors import InvalidToken


@pytest.fixture
def web(site):
    return Web(site)


@pytest.mark.parametrize(
    "ask",
    [
        lambda web, after: web.table.pages(web.site.domain, after=after),
        lambda web, after: web.table.fetched(domain=web.site.domain, after=after),
        lambda web, after: web.table.links_of(web.url("/"), after=after),
        lambda web, after: web.table.linking_to(web.url("/b"), after=after),
        lambda web, after: web.table.broken_links(domain=web.site.domain, after=after),
    ],
    ids=["pages", "fetched", "links_of", "linking_to", "broken_links"],
)
def test_an_altered_token_is_always_refused(web, ask):
    web.site.store(web.site.page("/c", outlinks=(Link(web.url("/gone")),)))
    token = ask(web, None).page(1).next_token
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    rng = random.Random(3)

    altered = {token[:at] for at in range(len(token))} | {token + "A", token + "=", "", "é", "\ud800", "A" * 9}
    for _ in range(2_000):
        at, count = rng.randrange(len(token)), rng.randint(1, 3)
        altered.add(token[:at] + "".join(rng.choices(letters, k=count)) + token[at + count :])
    for one in altered - {token}:
        with pytest.raises(InvalidToken):
            ask(web, one)

    assert len(list(ask(web, token))) == len(list(ask(web, None))) - 1

"""The questions of an SEO on a shop whose faults were counted by hand, in each way in which they are asked."""

from __future__ import annotations

import io
import json
from operator import attrgetter

import pytest
from exploring import explored
from made_up_shop import product, store_shop
from running import webtable_command

import webtable
from seo_site import BETWEEN, HOST, QUESTIONS, SITE, Question
from webtable.formats import write
from webtable.questions import LISTINGS, read_for


@pytest.fixture(scope="module")
def shop_url(new_url):
    url = new_url()
    with webtable.open(url, create=True, versions=5) as table:
        store_shop(table)
    return url


@pytest.fixture(scope="module")
def shop(shop_url):
    with webtable.open(shop_url) as table:
        yield table


@pytest.fixture(scope="module")
def client(shop):
    with explored(shop) as client:
        yield client


def texts_of(question: Question) -> dict[str, list[str]]:
    of_site = {"site": [HOST]} if "site" in LISTINGS[question.name].takes else {}
    return {name: text.split(",") for name, text in question.options.items()} | of_site


def answer(table, question: Question):
    listing = LISTINGS[question.name]
    arguments = listing.arguments(texts_of(question))
    method = attrgetter(listing.method)(table)
    return method(**arguments, **({"columns": read_for(question.columns)} if listing.is_of_pages else {}))


def by_method(table, url, client, question):
    out = io.StringIO()
    write(answer(table, question), out, format="jsonl", columns=question.columns)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def by_command(table, url, client, question):
    listing = LISTINGS[question.name]
    words = [listing.name.replace("_", "-")]
    for option in listing.options:
        for value in texts_of(question).get(option.name, ()):
            flag = f"--{(option.flag or option.name).replace('_', '-')}"
            words += [value] if option.is_argument else [flag] if option.kind == "flag" else [flag, value]
    words += ["--columns", ",".join(question.columns), "--format", "jsonl"]
    done = webtable_command("-s", url, *words)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.lines]


def by_frame(table, url, client, question):
    frame = answer(table, question).to_pandas()
    return frame[list(question.columns)].to_dict("records")


def by_explorer(table, url, client, question):
    query = texts_of(question) | {"columns": ",".join(question.columns)}
    response = client.get(f"/q/{question.name}.jsonl", params=query)
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


def plain(value: object) -> object:
    """A value as the truth has it: paths for URLs, tuples for lists, None for what is missing."""
    match value:
        case str():
            return value.removeprefix(SITE)
        case list() | tuple():
            return tuple(map(plain, value))
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if value != value else int(value) if isinstance(value, float) else value


@pytest.mark.parametrize("ask", [by_method, by_command, by_frame, by_explorer])
@pytest.mark.parametrize(
    "question", QUESTIONS, ids=lambda question: f"{question.name}-{'-'.join(question.options.values())}"
)
def test_it_is_answered_with_the_pages_that_were_counted_by_hand(shop, shop_url, client, question, ask):
    rows = ask(shop, shop_url, client, question)

    compared = [tuple(plain(row.get(name)) for name in question.columns) for row in rows]
    assert set(compared) == question.rows


def test_a_page_is_shown_with_the_robots_that_it_had_at_a_moment(shop):
    address = SITE + product(10)

    before, after = shop.get(address, as_of=BETWEEN), shop.get(address)

    assert (before.index_status, after.index_status) == ("indexable", "noindex")
    assert [page.robots for page in shop.history(address)] == ["noindex", None]
    assert shop.diff(address).facts == {"robots": (None, "noindex")}

"""The page of row keys: keys with their parts, and split points."""

from __future__ import annotations

import html
from typing import Any

import pytest

import webtable
from webtable.explorer.views import keys
from webtable.rowkey import Salt, key_text, sample_split_points, split_points

URLS = ["https://example.com/", "http://example.com:8080/products?id=7", "https://docs.example.com/guide/"]


def points(found: dict[str, Any], name: str) -> list[str]:
    return [one["key"] for one in found.get(name, [])]


@pytest.mark.parametrize("salt", [Salt.host(), Salt.url(), Salt.none()], ids=lambda salt: salt.source)
def test_urls_are_shown_with_the_keys_that_they_have_in_the_table(serving, salt):
    with webtable.open(f"memory:keys-{salt.source}", create=True, salt=salt) as table, serving(table) as client:
        asked = {"urls": "\r\n".join(["", *URLS, " "]), "regions": "4"}
        shown, found = client.get("/keys", params=asked), client.get("/keys.json", params=asked).json()

        made = [table.key.encode(url) for url in URLS]
        assert shown.status_code == 200
        assert all(html.escape(key_text(key)) in shown.text for key in made)
        assert [bytes.fromhex(one["hex"]) for one in found["keys"]] == made
        assert points(found, "split_points") == ([key_text(one) for one in split_points(4)] if salt.digits else [])
        assert points(found, "split_points_by_urls") == [key_text(one) for one in sample_split_points(made, 4)]


def test_without_urls_there_are_the_form_and_the_points_of_the_salts(sample_client):
    shown, found = sample_client.get("/keys").text, sample_client.get("/keys.json").json()

    assert "<textarea" in shown
    assert "10 20 30 40" in shown
    assert ("keys" in found, found["problem"]) == (False, None)


def test_a_line_that_is_no_url_says_so_beside_the_others(sample_client):
    asked = {"urls": "https://example.com/\n<script>alert(1)</script>"}
    shown, found = sample_client.get("/keys", params=asked).text, sample_client.get("/keys.json", params=asked).json()

    assert "is not a URL" in shown
    assert "<script>alert" not in shown
    assert "is not a URL" in found["keys"][1]["problem"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"regions": "0"}, "from 1 to 1,000"),
        ({"regions": "many"}, "must be a number"),
        ({"urls": "a\n" * (keys.MOST_URLS + 1)}, "too many"),
    ],
)
def test_what_is_wrong_is_a_sentence(sample_client, asked, said):
    for path in ("/keys", "/keys.json"):
        found = sample_client.get(path, params=asked)
        assert found.status_code == 400
        assert said in found.text


def test_it_begins_before_the_store_answers(sample, begins_without_the_store):
    assert begins_without_the_store(sample, "/keys?urls=https://example.com/")

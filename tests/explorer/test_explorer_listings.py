"""Every question has a page and files, which have what its method returns."""

from __future__ import annotations

import csv
import io
import json

import pytest

from webtable.questions import LISTINGS

NEEDED = {
    "url": "https://example.com/",
    "status": "404",
    "index": "status",
    "text": "salt",
    "since": "400d",
    "not_fetched_since": "1h",
}
WITHOUT_INDEX = {"near_duplicates", "near_duplicate_groups"}


def asked(name: str) -> dict[str, str]:
    needed = {option.name: NEEDED[option.name] for option in LISTINGS[name].options if option.name in NEEDED}
    return needed | ({"site": "all"} if "site" in LISTINGS[name].takes else {})


@pytest.mark.parametrize("name", LISTINGS)
def test_a_question_has_a_page_with_its_form_and_its_answer(sample, sample_client, name):
    found = sample_client.get(f"/q/{name.replace('_', '-')}", params=asked(name))

    assert found.status_code == 200
    assert all(f'name="{option.name}"' in found.text for option in LISTINGS[name].options)
    assert ("IndexNeeded" in found.text or "needs the index" in found.text) == (name in WITHOUT_INDEX)


@pytest.mark.parametrize("name", [name for name in LISTINGS if name not in WITHOUT_INDEX])
def test_its_files_have_all_of_the_answer(sample, sample_client, name):
    path, listing = f"/q/{name.replace('_', '-')}", LISTINGS[name]
    records = list(listing.ask(sample, listing.arguments({key: [value] for key, value in asked(name).items()})))

    answer = sample_client.get(f"{path}.json", params=asked(name)).json()
    lines = sample_client.get(f"{path}.jsonl", params=asked(name)).text.splitlines()
    rows = list(csv.DictReader(io.StringIO(sample_client.get(f"{path}.csv", params=asked(name)).text)))

    assert len(answer["results"]) == len(lines) == len(rows) == len(records)
    assert (answer["next"], answer["problem"]) == (None, None)
    assert answer["results"] == [json.loads(line) for line in lines]


def test_an_answer_goes_on_by_its_token_until_its_end(sample_client):
    whole = sample_client.get("/q/pages.json", params={"site": "example.com"}).json()["results"]
    query, found = {"site": "example.com", "limit": "7"}, []
    while True:
        answer = sample_client.get("/q/pages.json", params=query).json()
        found += answer["results"]
        if answer["next"] is None:
            break
        query["after"] = answer["next"]

    assert found == whole

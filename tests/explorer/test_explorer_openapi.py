"""The OpenAPI description is valid, and says of each question and protocol what can be asked of it."""

from __future__ import annotations

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from webtable.explorer.archive_api.cdx import PARAMETERS
from webtable.explorer.page_model import MEDIA
from webtable.questions import LISTINGS


@pytest.fixture(scope="module")
def described(sample_client):
    return sample_client.get("/openapi.json").json()


def parameters(described, path):
    return {one["name"]: one for one in described["paths"][path]["get"]["parameters"]}


@pytest.mark.slow
def test_it_is_valid(described):
    OpenAPIV31SpecValidator(described).validate()


@pytest.mark.parametrize("name", LISTINGS)
def test_it_has_every_parameter_of_a_question(described, name):
    listing = LISTINGS[name]

    known = parameters(described, f"/q/{name.replace('_', '-')}.{{ending}}")

    assert known.keys() == listing.takes | {"ending", "order", "limit", "after", "columns"}
    assert known["ending"]["schema"]["enum"] == list(MEDIA)
    assert known["columns"]["schema"]["items"]["enum"] == list(listing.columns.names)
    assert [one.name for one in listing.options if known[one.name]["required"]] == [
        one.name for one in listing.options if one.is_needed
    ]


@pytest.mark.slow
def test_what_it_describes_is_answered(described, sample_client):
    examples = {name: text for listing in LISTINGS.values() for name, text in listing.example.items()}
    examples |= {"ending": "jsonl", "time": "2026", "form": "json"}
    assert described["servers"] == [{"url": "/"}]
    for path, operations in described["paths"].items():
        asked = [one for one in operations["get"]["parameters"] if one["name"] in examples]
        query = {one["name"]: examples[one["name"]] for one in asked if one["in"] == "query"}
        found = sample_client.get(path.format(**examples), params=query)

        assert found.status_code in {200, 302} or "needs the index" in found.text, (path, found.text)


def test_it_has_every_parameter_of_the_cdx_server_and_every_path_of_memento(described):
    for path in ("/cdx", "/cdx/search/cdx"):
        assert parameters(described, path).keys() == PARAMETERS.keys()
    assert {path for path in described["paths"] if not path.startswith(("/q/", "/cdx")) and ".{" not in path} == {
        "/timegate/{url}",
        "/timemap/{form}/{url}",
        "/web/{time}/{url}",
        "/web/{time}id_/{url}",
    }


def test_its_server_is_the_address_by_which_it_was_asked_for(sample_client):
    root = f"/-/{sample_client.headers['authorization'].removeprefix('Bearer ')}"

    assert sample_client.get(f"{root}/openapi.json").json()["servers"] == [{"url": root}]

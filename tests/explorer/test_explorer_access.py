"""Who gets through to the explorer: the token, the cookie, the name of the server, and reading alone."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest
from exploring import TOKEN
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import webtable
from webtable.explorer import Access, create_app

PATH = "/q/pages?site=example.com"


@pytest.fixture
def stranger(sample_client):
    """A client without the token."""
    with httpx.Client(base_url=sample_client.base_url) as client:
        yield client


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(stranger):
    first = stranger.get(f"{PATH}&token={TOKEN}")

    assert first.headers["set-cookie"].lower() == (
        f"webtable-{stranger.base_url.port}={TOKEN}; httponly; path=/; samesite=strict".lower()
    )
    assert f'content="0;url={PATH.replace("&", "&amp;")}"' in first.text
    assert TOKEN not in first.text
    assert stranger.get(PATH).status_code == 200


@pytest.mark.parametrize("path", ["//other.example/", "/\\other.example/", "/%5Cother.example/", "/%2F/other.example/"])
def test_the_token_leads_to_no_other_host(stranger, path):
    found = stranger.get(f"{stranger.base_url}".rstrip("/") + f"{path}?token={TOKEN}")

    assert 'content="0;url=/' in found.text
    assert 'content="0;url=//' not in found.text
    assert "\\" not in found.text


@pytest.mark.parametrize(
    "given",
    [
        {"params": {"token": "other"}},
        {"params": {"token": ""}},
        {"params": {"token": "\u00e4\u0000"}},
        {"headers": {"authorization": "Bearer other"}},
        {"headers": {"authorization": f"Basic {TOKEN}"}},
        {"headers": {"cookie": f"webtable-1={TOKEN}"}},
        {"headers": {"cookie": "webtable="}},
        {},
    ],
)
def test_without_the_token_nothing_is_shown(stranger, given):
    for path in ("/", "/q/errors.json", "/static/explorer.js", "/-/other/q/errors", "/-//q/errors", "/nothing"):
        found = stranger.get(path, **given)

        assert found.status_code == 403
        assert "set-cookie" not in found.headers
        assert "example.com" not in found.text


@pytest.mark.parametrize(
    "name", ["other.example", "other.example:80", "127.0.0.1.other.example", "", "[::2]", "0.0.0.0"]
)
def test_a_name_that_is_not_that_of_the_server_is_refused(sample_client, name):
    assert sample_client.get(PATH, headers={"host": name}).status_code == 421


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:9", "127.0.0.1:9", "[::1]:9", "[::1]"])
def test_the_names_of_this_machine_are_known(sample_client, name):
    assert sample_client.get(PATH, headers={"host": name}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_what_reads_is_answered(sample_client, method):
    assert sample_client.request(method, PATH).status_code == 405


def test_a_program_may_have_the_token_in_its_path(stranger):
    found = stranger.get(f"/-/{TOKEN}{PATH}")

    assert found.status_code == 200
    assert f'href="/-/{TOKEN}/static/explorer.css?v=' in found.text


def test_behind_https_the_cookie_is_for_https_alone(table):
    async def cookie(app, headers):
        transport = httpx.ASGITransport(ProxyHeadersMiddleware(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.get(f"/?token={TOKEN}", headers=headers)).headers["set-cookie"].lower()

    usual, secure = create_app(table, Access(TOKEN)), create_app(table, Access(TOKEN, is_https=True))

    assert "; secure" in asyncio.run(cookie(secure, {}))
    assert "; secure" in asyncio.run(cookie(usual, {"x-forwarded-proto": "https"}))
    assert "; secure" not in asyncio.run(cookie(usual, {}))


def test_static_files_are_found_with_the_token_in_the_path(stranger):
    assert stranger.get(f"/-/{TOKEN}/static/explorer.css").status_code == 200


def test_every_response_has_the_headers_of_security(sample_client, stranger):
    responses = [
        sample_client.get(path) for path in (PATH, "/q/errors.json", "/static/explorer.js", "/nothing", "/q/none")
    ]
    responses += [stranger.get(PATH), sample_client.get(PATH, headers={"host": "other.example"})]
    responses += [sample_client.post(PATH)]

    for response in responses:
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in response.headers["content-security-policy"]
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"


def test_a_request_holds_nothing_that_writes(table):
    page = webtable.Page(url="https://example.com/", body=b"<title>Home</title>")
    table.put(page)
    view = webtable.WebTable(table.store.reading(), table.table, table.layout)

    for write in (
        lambda: view.put(page),
        lambda: view.delete(page.url),
        lambda: view.delete_pages(webtable.ALL, status=200),
        lambda: view.indexes.drop("time"),
        lambda: view.indexes.rebuild("time"),
        lambda: view.links.refresh(also_unfinished=True),
    ):
        with pytest.raises((PermissionError, webtable.WebTableError, ExceptionGroup)):
            write()
    assert [len(list(table.history(page.url))), table.get(page.url).title] == [1, "Home"]


def test_a_cookie_of_backslashes_takes_time_linear_in_its_length(stranger):
    def seconds(repetitions: int) -> float:
        before = time.process_time()
        answer = stranger.get(
            "/", headers={"cookie": f'webtable-{stranger.base_url.port}="' + "\\" * repetitions + '"'}
        )
        assert answer.status_code == 403
        return time.process_time() - before

    seconds(100)
    assert seconds(20_000) < 4 * seconds(10_000) + 0.2

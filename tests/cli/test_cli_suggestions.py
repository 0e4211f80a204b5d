"""Where a command is given what another one takes, it says which; where nothing can be found, it says so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from running import Run

import webtable
from webtable.cli.commands import COMMANDS, ELSEWHERE


@pytest.fixture(autouse=True)
def store() -> None:
    """A few pages of two hosts, one of them without TLS."""
    with webtable.open("webtable.db", create=True) as table:
        for url in (
            "https://example.com/",
            "https://example.com/docs/a",
            "https://www.example.com/",
            "http://192.0.2.10/",
        ):
            table.put(webtable.Page(url=url, body=b"<title>Some page</title>"))


@pytest.mark.parametrize("command", ["get", "history", "linking-to", "keys encode"])
def test_a_host_in_place_of_a_url_leads_to_the_pages_of_the_host(run: Run, command):
    done = run(*command.split(), "example.com")

    assert done.code == 2
    meant = "did you mean https://example.com/, or `webtable pages example.com` for all pages of the site?\n"
    assert done.err.endswith(meant)


def test_what_is_suggested_is_for_the_same_store_and_runs(run: Run):
    Path("webtable.db").rename("a b.db")

    done = run("-s", "a b.db", "get", "example.com/docs/a")

    (site,) = re.findall("`webtable (.*?)`", done.err)
    assert "did you mean https://example.com/docs/a, or" in done.err
    assert shlex.split(site) == ["-s", "a b.db", "pages", "https://example.com/docs/a"]
    assert run(*shlex.split(site)).code == 0


@pytest.mark.slow
def test_commands_in_an_error_are_for_the_store_that_failed(run: Run):
    target = run("copy", "webtable.db", "hbase://localhost:1/crawl", "--wait", "1s")
    source, backup = run("copy", "none.db", "x.db"), run("backup", "verify", "none.db")

    assert target.err.endswith("to see what is wrong: webtable -s hbase://localhost:1/crawl doctor\n")
    assert source.err == backup.err == "webtable: none.db: no such file\n"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("https://example.com", {"https://example.com/", "https://example.com/docs/a"}),
        ("https://www.example.com/", {"https://www.example.com/"}),
        ("https://example.com/docs/", {"https://example.com/docs/a"}),
    ],
)
def test_the_url_of_a_site_or_a_directory_is_taken_for_it(run: Run, given, found):
    done = run("pages", given)

    assert done.code == 0
    assert set(done.urls) == found


@pytest.mark.parametrize("command", ["stats", "verify", "hosts", "crawls"])
def test_every_question_about_a_site_takes_the_url_of_a_host(run: Run, command):
    assert run(command, "https://www.example.com/").out == run(command, "www.example.com").out


def test_a_directory_is_not_taken_by_a_question_about_hosts(run: Run):
    done = run("hosts", "https://example.com/docs/")

    assert done.code == 2
    assert "is a part of one host" in done.err


def test_a_url_that_is_stored_with_another_scheme_is_named(run: Run):
    done = run("get", "https://192.0.2.10/")

    assert (done.code, done.err) == (1, "webtable: https://192.0.2.10/: not stored; stored is http://192.0.2.10/\n")


def test_a_url_that_is_stored_without_the_slash_is_named(run: Run):
    assert run("history", "http://example.com/docs/a/").err.endswith(
        "not stored; stored is https://example.com/docs/a\n"
    )


def test_an_empty_answer_is_told_in_a_pipe_too(run: Run):
    done = run("pages", "nowhere.example")

    assert (done.code, done.out, done.err) == (0, "", "no pages of nowhere.example and below\n")


@pytest.mark.parametrize(
    "command",
    [
        ["export", "old.warc.gz"],
        ["export", "old.wacz"],
        ["export", "new"],
        ["verify"],
        ["delete-pages", "--dry-run"],
        ["delete-pages", "--yes"],
    ],
)
def test_what_is_done_with_a_site_that_has_no_pages_is_not_done_and_names_the_one_that_was_meant(run: Run, command):
    for name in ("old.warc.gz", "old.wacz"):
        Path(name).write_bytes(b"an archive")

    done = run(*command, "exmaple.com")

    assert done.code == 1
    assert done.err == "webtable: no pages of exmaple.com and below; did you mean example.com?\n"
    assert {Path(name).read_bytes() for name in ("old.warc.gz", "old.wacz")} == {b"an archive"}
    assert not Path("new").exists()


def test_a_filter_that_matches_no_page_of_a_site_deletes_nothing_without_an_error(run: Run):
    done = run("delete-pages", "example.com", "--status", "404", "--yes")

    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["pages", "example.com", "--status", "999"], "no server answers with 999"),
        (["with-status", "42"], "no server answers with 42"),
    ],
)
def test_a_filter_that_can_match_nothing_is_told(run: Run, command, told):
    done = run(*command)

    assert (done.code, done.out) == (0, "")
    assert told in done.err


def test_nothing_is_said_of_no_results_where_none_are_asked_for(run: Run):
    assert run("pages", "example.com", "--limit", "0").err == ""


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["pagse"], "'pages'"),
        (["borken-links"], "'broken-links'"),
        (["show"], "'get'"),
        (["index", "ad"], "'add'"),
    ],
)
def test_a_misspelt_command_is_answered_with_the_right_one(run: Run, given, meant):
    done = run(*given)

    *groups, wrong = given
    see = " ".join(["webtable", *groups, "--help"])
    assert (done.code, done.out) == (2, "")
    assert done.err == f"webtable: No such command {wrong!r}. Did you mean {meant}? (see {see})\n"


def test_a_command_that_resembles_none_has_no_suggestion(run: Run):
    assert run("xyz").err == "webtable: No such command 'xyz' (see webtable --help)\n"


def test_every_name_that_other_programs_have_leads_to_a_command():
    assert set(ELSEWHERE) & set(COMMANDS) == set()
    assert set(ELSEWHERE.values()) <= set(COMMANDS)

"""The commands `audit` and `compare`: as a page, as lines and as JSON, and what they say when they cannot."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openpyxl
import pytest
from running import Run

import audited_site
import webtable
import webtable.reports
from webtable import Page
from webtable.repository.table.groups import TableLinks

NOW = datetime.now(UTC).replace(microsecond=0)


def page(path: str, html: str = "", *, days: float = 1, **fields: object) -> Page:
    fetched = NOW - timedelta(days=days)
    return Page(url=f"https://example.com{path}", body=html.encode(), fetched_at=fetched, **fields)


SITE = (
    page("/", "<title>Old</title>", days=9),
    page("/", "<title>Home</title><a href=/gone>Gone</a>"),
    page("/gone", "<title>Here</title>", days=9),
    page("/gone", "", status=404),
    page("/same", "<title>Same</title>", days=9),
)


@pytest.fixture
def site() -> None:
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for one in SITE:
            writer.put(one)


def test_the_command_of_each_finding_lists_exactly_its_pages(run: Run) -> None:
    with webtable.open("webtable.db", create=True) as table:
        audited_site.stored(table)

    sections = json.loads(run("audit", "audited.example", "--format", "json").out)["sections"]

    for section in sections:
        assert section["count"] == len(section["rows"]) > 0, section["name"]
        listed = run(*shlex.split(section["command"])[1:], "--format", "jsonl")
        rows = [json.loads(line) for line in listed.lines]
        assert audited_site.named(rows) == audited_site.named(section["rows"]), section["name"]


BOTH = {"audit": ["audit", "example.com"], "compare": ["compare", "example.com", "--since", "7d"]}
both = pytest.mark.parametrize("command", list(BOTH.values()), ids=list(BOTH))


@both
def test_a_report_is_a_page_in_a_file_or_on_standard_output(run: Run, site: None, command: list[str]) -> None:
    to_file, to_output = run(*command, "--html", "report.html"), run(*command, "--html", "-")

    written = Path("report.html").read_text(encoding="utf-8")
    assert (to_file.code, to_file.out, to_file.err) == (0, "", "written: report.html\n")
    for markup in (written, to_output.out):
        assert markup.startswith("<!DOCTYPE html>")
        assert markup.endswith("</html>\n")
    assert (to_output.code, to_output.err) == (0, "")


@both
def test_a_report_is_an_excel_file_too(run: Run, site: None, command: list[str]) -> None:
    result = run(*command, "--excel", "report.xlsx", "--html", "report.html")

    assert (result.code, result.out, result.err) == (0, "", "written: report.html\nwritten: report.xlsx\n")
    assert openpyxl.load_workbook("report.xlsx").sheetnames[0] == "Overview"
    assert Path("report.html").exists()


def test_the_same_file_is_not_written_as_html_and_as_excel(run: Run, site: None) -> None:
    done = run("audit", "example.com", "--excel", "report", "--html", "report")

    assert (done.code, done.err) == (2, "webtable: --html and --excel name the same file, report\n")
    assert not Path("report").exists()


def test_an_audit_in_a_pipe_has_a_line_for_each_finding(run: Run, site: None) -> None:
    result = run("audit", "example.com")

    assert result.code == 0
    assert result.cells[0] == ["Pages", "3", "webtable pages example.com"]
    assert ["Broken links", "1", "webtable broken-links example.com"] in result.cells


def test_the_commands_of_a_report_are_for_its_store(run: Run, site: None, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("webtable.db").rename("other.db")

    assert run("-s", "other.db", "audit", "example.com").cells[0][2] == "webtable -s other.db pages example.com"

    monkeypatch.setenv("WEBTABLE_STORE", "other.db")

    assert run("audit", "example.com").cells[0][2] == "webtable pages example.com"
    assert run("-s", "webtable.db", "audit", "example.com").code == 3


def test_the_commands_of_a_report_are_whole_on_a_terminal(run: Run, site: None, on_terminal: None) -> None:
    told = " ".join(run("audit", "example.com").out.split())

    assert "…" not in told


def test_a_comparison_in_a_pipe_has_a_line_for_each_kind_whose_command_lists_it(run: Run, site: None) -> None:
    result = run("compare", "example.com", "--since", "7d")

    assert [cells[:2] for cells in result.cells] == [
        ["New", "0"],
        ["Gone", "1"],
        ["Moved", "0"],
        ["Missing", "1"],
        ["Changed", "1"],
        ["Unchanged", "0"],
    ]
    for cells in result.cells:
        assert len(run(*cells[2].split()[1:]).lines) == int(cells[1])


@both
def test_a_report_is_json_when_asked(run: Run, site: None, command: list[str]) -> None:
    told = json.loads(run(*command, "--format", "json").out)

    assert told["site"] == "example.com"
    assert {"name", "count", "rows", "command"} <= set(told["sections"][0])


@both
def test_on_a_terminal_a_report_is_a_table(run: Run, site: None, on_terminal: None, command: list[str]) -> None:
    result = run(*command)

    assert result.code == 0
    assert "finding" in result.out


@both
def test_a_domain_that_is_not_stored_is_told_and_has_a_page(run: Run, site: None, command: list[str]) -> None:
    command = [command[0], "nowhere.example", *command[2:]]

    result = run(*command, "--html", "report.html")

    assert result.code == 0
    assert "no pages of nowhere.example and below" in result.errors
    assert "nowhere.example" in Path("report.html").read_text(encoding="utf-8")
    assert run(command[0], "a b", *command[2:]).code == 2


@both
def test_a_store_that_is_not_there_is_exit_code_3(run: Run, command: list[str]) -> None:
    result = run(*command, "--html", "report.html")

    assert result.code == 3
    assert not Path("report.html").exists()


@both
@pytest.mark.parametrize("wrong", [["--html", "nowhere/report.html"], ["--html", "."], ["--most", "0"]])
def test_what_cannot_be_is_refused_before_anything_is_asked(
    run: Run, site: None, command: list[str], wrong: list[str]
) -> None:
    result = run(*command, *wrong)

    assert result.code == 2
    assert result.err.count("\n") == 1


def test_an_interrupted_report_leaves_the_file_as_it_was(run: Run, site: None, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("report.html").write_text("before")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for owner, name in ((webtable.reports.Audit, "html"), (TableLinks, "orphans"), (Path, "replace")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, interrupted)
            assert run("audit", "example.com", "--html", "report.html").code == 130

    assert Path("report.html").read_text() == "before"
    assert sorted(path.name for path in Path().iterdir() if "report" in path.name) == ["report.html"]


def test_a_page_goes_to_what_is_no_file_as_well(run: Run, site: None) -> None:
    assert run("audit", "example.com", "--html", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_the_option_of_listings_for_a_file_leads_to_that_for_a_page(run: Run, site: None) -> None:
    done = run("audit", "example.com", "--out", "a.html")

    assert done.code == 2
    assert re.findall(r"--\w+", done.err) == ["--out", "--html", "--help"]


@pytest.mark.usefixtures("manual_clock")
def test_a_missing_index_is_told_with_the_command_that_adds_it(run: Run, site: None) -> None:
    run("index", "drop", "link", "--yes")

    result = run("audit", "example.com")

    assert result.code == 0
    assert ["Orphans", "", "webtable orphans example.com"] in result.cells
    assert "webtable index add link" in result.err
    assert run("index", "add", "link").code == 0

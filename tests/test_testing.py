"""How `webtable.testing` finds an HBase, or says why there is none. Nothing here needs Docker."""

import sys

import pytest

from webtable.testing import NoHBase, hbase_server
from webtable.testing.hbase import image_folder, image_tag

pytest_plugins = ["pytester"]

A_TEST = "def test_it(hbase_url):\n    assert hbase_url == 'hbase://gateway:9090?thrift2=9091'\n"


@pytest.fixture
def no_hbase(monkeypatch):
    """A machine with neither a configured server nor a Docker engine."""
    for name in ("WEBTABLE_HBASE_URL", "WEBTABLE_REQUIRE_HBASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")


@pytest.fixture
def project(pytester):
    """A user's project with one test that wants an HBase."""
    pytester.makeconftest("pytest_plugins = ['webtable.testing']")
    pytester.makepyfile(A_TEST)
    return pytester


def test_the_url_in_the_environment_is_used_as_it_is(project, no_hbase, monkeypatch):
    monkeypatch.setenv("WEBTABLE_HBASE_URL", "hbase://gateway:9090?thrift2=9091")

    result = project.runpytest("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)


def test_without_an_engine_the_test_is_skipped_with_the_reason(project, no_hbase):
    result = project.runpytest("-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no HBase: set WEBTABLE_HBASE_URL or start Docker*"])


def test_where_hbase_is_required_the_skip_is_a_failure(project, no_hbase, monkeypatch):
    monkeypatch.setenv("WEBTABLE_REQUIRE_HBASE", "1")

    result = project.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*WEBTABLE_REQUIRE_HBASE is set, but no HBase: *"])


def test_without_testcontainers_the_reason_names_the_extra(no_hbase, monkeypatch):
    monkeypatch.setitem(sys.modules, "testcontainers.core.container", None)

    with pytest.raises(NoHBase, match=r"hbase-webtable\[testing\]"), hbase_server():
        pass


def test_a_program_without_pytest_gets_a_typed_error(no_hbase):
    with pytest.raises(NoHBase, match="start Docker"), hbase_server():
        pass


def test_the_checkout_holds_the_image(tmp_path):
    folder = image_folder()

    assert folder is not None
    assert {"Dockerfile", "pom.xml", "start.sh", "health.sh"} <= {file.name for file in folder.iterdir()}


def test_the_image_is_named_after_its_files(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM debian")
    first = image_tag(tmp_path)

    (tmp_path / "start.sh").write_text("true")
    second = image_tag(tmp_path)
    (tmp_path / "start.sh").write_text("false")
    third = image_tag(tmp_path)
    (tmp_path / "start.sh").unlink()

    assert len({first, second, third}) == 3
    assert image_tag(tmp_path) == first

"""The fixtures of `webtable.testing`, and how an HBase is found, or why there is none. Nothing here needs Docker."""

import subprocess
import sys

import pytest

# What the test runs of pytester import first is dropped after them, and packages would keep names of it.
import webtable.repository.table.opening  # noqa: F401
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


@pytest.mark.slow
def test_without_an_engine_the_test_is_skipped_with_the_reason(project, no_hbase):
    result = project.runpytest("-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no HBase: set WEBTABLE_HBASE_URL or start Docker*"])


@pytest.mark.slow
def test_where_hbase_is_required_the_skip_is_a_failure(project, no_hbase, monkeypatch):
    monkeypatch.setenv("WEBTABLE_REQUIRE_HBASE", "1")

    result = project.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*WEBTABLE_REQUIRE_HBASE is set, but no HBase: *"])


def test_without_testcontainers_the_reason_names_the_extra(no_hbase, monkeypatch):
    monkeypatch.setitem(sys.modules, "testcontainers.core.container", None)

    with pytest.raises(NoHBase, match=r"hbase-webtable\[testing\]"), hbase_server():
        pass


@pytest.mark.slow
def test_a_program_without_pytest_gets_a_typed_error(no_hbase):
    with pytest.raises(NoHBase, match="start Docker"), hbase_server():
        pass


def test_a_user_has_a_fresh_table_in_each_test(pytester):
    pytester.makeconftest("pytest_plugins = ['webtable.testing']")
    pytester.makepyfile(
        """
        import pytest
        import webtable

        @pytest.mark.parametrize("time", [1, 2])
        def test_it(table, tmp_path, time):
            assert table.get("https://example.com/") is None
            table.put(webtable.Page(url="https://example.com/", body=b"<title>Hello</title>"))
            with webtable.open(tmp_path / "crawl.db") as again:
                assert again.get("https://example.com/").title == "Hello"
        """
    )

    result = pytester.runpytest()

    result.assert_outcomes(passed=2)


def test_a_user_reads_a_warc_file_of_sample_pages(pytester):
    pytester.makeconftest("pytest_plugins = ['webtable.testing']")
    pytester.makepyfile(
        """
        from webtable.formats import read_pages

        def test_it(sample_pages, make_warc, tmp_path):
            one = make_warc(sample_pages)
            two = make_warc([("https://example.org/", 404, {}, b"")], name="two.warc.gz")
            assert {one.parent, two.parent} == {tmp_path}
            assert len(list(read_pages(one, types=None))) == len(sample_pages)
            assert [page.status for page in read_pages(two)] == [404]
        """
    )

    result = pytester.runpytest()

    result.assert_outcomes(passed=1)


def test_fixtures_of_a_user_go_before_those_of_the_same_name(pytester):
    pytester.makeconftest(
        """
        import pytest

        pytest_plugins = ["webtable.testing"]

        @pytest.fixture(scope="session")
        def table():
            return "mine"
        """
    )
    pytester.makepyfile("def test_it(table):\n    assert table == 'mine'\n")

    result = pytester.runpytest()

    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_module_of_the_plugin_may_be_imported_before_pytest_loads_it(pytester):
    pytester.makeconftest("import webtable.testing.fixtures\n\npytest_plugins = ['webtable.testing']")
    pytester.makepyfile("def test_it(sample_pages):\n    assert sample_pages\n")

    result = pytester.runpytest_subprocess("-W", "error")

    result.assert_outcomes(passed=1)


def test_what_is_no_fixture_does_without_pytest():
    program = "import sys; sys.modules['pytest'] = None; import webtable.testing as t; print(len(t.sample_pages()))"

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (run.stdout.strip(), run.stderr) == ("8", "")


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

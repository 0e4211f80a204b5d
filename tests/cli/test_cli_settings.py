"""The config files: the store where no option names one, and profiles."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Run

import webtable

OWN = Path("config/webtable/webtable.toml")
"""The user's own file: the tests have a home of their own."""


@pytest.fixture(autouse=True)
def stores() -> None:
    """Two stores, of a page each that is named like its file."""
    for name in ("here", "there"):
        with webtable.open(f"{name}.db", create=True) as table:
            table.put(webtable.Page(url=f"https://{name}.example/", body=b"x"))
    OWN.parent.mkdir(parents=True)


def pages(run: Run, *options: str) -> list[str]:
    return run(*options, "pages", "all").urls


def test_a_file_in_the_directory_names_the_store(run: Run):
    Path("webtable.toml").write_text('store = "here.db"')

    assert pages(run) == ["https://here.example/"]


def test_the_directory_goes_before_the_user_and_the_environment_before_both(run: Run, monkeypatch):
    OWN.write_text('store = "there.db"')
    assert pages(run) == ["https://there.example/"]

    Path("webtable.toml").write_text('store = "here.db"')
    assert pages(run) == ["https://here.example/"]

    monkeypatch.setenv("WEBTABLE_STORE", "there.db")
    assert pages(run) == ["https://there.example/"]
    assert pages(run, "-s", "here.db") == ["https://here.example/"]


def test_a_profile_is_a_store_with_a_name(run: Run):
    OWN.write_text('[profiles.prod]\nstore = "there.db"\n[profiles.test]\nstore = "no.db"')
    Path("webtable.toml").write_text('[profiles.test]\nstore = "here.db"')

    assert pages(run, "-s", "prod") == ["https://there.example/"]
    assert pages(run, "-s", "test") == ["https://here.example/"]


@pytest.mark.parametrize("command", [["pages", "all"], ["create"]])
def test_a_misspelt_profile_is_not_taken_for_a_new_file(run: Run, command):
    Path("webtable.toml").write_text('[profiles.production]\nstore = "here.db"')

    done = run("-s", "prodution", *command)

    told = "no profile 'prodution' in webtable.toml; did you mean production? For a file write ./prodution"
    assert (done.code, done.err) == (2, f"webtable: {told}\n")
    assert not Path("prodution").exists()


@pytest.mark.parametrize("name", ["./prodution", "archive"])
def test_a_name_that_is_no_misspelt_profile_is_a_file(run: Run, name):
    Path("webtable.toml").write_text('[profiles.production]\nstore = "here.db"')

    assert run("-s", name, "create").code == 0
    assert Path(name).exists()


def test_an_existing_file_may_be_named_like_a_profile(run: Run):
    Path("here.db").rename("prod")
    Path("webtable.toml").write_text('[profiles.prods]\nstore = "there.db"')

    assert pages(run, "-s", "prod") == ["https://here.example/"]


def test_a_command_that_is_told_is_for_the_profile(run: Run):
    Path("webtable.toml").write_text('[profiles.prod]\nstore = "there.db"')

    assert "`webtable -s prod pages example.com`" in run("-s", "prod", "get", "example.com").err


def test_the_indexes_of_a_profile_come_from_the_users_own_file_alone(run: Run):
    Path("own_index_of_settings.py").write_text(
        "import webtable\nby = webtable.indexes.Index('by', lambda page: ['x'])\n"
    )
    profile = '[profiles.prod]\nstore = "here.db"\nindexes = ["own_index_of_settings:by"]'
    OWN.write_text(profile)
    assert run("-s", "prod", "index", "add", "own_index_of_settings:by").code == 0

    Path("webtable.toml").write_text(profile)

    done = run("-s", "prod", "index", "list")
    assert done.code == 2
    assert "webtable.toml: profiles.prod.indexes are imported only if" in done.err


WRONG = {
    "no TOML": ("store =", "webtable.toml: Invalid value"),
    "an unknown setting": ('stores = "x"', "webtable.toml: stores is not a setting; must be one of profiles, store"),
    "a store that is none": ("store = 1", "webtable.toml: store is 1; it must be a string"),
    "a profile without a store": ("[profiles.a]", "profiles.a must have a store"),
    "an unknown setting of a profile": ('[profiles.a]\nstore = "x"\nsalt = 1', "profiles.a.salt is not a setting"),
    "a name like a path": ('[profiles."a.db"]\nstore = "x"', "the profile 'a.db' must be named by letters"),
    "profiles that are none": ("profiles = 1", "profiles is 1; it must be tables"),
}


@pytest.mark.parametrize(("said", "told"), list(WRONG.values()), ids=list(WRONG))
def test_a_file_that_says_what_it_cannot_is_named(run: Run, said, told):
    Path("webtable.toml").write_text(said)

    done = run("info")

    assert done.code == 2
    assert told in done.err
    assert len(done.errors) == 1

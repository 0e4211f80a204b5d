"""The config files: the store where no option names one, and profiles."""

from __future__ import annotations

import os
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
    OWN.write_text('[profiles.prod]\nstore = "there.db"')
    Path("webtable.toml").write_text('[profiles.test]\nstore = "here.db"')

    assert pages(run, "-s", "prod") == ["https://there.example/"]
    assert pages(run, "-s", "test") == ["https://here.example/"]


@pytest.mark.parametrize("default", [False, True], ids=["named by -s", "as the default store"])
def test_a_profile_of_the_directory_does_not_replace_one_of_the_users_own(run: Run, default):
    OWN.write_text('[profiles.prod]\nstore = "there.db"')
    Path("webtable.toml").write_text(('store = "prod"\n' if default else "") + '[profiles.prod]\nstore = "here.db"')

    done = run(*([] if default else ["-s", "prod"]), "pages", "all")

    assert done.urls == ["https://there.example/"]
    assert done.err == f"webtable: prod is the profile of {OWN.absolute()}, not the other one in ./webtable.toml\n"
    assert run("-s", "here.db", "pages", "all").err == ""


class TestFilesOfOthers:
    """As in a directory that all users may write in, such as /tmp."""

    pytestmark = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")

    @pytest.fixture(params=["a store", "a profile", "a broken file", "a link", "a link to one's own file"])
    def shared_file(self, request: pytest.FixtureRequest) -> Path:
        """A config file of the user "nobody" here, or of a user of no name."""
        config = Path("webtable.toml")
        text = {"a store": 'store = "here.db"', "a broken file": "\0"}
        config.write_text(text.get(request.param, '[profiles.prod]\nstore = "here.db"'))
        if request.param.startswith("a link"):
            config.rename("other.toml")
            config.symlink_to("other.toml")
        if request.param != "a link":
            os.chown(config, 65534, 65534, follow_symlinks=False)
        else:
            os.chown("other.toml", 65534, 65534)
        return config

    @pytest.mark.usefixtures("shared_file")
    def test_are_not_read(self, run: Run):
        OWN.write_text('store = "there.db"\n[profiles.prod]\nstore = "there.db"')

        for options in ([], ["-s", "prod"]):
            done = run(*options, "pages", "all")

            assert done.urls == ["https://there.example/"]
            assert done.err == (
                "webtable: ./webtable.toml is not read, since it belongs to nobody; if you trust it, replace it by "
                "a copy that belongs to you\n"
            )

    def test_are_read_by_root_if_it_is_the_user_behind_sudo_whose_they_are(self, run: Run, monkeypatch):
        Path("webtable.toml").write_text('store = "here.db"')
        os.chown("webtable.toml", 1234, 1234)
        assert "it belongs to user 1234;" in run("-s", "there.db", "pages", "all").err

        monkeypatch.setenv("SUDO_UID", "1234")

        assert pages(run) == ["https://here.example/"]

    @pytest.mark.parametrize("owner", [0, 1234], ids=["root", "oneself"])
    def test_of_root_and_of_oneself_are_read_by_other_users(self, run: Run, monkeypatch, owner):
        Path("webtable.toml").write_text('store = "here.db"')
        os.chown("webtable.toml", owner, owner)
        monkeypatch.setattr(os, "geteuid", lambda: 1234)
        monkeypatch.setenv("SUDO_UID", "65534")  # a user may set what he likes

        assert pages(run) == ["https://here.example/"]
        os.chown("webtable.toml", 65534, 65534)
        assert "it belongs to nobody;" in run("-s", "there.db", "pages", "all").err


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

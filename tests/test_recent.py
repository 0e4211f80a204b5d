"""Values that were used last are kept, as many as there is room for."""

from __future__ import annotations

import os

from webtable._recent import RecentValues
from webtable.page import extract


def test_what_was_used_least_recently_is_forgotten_first():
    recent = RecentValues[str, str](100)
    recent.keep("a", "first", 50)
    recent.keep("b", "second", 50)
    recent.get("a")

    recent.keep("c", "third", 40)

    assert [recent.get(key) for key in "abc"] == ["first", None, "third"]


def test_a_value_larger_than_all_the_room_leaves_the_others():
    recent = RecentValues[str, str](100)
    recent.keep("a", "first", 100)

    recent.keep("b", "second", 101)

    assert (recent.get("a"), recent.get("b")) == ("first", None)


def test_a_child_begins_with_nothing():
    recent = RecentValues[str, str](100)
    recent.keep("a", "first", 100)
    child = os.fork()
    if not child:
        recent.keep("b", "second", 100)
        os._exit((recent.get("a"), recent.get("b")) != (None, "second"))

    assert os.waitpid(child, 0)[1] == 0
    assert recent.get("a") == "first"


def test_the_main_content_of_a_page_that_is_asked_for_again_is_looked_for_once(monkeypatch):
    body = b"<p>" + b"Salted keys part the rows among regions. " * 20
    first = extract.main_content(body, "utf-8", "text/html")

    monkeypatch.setattr(extract, "light_markup", None)

    assert extract.main_content(body, "utf-8", "text/html") == first

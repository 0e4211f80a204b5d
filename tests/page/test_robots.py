"""What pages tell robots, all of them or one: the rules that Google publishes, read from headers and markup."""

from __future__ import annotations

import pytest
import requests
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPHeaderDict, HTTPResponse

from webtable import Page
from webtable.errors import InvalidArgument
from webtable.page.facts import filled
from webtable.page.headers import Headers

URL = "https://example.com/"


def told(lines=(), head=""):
    """Return the page with these lines of X-Robots-Tag as `put` completes it."""
    headers = [("Content-Type", "text/html"), *(("X-Robots-Tag", line) for line in lines)]
    return filled(Page(url=URL, body=f"<head>{head}<title>T</title></head>".encode(), headers=headers))[0]


# The expected values follow developers.google.com/search/docs/crawling-indexing/robots-meta-tag; the last ones are
# public reports about other tools: spatie/robots-txt 69 and 70, mdn/content 37079, Norconex/crawler 60.
HEADERS = {
    "a rule in any case": (["NoIndex"], "noindex", None),
    "spaces": ([" noindex ,nofollow\t"], "noindex, nofollow", None),
    "empty rules": (["noindex,, ,nofollow,"], "noindex, nofollow", None),
    "a rule twice": (["noindex", "NOINDEX"], "noindex", None),
    "the value of a rule": (["max-image-preview : none"], "max-image-preview:none", None),
    "a value below zero": (["max-snippet:-1"], "max-snippet:-1", None),
    "one bot": (["BadBot: noindex, nofollow"], None, "badbot: noindex, nofollow"),
    "a bot with a space": (["badbot : noindex"], None, "badbot: noindex"),
    "all, then one bot": (["noarchive, badbot: noindex"], "noarchive", "badbot: noindex"),
    "one bot, then all": (["badbot: noindex", "noarchive"], "noarchive", "badbot: noindex"),
    "two bots in a line": (
        ["BadBot: noindex, nofollow, googlebot: nofollow"],
        None,
        "badbot: noindex, nofollow, googlebot: nofollow",
    ),
    "mixed lines": (["none, a: nofollow", "nosnippet, b: none"], "none, nosnippet", "a: nofollow, b: none"),
    "a bot twice": (["a: nofollow", "noarchive", "A: noindex"], "noarchive", "a: nofollow, noindex"),
    "a value for a bot": (["googlebot: max-snippet: 20"], None, "googlebot: max-snippet:20"),
    "a date of RFC 822": (
        ["unavailable_after: Sat, 25 Jun 2010 15:00:00 GMT, noarchive"],
        "unavailable_after: sat, 25 jun 2010 15:00:00 gmt, noarchive",
        None,
    ),
    "a date for a bot": (
        ["otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST", "noindex"],
        "noindex",
        "otherbot: unavailable_after: 25 jun 2010 15:00:00 pst",
    ),
    "a bot after a date": (
        ["unavailable_after: 2010-06-25, 360spider: none"],
        "unavailable_after: 2010-06-25",
        "360spider: none",
    ),
    "lines joined by a browser": (["googlebot: noindex\nnoarchive"], "noarchive", "googlebot: noindex"),
    "the name of all": (["robots: noindex"], "noindex", None),
    "a line without a rule": (["googlebot:"], None, None),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "robots", "by_bot"), HEADERS.values(), ids=HEADERS)
def test_the_name_of_a_bot_holds_for_its_line_alone(lines, robots, by_bot):
    page = told(lines)

    assert (page.robots, page.robots_by_bot) == (robots, by_bot)
    # What is stored says the same when it is read again, as after an export.
    again = told([page.headers["X-Robots-Tag"]])
    assert (again.robots, again.robots_by_bot) == (robots, by_bot)


MARKUP = {
    "all": ("<meta name=ROBOTS content=' NoIndex , follow'>", "noindex, follow", None),
    "one bot": ("<meta name=googlebot content=noindex>", None, "googlebot: noindex"),
    "a bot that is told one word": ("<meta name=bingbot content=none>", None, "bingbot: none"),
    "a bot by what it is told": ("<meta name=AcmeIndexer content='noindex'>", None, "acmeindexer: noindex"),
    "both": (
        "<meta name=robots content=nofollow><meta name=googlebot content=noindex>",
        "nofollow",
        "googlebot: noindex",
    ),
    "no rules for robots": ("<meta name=rating content=all><meta name=referrer content=none>", None, None),
    "other facts": ("<meta name=viewport content='width=1'><meta name=google content=notranslate>", None, None),
    "a comment": ("<!-- <meta name=robots content=noindex> --><meta name=robots content=index>", "index", None),
    "another attribute": ("<meta name=robots value=none><meta name=robots content=index data-was=none>", "index", None),
    "a bot within the rules for all": ("<meta name=robots content='badbot: noindex'>", None, "badbot: noindex"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "robots", "by_bot"), MARKUP.values(), ids=MARKUP)
def test_rules_of_the_markup_are_for_all_or_for_one_bot(head, robots, by_bot):
    page = told(head=head)

    assert (page.robots, page.robots_by_bot) == (robots, by_bot)


STRICTEST = [
    (None, None, None),
    ("noindex, nofollow", None, "noindex, nofollow"),
    ("nofollow", "googlebot: noindex", "nofollow, noindex"),
    ("index, follow", "googlebot: noindex", "follow, noindex"),
    ("noindex", "googlebot: index", "noindex"),
    ("all", "googlebot: none", "none"),
    ("index, follow", "googlebot: none", "none"),
    ("max-snippet:50", "googlebot: nosnippet", "nosnippet"),
    ("max-snippet:50, max-image-preview:large", "googlebot: max-snippet:20", "max-image-preview:large, max-snippet:20"),
    ("max-snippet:-1", "googlebot: max-snippet:0", "max-snippet:0"),
    ("max-image-preview:none", "googlebot: max-image-preview:large", "max-image-preview:none"),
    (
        "unavailable_after: 2031-01-01",
        "googlebot: unavailable_after: 25 jun 2030 15:00:00 gmt",
        "unavailable_after: 25 jun 2030 15:00:00 gmt",
    ),
    ("noarchive", "otherbot: noindex", "noarchive"),
    (None, "googlebot-news: noindex", None),
]


@pytest.mark.parametrize(("robots", "by_bot", "for_it"), STRICTEST)
def test_the_rules_for_a_bot_are_those_for_all_and_its_own_and_the_stricter_of_two(robots, by_bot, for_it):
    page = Page(url=URL, robots=robots, robots_by_bot=by_bot)

    assert page.robots_for(" GoogleBot ") == for_it


@pytest.mark.parametrize("bot", ["", " ", None, b"googlebot"])
def test_a_bot_has_a_name(bot):
    with pytest.raises(InvalidArgument, match="must be the name of a bot"):
        Page(url=URL).robots_for(bot)


def answered(lines, **changed):
    """Return a response of requests whose server sent these lines of X-Robots-Tag."""
    headers = HTTPHeaderDict()
    for line in lines:
        headers.add("X-Robots-Tag", line)
    response = requests.Response()
    response.status_code, response.url, response._content = 200, URL, b"x"
    response.raw = HTTPResponse(headers=headers)
    response.headers = CaseInsensitiveDict(headers)
    response.headers.update(changed)
    return response


def test_lines_that_requests_has_joined_are_read_apart():
    page = Page.from_response(answered(["badbot: noindex", "noarchive"]))

    assert page.headers["x-robots-tag"] == "noarchive, badbot: noindex"


def test_a_header_that_a_caller_has_changed_stays_as_it_is():
    page = Page.from_response(answered(["badbot: noindex", "noarchive"], **{"X-Robots-Tag": "all"}))

    assert page.headers["x-robots-tag"] == "all"


def test_lines_without_a_bot_are_joined_as_those_of_other_headers():
    assert Headers([("X-Robots-Tag", "NoIndex"), ("x-robots-tag", "nofollow")]) == {"X-Robots-Tag": "NoIndex, nofollow"}


def test_rules_without_end_are_read_in_bounded_time_and_space():
    page = told(["a " * 200_000, ":" * 200_000, "a:" * 100_000], f"<meta name=robots content='{'x' * 2_000}, noindex'>")

    assert max(len(page.robots or ""), len(page.robots_by_bot or "")) <= 1_000

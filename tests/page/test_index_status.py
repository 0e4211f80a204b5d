"""The index status of a page is what search engines make of what it says of itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from webtable import Page
from webtable.errors import InvalidArgument
from webtable.page import Link

URL = "https://example.com/a"
OTHER = "https://example.com/b"


def page(**fields):
    return Page(url=URL, fetched_at=datetime(2026, 11, 20, tzinfo=UTC), **{"content_type": "text/html", **fields})


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"body": b"<p>x"}, "indexable", None),
        ({"title": "A"}, "indexable", None),
        ({"has_body": True}, "indexable", None),
        ({"title": "A", "status": 206}, "indexable", None),
        ({"status": 404, "robots": "noindex"}, "error", "status 404"),
        ({"status": 500, "redirect_to": OTHER}, "error", "status 500"),
        ({"status": 0}, "error", "status 0"),
        ({"status": 301, "redirect_to": OTHER, "robots": "noindex"}, "redirect", OTHER),
        ({"status": 302}, "redirect", "status 302, without a target"),
        ({"title": "A", "robots": "noindex, nofollow", "canonical": OTHER}, "noindex", "noindex, nofollow"),
        ({"title": "A", "robots": "none"}, "noindex", "none"),
        ({"title": "A", "robots": "index", "robots_by_bot": "googlebot: noindex"}, "noindex", "noindex"),
        ({"title": "A", "robots_by_bot": "otherbot: noindex"}, "indexable", None),
        (
            {"title": "A", "robots": "unavailable_after: thu, 19 nov 2026 10:00:00 gmt"},
            "noindex",
            "unavailable_after: thu, 19 nov 2026 10:00:00 gmt",
        ),
        ({"title": "A", "robots": "unavailable_after: 2026-11-21"}, "indexable", None),
        ({"title": "A", "canonical": OTHER}, "canonicalised", OTHER),
        ({"title": "A", "canonical": "HTTPS://EXAMPLE.com/b#part"}, "canonicalised", OTHER),
        ({"title": "A", "canonical": URL}, "indexable", None),
        ({"title": "A", "canonical": "https://EXAMPLE.com/a#top"}, "indexable", None),
        ({"title": "A", "canonical": "mailto:a@example.com"}, "indexable", None),
        ({"title": "A", "canonical": OTHER, "other_canonical": URL}, "indexable", None),
        ({"content_type": "application/pdf"}, "not html", "application/pdf"),
        ({"content_type": "application/pdf", "robots": "noindex"}, "noindex", "noindex"),
        ({"content_type": "application/pdf", "canonical": OTHER}, "canonicalised", OTHER),
        ({"content_type": "application/xhtml+xml", "title": "A"}, "indexable", None),
        ({"content_type": None, "outlinks": (Link(OTHER),)}, "indexable", None),
        ({"content_type": None, "body": b"<p>x"}, "indexable", None),
        ({"content_type": None, "body": b"\x89PNG\r\n\0\0"}, "not html", None),
        # What its HTML says is not known, and it is not right by silence.
        ({}, None, None),
        ({"content_type": None, "status": 304}, None, None),
    ],
)
def test_the_first_reason_decides(fields, status, reason):
    made = page(**fields)

    assert (made.index_status, made.index_reason) == (status, reason)


def test_the_rules_are_those_of_the_bot_that_one_names():
    made = page(title="A", robots_by_bot="bingbot: noindex")

    assert (made.index_status, made.index_status_for("BingBot")) == ("indexable", ("noindex", "noindex"))
    with pytest.raises(InvalidArgument, match="bot=''"):
        made.index_status_for("")

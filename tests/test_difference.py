"""What two versions of a page differ in."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable.answers import Difference
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.repository.questions.difference import difference

URL = "https://example.com/a"
MONDAY = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
TUESDAY = MONDAY + timedelta(days=1)


def page(html: str | bytes | None = "<p>x", fetched_at: datetime = MONDAY, **fields: object) -> Page:
    body = html.encode() if isinstance(html, str) else html
    return Page(**{"url": URL, "body": body, "fetched_at": fetched_at, "content_type": "text/html", **fields})


def between(old: object, new: object, **fields: object) -> Difference:
    return difference(page(old, MONDAY, **fields), page(new, TUESDAY, **fields))


def patched(old: list[str], diff: tuple[str, ...]) -> list[str]:
    """Apply a unified diff as `patch` does, and check that it fits."""
    new: list[str] = []
    at = 0
    for line in diff[2:]:
        if hunk := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            start = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:start]
            at = start
            assert len(new) == int(hunk[3]) - (hunk[4] != "0")
            continue
        if line[0] in " -":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            new.append(line[1:])
    return new + old[at:]


def test_the_same_page_has_no_difference():
    found = between("<p>a<a href=/b>b</a>", "<p>a<a href=/b>b</a>", title="t", headers={"etag": "1"})

    assert found.is_empty
    assert str(found) == f"{URL}: 2026-03-02T08:30:00Z -> 2026-03-03T08:30:00Z\nno difference"


def test_a_change_of_nothing_but_markup_is_no_difference():
    assert between("<p class=a>a  b</p>", "<div>a <i>b</i></div><script>1</script>").is_empty


def test_title_and_status_are_pairs_of_the_old_and_the_new():
    found = difference(page(title="A", status=200), page(title=None, body=None, status=404))

    assert found.title == ("A", None)
    assert found.status == (200, 404)


def test_a_title_that_was_not_given_is_that_of_the_body():
    found = difference(page("<title>A</title>", title="A"), page("<title>A</title>"))

    assert found.is_empty


def test_changed_headers_are_shown_but_clocks_are_not():
    old = {"etag": "1", "server": "x", "date": "Mon", "age": "1", "via": "p"}
    new = {"etag": "2", "server": "x", "date": "Tue", "set-cookie": "s=1"}

    found = difference(page(headers=old), page(headers=new))

    assert found.headers == {"etag": ("1", "2"), "set-cookie": (None, "s=1"), "via": ("p", None)}


def test_headers_are_not_compared_where_one_version_has_none():
    assert difference(page(headers={"etag": "1"}), page()).headers == {}


def test_the_text_is_a_unified_diff_between_the_two_dates():
    old = "".join(f"<p>line {n}" for n in range(20))
    new = old.replace("line 9<", "line nine<") + "<p>end"

    assert between(old, new).text == (
        "--- 2026-03-02T08:30:00Z",
        "+++ 2026-03-03T08:30:00Z",
        "@@ -7,7 +7,7 @@",
        *(" line 6", " line 7", " line 8", "-line 9", "+line nine", " line 10", " line 11", " line 12"),
        "@@ -18,3 +18,4 @@",
        *(" line 17", " line 18", " line 19", "+end"),
    )


def test_a_repeated_line_stays_with_its_neighbours():
    old = "".join(f"<p>title {n}<p>more" for n in range(3, 6))

    assert between(old, "<p>title 2<p>more" + old).text[2:] == (
        "@@ -1,3 +1,5 @@",
        *("+title 2", "+more", " title 3", " more", " title 4"),
    )


def test_dates_are_shown_in_utc():
    local = MONDAY.astimezone(timezone(timedelta(hours=9)))

    assert difference(page("a", local), page("b", TUESDAY)).text[0] == "--- 2026-03-02T08:30:00Z"


def test_a_page_that_lost_its_body_lost_all_its_lines():
    assert between("<p>a<p>b", None).text[2:] == ("@@ -1,2 +0,0 @@", "-a", "-b")


def test_plain_text_is_compared_by_its_lines():
    assert between("a <b>\n c\n", "a <b>\r\n d\n", content_type="text/plain").text[2:] == (
        "@@ -1,2 +1,2 @@",
        *(" a <b>", "- c", "+ d"),
    )


@given(*[st.lists(st.sampled_from("abcdefgh"), max_size=30)] * 2)
def test_the_diff_of_two_texts_leads_from_one_to_the_other(old, new):
    found = between("\n".join(old), "\n".join(new), content_type="text/plain")

    assert bool(found.text) == (old != new)
    assert patched(old, found.text) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([f"line {n}" for n in range(50_000)], [f"line {n}" if n % 2 else f"new {n}" for n in range(50_000)]),
        ([str(n % 97) for n in range(50_000)], [str(n * n % 89) for n in range(50_000)]),
        ([str(n) for n in range(50_000)], [str(n) for n in reversed(range(50_000))]),
        (["same"] * 50_000, ["same"] * 49_000),
    ],
    ids=["every other", "few words", "reversed", "one word"],
)
@pytest.mark.timeout(60)
def test_fifty_thousand_lines_are_compared(old, new):
    found = between("\n".join(old), "\n".join(new), content_type="text/plain")

    assert patched(old, found.text) == new


def test_a_body_that_is_no_text_is_told_by_its_size():
    found = between(b"\0" * 1_234, b"\0" * 2_345, content_type="image/png")

    assert found.text == ("binary body: 1,234 bytes -> 2,345 bytes",)


def test_the_size_is_that_of_the_whole_body():
    old = page(b"\0", size=1, content_type="image/png")
    new = page(b"\1", size=5_000, truncated=True, content_type="image/png")

    assert difference(old, new).text == ("binary body: 1 byte -> 5,000 bytes",)


def test_the_same_binary_body_is_no_difference():
    assert between(b"\0\1", b"\0\1", content_type="image/png").is_empty


def test_text_that_became_binary_is_told_by_its_size():
    found = difference(page("text"), page(b"\0\0", content_type="image/png"))

    assert found.text == ("binary body: 4 bytes -> 2 bytes",)


@pytest.mark.parametrize(
    ("digests", "text"),
    [(("a", "b"), ("body, not read: 10 bytes -> 20 bytes",)), (("a", "a"), ())],
)
def test_bodies_that_were_not_read_are_told_apart_by_their_digests(digests, text):
    old = page(None, digest=digests[0], size=10, has_body=True)
    new = page(None, digest=digests[1], size=20, has_body=True)

    assert difference(old, new).text == text


def test_links_are_added_removed_and_changed_in_document_order():
    same, gone, old, new = Link("u:s", "S"), Link("u:g"), Link("u:c", "old"), Link("u:c", "new", "nofollow")
    first, second = Link("u:2"), Link("u:1")

    found = difference(page(outlinks=(old, same, gone)), page(outlinks=(first, same, new, second)))

    assert found.links_added == (first, second)
    assert found.links_removed == (gone,)
    assert found.links_changed == ((old, new),)


def test_links_that_were_not_read_are_taken_from_the_body():
    found = between("<a href=b>B</a>", "<a href=c>C</a>")

    assert found.links_added == (Link("https://example.com/c", "C"),)
    assert found.links_removed == (Link("https://example.com/b", "B"),)


def test_links_are_not_compared_where_neither_they_nor_the_body_were_read():
    stored = page(None, has_body=True, size=9, outlink_count=1)

    found = difference(stored, page("<a href=c>C</a>"))

    assert found.links_added == found.links_removed == ()


def test_a_page_without_a_body_has_no_links():
    assert len(between("<a href=b>B</a>", None).links_removed) == 1


def test_a_body_that_is_no_html_has_no_links():
    assert between("x", "<a href=b>B</a>", content_type="text/plain").links_added == ()


def test_a_difference_is_shown_in_words():
    old = page("<p>a<a href=b>B</a><a href=c>C</a>", title="A", status=200, headers={"etag": "1", "x": "y"})
    new = page(
        "<p>b<a href=c>CC</a><a href=d rel=nofollow>D</a>", TUESDAY, title="B", status=203, headers={"etag": "2"}
    )

    assert str(difference(old, new)).splitlines() == [
        f"{URL}: 2026-03-02T08:30:00Z -> 2026-03-03T08:30:00Z",
        "title: 'A' -> 'B'",
        "status code: 200 -> 203",
        "header etag: '1' -> '2'",
        "header x: 'y' -> none",
        "link added: https://example.com/d 'D' rel='nofollow'",
        "link removed: https://example.com/b 'B'",
        "link changed: https://example.com/c 'C' -> https://example.com/c 'CC'",
        "--- 2026-03-02T08:30:00Z",
        "+++ 2026-03-03T08:30:00Z",
        "@@ -1 +1 @@",
        "-aBC",
        "+bCCD",
    ]


@pytest.mark.parametrize("charset", [None, "koi8-r"])
def test_the_charset_of_a_version_does_not_change_its_text(charset):
    old = page("мир".encode("koi8-r"), headers={"content-type": "text/html; charset=koi8-r"}, charset=charset)

    assert difference(old, page("мир")).text == ()


def test_what_a_difference_says_commands_no_terminal():
    evil = "\x1b[2J\x07\u202e\x9b1m"
    pages = [
        Page(
            url="https://example.com/",
            body=f"<title>{evil}{n}</title><p>{evil}{n}".encode(),
            headers={"X-A": f"{evil}{n}"},
            outlinks=(Link("https://example.com/a", f"{evil}{n}"),),
        )
        for n in range(2)
    ]

    found = difference(*pages)

    assert found.title
    assert found.text
    for said in (str(found), repr(found), found._repr_html_(), *map(str, found)):
        assert all(character.isprintable() or character == "\n" for character in said)

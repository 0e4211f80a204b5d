"""What became of pages between two moments: new, gone, changed or as they were, against a plain model too."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sites import Site

import webtable
from store_differences import on_every_store
from webtable import Page
from webtable.errors import FullScanNeeded, InvalidArgument, InvalidToken

HOUR = 3600
ALL = ("new", "gone", "moved", "missing", "changed", "unchanged")


def ago(site, hours):
    return site.now - timedelta(hours=hours)


def capture(site, path, hours, body: str | None = "x", **fields) -> Page:
    html = None if body is None else f"<title>{body}</title>".encode()
    return site.page(path, age=hours * HOUR, body=html, title=body, **fields)


def kinds(found):
    return [(change.kind, change.url.rsplit("/", 1)[1]) for change in found]


def changed_site(site):
    """Store a page of each kind, as of five hours ago."""
    site.store(
        capture(site, "/changed", 9, "old"),
        capture(site, "/gone", 9),
        capture(site, "/moved", 9),
        capture(site, "/same", 9),
        capture(site, "/still-gone", 9, status=404),
    )
    site.store(
        capture(site, "/changed", 2, "new"),
        capture(site, "/gone", 2, "not found", status=404),
        capture(site, "/moved", 2, None, status=301, redirect_to=site.url("/same")),
        capture(site, "/new", 2),
        capture(site, "/same", 2),
        capture(site, "/still-gone", 2, status=404),
    )


@on_every_store
def test_pages_are_new_gone_or_changed_since_a_moment_and_come_by_url(site):
    changed_site(site)

    found = list(site.table.changes(site.domain, since=ago(site, 5)))

    assert kinds(found) == [("changed", "changed"), ("gone", "gone"), ("moved", "moved"), ("new", "new")]
    changed, gone, moved, new = found
    assert (changed.before.title, changed.after.title) == ("old", "new")
    assert (gone.before.status, gone.after.status) == (200, 404)
    assert (moved.before.redirect_to, moved.after.redirect_to) == (None, site.url("/same"))
    assert new.before is None
    assert new.after == site.table.get(site.url("/new"), columns=[])


def test_kinds_choose_among_the_pages_and_unchanged_ones_come_where_they_are_named(site):
    changed_site(site)

    def found(kind):
        return kinds(site.table.changes(site.domain, since=ago(site, 5), kind=kind))

    assert found("unchanged") == [("unchanged", "same"), ("unchanged", "still-gone")]
    assert found(["new", "gone"]) == [("gone", "gone"), ("new", "new")]
    assert len(found(ALL)) == 6
    for kind in ("newer", [], ["new", "x"]):
        with pytest.raises(InvalidArgument, match="kind="):
            found(kind)


def test_two_moments_of_the_past_are_compared(site):
    site.store(
        *(capture(site, "/a", hours, body) for hours, body in ((9, "one"), (6, "two"), (3, "three"))),
        *(capture(site, "/back", hours, body) for hours, body in ((9, "one"), (6, "two"), (3, "one"))),
        *(capture(site, "/late", hours) for hours in (4, 1)),
    )

    def found(since, until):
        return kinds(site.table.changes(site.domain, since=ago(site, since), until=ago(site, until), kind=ALL))

    assert found(8, 5) == [("changed", "a"), ("changed", "back")]
    assert found(8, 2) == [("changed", "a"), ("unchanged", "back"), ("new", "late")]
    # Both were fetched later, so whether they were met in between is not known.
    assert found(5.5, 5) == [("unchanged", "a"), ("unchanged", "back")]
    assert found(2.5, 2) == [("missing", "a"), ("missing", "back"), ("unchanged", "late")]
    assert found(20, 10) == []
    (change,) = site.table.changes(f"https://{site.domain}/", since=ago(site, 8), until=ago(site, 5), limit=1)
    assert (change.before.title, change.after.title) == ("one", "two")


def test_captures_of_both_moments_count_in(site):
    site.store(capture(site, "/a", 9, "one"), capture(site, "/a", 5, "two"), capture(site, "/b", 5))

    def found(since, until):
        return kinds(site.table.changes(site.domain, since=ago(site, since), until=ago(site, until), kind=ALL))

    assert found(9, 5) == [("changed", "a"), ("new", "b")]
    assert found(5, 5) == [("unchanged", "a"), ("unchanged", "b")]


def test_a_page_that_comes_back_is_changed_and_one_that_was_a_redirect_and_fails_is_gone(site):
    site.store(
        capture(site, "/back", 9, status=500),
        capture(site, "/moved", 9, None, status=301, redirect_to=site.url()),
    )
    site.store(capture(site, "/back", 1), capture(site, "/moved", 1, None, status=410))

    assert kinds(site.table.changes(site.domain, since=ago(site, 5))) == [("changed", "back"), ("gone", "moved")]


def test_a_page_that_was_not_modified_is_unchanged(site):
    site.store(capture(site, "/a", 9))
    site.table.put_not_modified(site.url("/a"), ago(site, 1))

    assert kinds(site.table.changes(site.domain, since=ago(site, 5), kind=ALL)) == [("unchanged", "a")]


def test_a_page_that_a_later_crawl_did_not_meet_is_missing(site):
    site.store(*(capture(site, path, 9) for path in ("/met", "/304", "/lost", "/middle", "/error")))
    site.store(capture(site, "/middle", 6, "other"))
    site.store(capture(site, "/met", 2), capture(site, "/error", 2, status=500))
    site.table.put_not_modified(site.url("/304"), ago(site, 2))

    def missing(**asking):
        return [path for _, path in kinds(site.table.changes(site.domain, kind="missing", **asking))]

    assert missing(since=ago(site, 8)) == ["lost"]
    assert missing(since=ago(site, 8), met_since=ago(site, 3)) == ["lost", "middle"]
    assert missing(since=ago(site, 8), until=ago(site, 5)) == ["lost"], "the others were fetched later: it is not known"
    (error,) = site.table.changes(site.domain, since=ago(site, 5))
    assert (error.kind, error.changed) == ("changed", ("status",))


def test_only_404_and_410_are_gone_and_what_redirects_now_has_moved(site):
    statuses = {"/404": 404, "/410": 410, "/403": 403, "/503": 503, "/301": 301, "/308": 308, "/304": 200}
    site.store(*(capture(site, path, 9) for path in statuses))
    site.store(
        *(
            capture(site, path, 2, status=status, redirect_to=site.url("/") if status in (301, 308) else None)
            for path, status in statuses.items()
        )
    )

    found = {path: kind for kind, path in kinds(site.table.changes(site.domain, since=ago(site, 5), kind=ALL))}

    assert found == {
        **dict.fromkeys(["404", "410"], "gone"),
        **dict.fromkeys(["301", "308"], "moved"),
        **dict.fromkeys(["403", "503"], "changed"),
        "304": "unchanged",
    }


def test_what_has_changed_is_told_by_field(site):
    site.store(site.page("/a", age=9 * HOUR, body=b"<title>A</title><h1>x</h1>"))
    site.store(
        site.page("/a", age=2 * HOUR, body=b"<title>A</title><meta name=robots content=noindex><h1>y</h1>", title=None)
    )

    answer = site.table.changes(site.domain, since=ago(site, 5))

    assert answer.first().changed == ("content", "title", "robots", "h1")
    assert answer.to_arrow().read_all().to_pylist()[0]["changed"] == ["content", "title", "robots", "h1"]


def test_a_deleted_page_is_left_out(site):
    changed_site(site)
    site.table.delete(site.url("/changed"))

    assert "changed" not in {path for _, path in kinds(site.table.changes(site.domain, since=ago(site, 5), kind=ALL))}


def test_changes_are_limited_and_go_on_behind_a_token(site):
    changed_site(site)
    since = ago(site, 5)

    def ask(order="url", **asking):
        return site.table.changes(site.domain, since=since, order=order, **asking)

    for order in ("url", "storage"):
        expected, found, token = list(ask(order)), [], None
        while token or not found:
            batch = ask(order, after=token).page(1)
            found += batch
            token = batch.next_token
        assert found == expected
        assert list(ask(order, limit=2)) == expected[:2]
    assert list(ask(limit=0)) == []
    with pytest.raises(InvalidToken):
        site.table.changes(site.domain, since=ago(site, 6), after=ask().page(1).next_token)


def test_histories_are_read_many_at_once_and_only_where_the_newest_capture_does_not_answer(spied):
    site, read = spied.site, []
    site.store(*(capture(site, f"/{number:03d}", 9) for number in range(300)))
    site.store(*(capture(site, f"/{number:03d}", 8, "y") for number in range(200)))
    capture_column = site.table._context.codec.columns.capture
    spied.listener = lambda call, _, columns: call == "read" and read.append(list(columns))

    assert list(site.table.changes(site.domain, since=ago(site, 5))) == []
    assert read == [], "all of them were there as they are"

    found = list(site.table.changes(site.domain, since=ago(site, 8.5)))
    assert len(found) == 200
    assert {change.before.title for change in found} == {"x"}
    assert read == [[capture_column]]


def test_moments_are_told_as_everywhere(site, large_store):
    changed_site(site)

    for since in ("5h", timedelta(hours=5), ago(site, 5), f"{ago(site, 5):%Y-%m-%dT%H:%M:%S}"):
        assert len(list(site.table.changes(site.domain, since=since))) == 4
    assert len(list(site.table.changes(site.domain, since=date(2020, 1, 1)))) == 6
    for wrong in ({"since": None}, {"since": "then"}, {"since": "1d", "until": "2d"}):
        with pytest.raises(InvalidArgument):
            site.table.changes(site.domain, **wrong)
    with pytest.raises(FullScanNeeded):
        site.table.changes(since="1d")
    with pytest.raises(InvalidArgument, match="order"):
        site.table.changes(site.domain, since="1d", order="newest")
    assert "list of versions" in str(site.table.changes(site.domain, since="1d").explain())


def test_changes_as_a_table_have_a_column_for_each_side(site):
    changed_site(site)

    rows = site.table.changes(site.domain, since=ago(site, 5)).to_arrow().read_all().to_pylist()

    assert [row["kind"] for row in rows] == ["changed", "gone", "moved", "new"]
    changed, gone, moved, new = rows
    assert (changed["title_before"], changed["title_after"]) == ("old", "new")
    assert (gone["status_before"], gone["status_after"]) == (200, 404)
    assert (moved["redirect_before"], moved["redirect_after"]) == (None, site.url("/same"))
    assert (new["url"], new["status_before"], new["fetched_after"]) == (site.url("/new"), None, ago(site, 2))


def test_the_sizes_of_both_sides_say_which_pages_have_grown_most(site):
    for path, sizes in {"/much": (10, 100), "/little": (10, 15), "/less": (10, 4), "/same": (10, 10)}.items():
        site.store(*(capture(site, path, hours, "x" * size) for hours, size in zip((9, 2), sizes, strict=True)))

    sides = site.table.changes(site.domain, since=ago(site, 5)).to_pandas(["url", "size_before", "size_after"])

    grown = sides.assign(growth=sides.size_after - sides.size_before).sort_values("growth", ascending=False)
    assert list(zip(grown.url.str.rsplit("/").str[-1], grown.growth, strict=True)) == [
        ("much", 90),
        ("little", 5),
        ("less", -6),
    ]


def test_a_version_that_cannot_be_read_leaves_its_page_out_and_is_counted(site):
    changed_site(site)
    row = site.table.key.encode(site.url("/changed"))
    column = site.table._context.codec.columns.capture
    at = int(ago(site, 9).timestamp() * 1000)
    site.table.store.write(
        site.table.table, [webtable.store.Put(row, [webtable.store.NewCell(column, at, b'{"size":')])]
    )

    answer = site.table.changes(site.domain, since=ago(site, 5))

    assert kinds(answer) == [("gone", "gone"), ("moved", "moved"), ("new", "new")]
    assert [damaged.url for damaged in answer.damaged] == [site.url("/changed")]


@pytest.fixture(scope="module")
def deep_table(new_url):
    with webtable.open(new_url(), create=True, versions=20) as table:
        yield table


captures = st.fixed_dictionaries(
    {
        "path": st.sampled_from(["/a", "/b", "/c"]),
        "hours": st.integers(1, 20),
        "body": st.sampled_from([None, "x", "x", "y"]),
        "status": st.sampled_from([200, 200, 301, 404, 500]),
    }
)


def model(captures, since, until):
    """Return the kind of each path that was there at *until*, by all of its captures."""

    def at(path, moment):
        known = [one for one in captures if one["path"] == path and one["hours"] >= moment]
        newest = min(known, key=lambda one: one["hours"], default=None)
        return newest and (newest["body"], newest["status"])

    def is_met(path):
        last = min(one["hours"] for one in captures if one["path"] == path)
        return last < since or last == until

    told = {}
    for path in sorted({one["path"] for one in captures}):
        before, after = at(path, since), at(path, until)
        if after is None:
            continue
        if before is None:
            told[path] = "new"
        elif not is_met(path):
            told[path] = "missing"
        elif before[1] < 400 and after[1] == 404:
            told[path] = "gone"
        else:
            told[path] = "unchanged" if before == after else "changed"
    return told


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stored=st.lists(captures, min_size=1, max_size=8, unique_by=lambda one: (one["path"], one["hours"])),
    moments=st.tuples(st.integers(0, 21), st.integers(0, 21)),
)
def test_what_became_of_a_page_is_what_all_of_its_captures_say(deep_table, stored, moments):
    site = Site(deep_table, f"{uuid.uuid4().hex[:12]}.example", datetime.now(UTC).replace(microsecond=0))
    since, until = sorted(moments, reverse=True)
    # In order: of captures that repeat what is stored only the newest is known, where a late one comes between.
    for one in sorted(stored, key=lambda one: -one["hours"]):
        site.store(capture(site, one["path"], one["hours"], one["body"], status=one["status"]))

    found = site.table.changes(site.domain, since=ago(site, since), until=ago(site, until), kind=ALL)

    assert {"/" + path: kind for kind, path in kinds(found)} == model(stored, since, until)


def test_a_page_whose_version_is_not_kept_any_more_is_changed(site):
    site.store(*(capture(site, "/a", hours, str(hours)) for hours in range(9, 1, -1)))

    (change,) = site.table.changes(site.domain, since=ago(site, 9))

    assert (change.kind, change.before, change.after.title) == ("changed", None, "2")


def test_a_page_without_content_is_judged_by_its_first_capture(site):
    site.store(*(Page(url=site.url("/a"), status=304, fetched_at=ago(site, hours)) for hours in (9, 7, 1)))

    assert kinds(site.table.changes(site.domain, since=ago(site, 5), kind=ALL)) == [("unchanged", "a")]
    assert kinds(site.table.changes(site.domain, since=ago(site, 10), until=ago(site, 5))) == [("new", "a")]

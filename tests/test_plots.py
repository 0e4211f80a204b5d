"""Pictures of answers: what is drawn, held against a plain count."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

import webtable
from running_pieces import pieces_run_after
from webtable import Link, Page
from webtable.errors import InvalidArgument, MissingExtra
from webtable.repository.page_counts import MOST_DATES
from webtable.repository.pictures import canvas, treemap
from webtable.repository.pictures.groups import (
    MOST_BARS,
    MOST_REGIONS,
    MOST_YEARS,
    _place,
    draw_bars,
    draw_calendar,
    draw_regions,
    draw_sizes,
)
from webtable.repository.questions.hosts import Host

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def table():
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, versions=9) as table:
        yield table


def test_an_answer_without_a_picture_says_which_have_one(table):
    with pytest.raises(AttributeError, match=r"'Results' has no attribute 'plot'; pictures are drawn of stats"):
        table.pages().plot()


@pytest.fixture
def crawl(table):
    """Forty pages of four hosts, with all kinds of statuses and sizes, fetched on several days."""
    with table.writer() as writer:
        for n in range(40):
            page = Page(
                url=f"https://{'abcd'[n % 4]}.example/{n}",
                body=b"x" * (n * n) if n % 5 else None,
                status=(200, 200, 301, 404, 503)[n % 5],
                content_type=("text/html", "text/plain")[n % 2],
                fetched_at=NOW - timedelta(days=n % 7),
            )
            writer.put(page)
    table.links.refresh()
    return table


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def drawn(ax):
    """Draw the picture as a file would have it: layout and labels are made only then."""
    ax.figure.draw_without_rendering()
    return ax


def labels_of(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def overlapping(texts):
    """Return the pairs of texts that stand on each other."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text() and text.get_visible()]
    pairs = [(one, other) for at, one in enumerate(boxes) for other in boxes[at + 1 :]]
    return [(one[0], other[0]) for one, other in pairs if one[1].overlaps(other[1])]


@pytest.mark.parametrize("by", ["status", "type", "host", "age", "month"])
def test_a_bar_for_each_group_is_as_long_as_its_pages(crawl, by):
    found = crawl.stats(webtable.ALL, by=by, now=NOW)

    ax = drawn(found.plot())

    expected = {name: group.pages for name, group in found.by[by].items()}
    assert dict(zip(labels_of(ax.yaxis), [bar.get_width() for bar in ax.patches], strict=True)) == expected
    assert sum(expected.values()) == 40
    said = "the month of the last capture (UTC)" if by == "month" else by
    assert ax.get_title(loc="left") == f"40 pages by {said}"
    assert overlapping([*ax.texts, *ax.yaxis.get_ticklabels()]) == []


def test_bars_say_their_pages_and_bytes_with_separators_and_units():
    ax = draw_bars("status", {"200": (1_234_567, 12_345_678), "404": (12, 0)}, None)

    assert texts_of(ax) == ["1,234,567, 12.3 MB", "12, 0 B"]
    assert "300,000" in labels_of(drawn(ax).xaxis)


def test_statuses_have_a_colour_for_their_kind_and_stay_in_order():
    ax = draw_bars("status", {"200": (1, None), "301": (9, None), "404": (3, None), "999": (1, None)}, None)

    assert labels_of(ax.yaxis) == ["200", "301", "404", "999"]
    assert len({bar.get_facecolor() for bar in ax.patches}) == 4
    assert texts_of(ax) == ["1", "9", "3", "1"]


def test_groups_beyond_the_largest_share_a_bar():
    groups = {f"h{n}.example": (n + 1, n) for n in range(100)}

    ax = draw_bars("host", groups, None)

    widths = [bar.get_width() for bar in ax.patches]
    assert widths[:3] == [100, 99, 98]
    assert len(widths) == MOST_BARS + 1
    assert widths[-1] == sum(range(1, 81))
    assert labels_of(ax.yaxis)[-1] == "80 others"


def test_months_are_drawn_without_gaps_and_how_many_pages_are_older_is_said():
    groups = {f"{2020 + n // 12}-{n % 12 + 1:02}": (1 if n == 50 else 100, None) for n in range(60)}

    ax = draw_bars("month", groups, None)

    assert labels_of(ax.yaxis) == list(groups)[-MOST_DATES:]
    title = ax.get_title(loc="left")
    assert title == "3,001 pages by the month of the last capture (UTC); 2,900 pages before 2022-06"


def test_a_picture_of_a_site_without_pages_says_so_with_the_one_that_was_meant(table):
    table.put(Page(url="https://example.com/", body=b"1"))

    for by in ("status", "size", "day", "region"):
        said = texts_of(table.stats("exmaple.com", by=by).plot())
        assert said == ["no pages of exmaple.com and below; did you mean example.com?"]


def test_a_long_name_is_shortened_and_no_name_is_a_formula_or_breaks_a_line():
    name = f"$x$\n\x1b[2J{'ö' * 100}.example"

    ax = drawn(draw_bars("host", {name: (1, 1), "$\\frac$": (1, 1)}, None))

    label, other = ax.yaxis.get_ticklabels()
    assert len(label.get_text()) == canvas.LABEL
    assert label.get_text().isprintable()
    assert label.get_text().endswith(".example")
    assert other.get_text() == "$\\frac$"


def test_sizes_are_bars_between_round_numbers_on_an_axis_of_powers(crawl):
    found = crawl.stats(webtable.ALL, by="size")

    ax = drawn(found.plot("size"))

    bounds = (50, 100, 200, 500, 1_000, 2_000)
    sizes = [n * n for n in range(40) if n % 5]
    expected = {
        (low, high): sum(low <= max(size, 50) < high for size in sizes) for low, high in itertools.pairwise(bounds)
    }
    assert {(bar.get_x(), bar.get_x() + bar.get_width()): bar.get_height() for bar in ax.patches} == expected
    assert ax.get_xscale() == "log"
    assert labels_of(ax.xaxis)[:3] == ["0", "100 B", "200 B"]
    assert ax.get_title(loc="left") == "32 pages by size; 8 pages without a body"


def test_labels_of_sizes_stand_apart_from_the_smallest_to_the_largest():
    groups = dict.fromkeys(("under 100 B", "1 to 2 kB", "10 to 20 GB"), (1, 1))

    ax = drawn(draw_sizes(groups, None))

    assert overlapping(ax.xaxis.get_ticklabels()) == []
    assert labels_of(ax.xaxis)[:2] == ["0", "1 kB"]
    assert labels_of(ax.xaxis)[-1] == "10 GB"


def test_regions_are_bars_of_shares_and_hot_ones_are_marked():
    groups = {"": (100, 1_000), "40": (100, 1_000), "80": (700, 1_000), "c0": (100, 7_000)}

    ax = drawn(draw_regions(groups, None))

    pages, size = ax.containers
    assert [bar.get_width() for bar in pages] == [0.1, 0.1, 0.7, 0.1]
    assert [bar.get_width() for bar in size] == [0.1, 0.1, 0.1, 0.7]
    assert [text.strip() for text in texts_of(ax)] == [
        "hot: 2.8 times its share of pages",
        "hot: 2.8 times its share of bytes",
    ]
    assert labels_of(ax.yaxis) == ["(first key)", "40", "80", "c0"]
    assert max(text.get_window_extent().x1 for text in ax.texts) <= ax.figure.bbox.x1


def test_regions_without_pages_are_drawn_too():
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, regions=4) as table:
        table.put(Page(url="https://a.example/", body=b"x", fetched_at=NOW))
        table.links.refresh()

        ax = drawn(table.stats(webtable.ALL, by="region").plot())

    pages, _ = ax.containers
    assert sorted(bar.get_width() for bar in pages) == [0, 0, 0, 1]
    assert labels_of(ax.yaxis) == ["(first key)", "40", "80", "c0"]
    assert texts_of(ax)[0].strip() == "hot: 4.0 times its share of pages"


def test_regions_without_bytes_have_one_bar_and_an_only_one_is_not_hot():
    ax = draw_regions({"": (10, None)}, None)

    assert [bar.get_width() for bar in ax.patches] == [1]
    assert texts_of(ax) == []


def test_a_thousand_regions_are_as_many_bars_as_fit_with_the_hottest_in_sight():
    groups = {f"{n:04}": (10_000 if n == 613 else 10, 10) for n in range(1_000)}

    ax = draw_regions(groups, None)

    pages, _ = ax.containers
    assert len(pages) == MOST_REGIONS
    assert max(bar.get_width() for bar in pages) == pytest.approx(10_000 / 19_990)
    assert len(ax.texts) == 1


def test_a_day_with_pages_is_a_cell_in_its_week_and_on_its_weekday(crawl):
    ax = drawn(crawl.stats(webtable.ALL, by="day").plot())

    days, counts = ax.collections
    filled = counts.get_array().filled(0).reshape(8, -1)
    expected = Counter((NOW - timedelta(days=n % 7)).date() for n in range(40))
    assert filled.sum() == 40
    assert {pages for pages in filled.ravel() if pages} == set(expected.values())
    assert filled[4].sum() == expected[date(2026, 11, 20)]  # a Friday
    assert days.get_array().count() == 365


@pytest.mark.parametrize("day", [date(2024, 1, 1), date(2024, 2, 29), date(2024, 12, 31), date(2023, 1, 1)])
def test_the_place_of_a_day_is_that_of_its_week_and_weekday(day):
    first_monday_or_before = date(day.year, 1, 1) - timedelta(days=date(day.year, 1, 1).weekday())

    week, weekday = _place(day)

    assert first_monday_or_before + timedelta(weeks=week, days=weekday) == day


def test_only_the_last_years_are_drawn_and_how_many_pages_are_older_is_said():
    groups = {f"{year}-06-01": (year, 0) for year in range(1990, 2027)}

    ax = draw_calendar(groups, None)

    years = [text for text in texts_of(ax) if text.isdigit()]
    assert years == [str(year) for year in range(2027 - MOST_YEARS, 2027)]
    assert ax.get_title(loc="left").endswith(f"; {sum(range(1990, 2022)):,} pages before 2022")


def test_days_that_are_far_apart_are_no_more_years_than_others():
    ax = draw_calendar({"1990-01-01": (1, 0), "2026-01-01": (1, 0)}, None)

    assert [text for text in texts_of(ax) if text.isdigit()] == ["2022", "2023", "2024", "2025", "2026"]


def test_a_history_is_drawn_by_time_and_size_with_changes_of_the_status(table):
    url = "https://a.example/$x$"
    for n, status in enumerate((200, 200, 404, 200)):
        table.put(Page(url=url, body=b"x" * 100 * (n + 1), status=status, fetched_at=NOW + timedelta(days=n)))

    ax = drawn(table.history(url).plot())

    steps, *changes = ax.lines
    assert list(steps.get_ydata()) == [100, 200, 300, 400]
    assert [round(float(b - a), 6) for a, b in zip(steps.get_xdata(), steps.get_xdata()[1:], strict=False)] == [1, 1, 1]
    assert texts_of(ax) == ["200 → 404", "404 → 200"]
    assert len(changes) == 2
    assert sorted(len(marks.get_offsets()) for marks in ax.collections) == [1, 3]
    assert ax.get_title(loc="left") == f"4 versions of {url}"


def test_the_words_around_a_history_do_not_touch(table):
    url = f"https://a.example/{'long/' * 40}"
    for n, status in enumerate((200, 301, 404, 503)):
        table.put(Page(url=url, body=b"x" * (n + 1), status=status, fetched_at=NOW + timedelta(days=n)))

    ax = drawn(table.history(url).plot())

    words = [ax._left_title, ax.xaxis.label, ax.xaxis.get_offset_text(), *ax.texts]
    legend = ax.get_legend().get_window_extent()
    assert overlapping(words) == []
    assert not any(legend.overlaps(text.get_window_extent()) for text in words)
    assert max(box.x1 for box in (legend, *(text.get_window_extent() for text in words))) <= ax.figure.bbox.x1
    assert legend.y0 >= 0


def test_a_history_without_a_body_or_of_one_version_is_drawn_too(table):
    table.put(Page(url="https://a.example/", status=301, fetched_at=NOW))

    ax = drawn(table.history("https://a.example/").plot())

    assert list(ax.lines[0].get_ydata()) == [0]
    assert ax.get_title(loc="left") == "1 version of https://a.example/"


@pytest.mark.parametrize("first", [datetime(1970, 1, 2, tzinfo=UTC), NOW - timedelta(milliseconds=1)])
def test_a_history_may_be_as_old_as_dates_are_or_a_moment_long(table, first):
    for n, fetched_at in enumerate((first, NOW)):
        table.put(Page(url="https://a.example/", body=b"x" * (n + 1), fetched_at=fetched_at))

    ax = drawn(table.history("https://a.example/").plot())

    assert list(ax.lines[0].get_ydata()) == [1, 2]
    left, right = ax.get_xlim()
    assert left < ax.lines[0].get_xdata()[0] < ax.lines[0].get_xdata()[1] < right


def areas_of(ax):
    return sorted(round(patch.get_width() * patch.get_height()) for patch in ax.patches if patch.get_fill())


def test_hosts_are_areas_for_their_pages(crawl):
    hosts = crawl.hosts()

    ax = drawn(hosts.plot())

    assert areas_of(ax) == [1550, 1550, 1550, 1550]
    assert sorted(text.partition("\n")[0] for text in texts_of(ax)) == [f"{name}.example" for name in "abcd"]
    assert ax.get_title(loc="left").startswith("hosts by pages: 40 pages, ")


def test_hosts_are_areas_for_their_bytes_and_those_of_a_domain_are_together():
    hosts = [Host("a.one.example", 1, 100), Host("b.one.example", 1, 200), Host("two.example", 9, 100)]

    ax = treemap.draw_hosts(hosts, "bytes", None)

    assert areas_of(ax) == [1550, 1550, 3100]
    outlines = [patch for patch in ax.patches if not patch.get_fill()]
    assert sorted(round(one.get_width() * one.get_height()) for one in outlines) == [1550, 4650]


def test_names_of_hosts_stay_within_their_areas():
    hosts = [Host(f"a-long-name-of-a-host-{n}.example", 1 + n % 9, 1) for n in range(60)]

    ax = drawn(treemap.draw_hosts(hosts, "pages", None))

    assert len(ax.texts) > 5
    assert overlapping(ax.texts) == []


def test_no_more_hosts_are_held_than_are_drawn():
    def endless():
        for n in range(50_000):
            yield Host(f"{n % 100}.site{n // 100:03}.example", 1 + 37 * n % 100, 10)

    found, uncounted = treemap.largest_domains(endless(), "pages")

    assert len(found) == treemap.MOST_DOMAINS + 1
    assert {len(domain.parts) for domain in found if not domain.is_rest} == {treemap.MOST_HOSTS + 1}
    assert sum(domain.pages for domain in found) == 500 * sum(range(1, 101))
    assert [part.pages for part in found[0].parts[:-1]] == list(range(100, 100 - treemap.MOST_HOSTS, -1))
    assert uncounted == 0


def test_hosts_that_nobody_has_counted_are_told():
    assert texts_of(treemap.draw_hosts([Host("a.example")], "pages", None)) == [
        "1 host: refresh_links() counts the pages"
    ]
    ax = treemap.draw_hosts([Host("a.example"), Host("b.example", 2, 20)], "pages", None)
    assert ax.get_title(loc="left").endswith("; 1 host not counted yet")


@pytest.fixture
def linked(table):
    """A page with five links, two of them broken, and three pages that link to it."""
    hub = "https://hub.example/"
    targets = [f"{hub}a", "https://other.example/", f"{hub}gone", f"{hub}never", f"{hub}a", hub]
    table.put(Page(url=hub, outlinks=tuple(Link(url, SCRIPT, "") for url in targets), fetched_at=NOW))
    for url, status in ((f"{hub}a", 200), ("https://other.example/", 200), (f"{hub}gone", 410)):
        table.put(Page(url=url, status=status, outlinks=(Link(hub, "home", ""),), fetched_at=NOW))
    return table


def test_neighbours_are_the_pages_around_one_each_once_and_never_itself(linked):
    around = linked.links.neighbours("https://hub.example/")

    assert [one.url for one in around.linking] == [
        "https://hub.example/a",
        "https://hub.example/gone",
        "https://other.example/",
    ]
    assert [(one.url, one.status) for one in around.linked] == [
        ("https://hub.example/a", 200),
        ("https://other.example/", 200),
        ("https://hub.example/gone", 410),
        ("https://hub.example/never", None),
    ]
    assert (around.more_linking, around.more_linked) == (False, 0)
    assert [row["direction"] for row in around.to_dicts()] == ["from"] * 3 + ["to"] * 4


def test_no_more_neighbours_come_than_are_asked_for_and_the_others_are_told(linked):
    around = linked.links.neighbours("https://hub.example/", limit=1)

    assert (len(around.linking), len(around.linked)) == (1, 1)
    assert (around.more_linking, around.more_linked) == (True, 3)
    assert {"1+ link here", "links to 4", "and others", "and 3 others"} <= set(texts_of(around.plot()))
    with pytest.raises(InvalidArgument, match="limit="):
        linked.links.neighbours("https://hub.example/", limit=-1)


def test_neighbours_are_drawn_with_a_line_to_each_and_broken_ones_are_marked(linked):
    ax = drawn(linked.links.neighbours("https://hub.example/").plot())

    texts = texts_of(ax)
    assert texts == [
        "/a",
        "/gone",
        "other.example/",
        "/a",
        "other.example/",
        "/gone",
        "/never",
        "3 link here",
        "links to 4",
    ]
    assert len(ax.lines) == 7 + 1
    marks = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(marks) == ["answers with an error", "not stored", "on another host", "on the same host"]
    assert overlapping(ax.texts) == []


def test_an_answer_without_results_says_so(table):
    stats = table.stats("a.example", by=["status", "region", "size", "day"])
    pictures = [stats.plot(by) for by in stats.by]
    others = [
        table.hosts().plot(),
        table.history("https://a.example/").plot(),
        table.links.neighbours("https://a.example/").plot(),
    ]

    assert [texts_of(ax) for ax in pictures] == [["no pages of a.example and below"]] * 4
    assert [texts_of(ax) for ax in others] == [["no hosts"], ["no versions"], ["no links from or to this page"]]


def test_what_was_not_counted_is_not_drawn(table):
    found = table.stats("a.example", by="status")

    with pytest.raises(InvalidArgument, match="by='size' was not counted"):
        found.plot("size")
    with pytest.raises(InvalidArgument, match="was not counted"):
        table.stats("a.example", by=()).plot()
    with pytest.raises(InvalidArgument, match="pages or bytes"):
        table.hosts().plot("colour")


def test_all_pictures_are_drawn_on_the_axes_that_are_given(linked):
    figure = canvas.matplotlib().figure.Figure()
    axes = figure.subplots(7)

    stats = linked.stats(webtable.ALL, by=["status", "region", "size", "day"])
    drawn_on = [stats.plot(by, ax=ax) for by, ax in zip(stats.by, axes, strict=False)]
    drawn_on += [
        linked.hosts().plot(ax=axes[4]),
        linked.history("https://hub.example/").plot(ax=axes[5]),
        linked.links.neighbours("https://hub.example/").plot(ax=axes[6]),
    ]

    assert [one is other for one, other in zip(drawn_on, axes, strict=True)] == [True] * 7


@pytest.fixture(scope="module")
def run_piece():
    with pieces_run_after("webtable", warnings="error") as run:
        yield run


OPEN = "import sys, webtable; table = webtable.open('memory:x', create=True);"


def test_nothing_imports_matplotlib_before_a_picture_is_asked_for(run_piece, tmp_path):
    code = f"{OPEN} table.stats('a.example'); table.close(); assert 'matplotlib' not in sys.modules"

    exit_code, wrote = run_piece(code, tmp_path)

    assert exit_code == 0, wrote


def test_a_figure_is_held_by_pyplot_only_where_it_is_in_use(run_piece, tmp_path):
    plot = f"{OPEN} figure = table.stats('a.example').plot().figure; table.close();"

    alone = run_piece(f"{plot} assert 'matplotlib.pyplot' not in sys.modules", tmp_path)
    shown = run_piece(f"import matplotlib.pyplot as plt; {plot} assert plt.get_fignums() == [figure.number]", tmp_path)

    assert (alone, shown) == ((0, ""), (0, ""))


@pytest.mark.parametrize(("name", "question"), [("matplotlib", "stats('a.example')"), ("squarify", "hosts()")])
def test_a_missing_extra_is_named(run_piece, tmp_path, name, question):
    store = "table.put(webtable.Page(url='https://a.example/', body=b'x', fetched_at=webtable._clock.clock.now()));"

    code = f"{OPEN} {store} table.links.refresh(); sys.modules[{name!r}] = None; table.{question}.plot()"
    exit_code, wrote = run_piece(code, tmp_path)

    assert exit_code == 1
    assert MissingExtra.__name__ in wrote
    assert "pip install 'hbase-webtable[plot]', or in a checkout pip install '.[plot]'" in wrote

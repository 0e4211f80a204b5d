"""Pictures of answers: what is drawn, held against a plain count."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

import webtable
from running_pieces import pieces_run_after
from webtable import Link, Page
from webtable.answers import Host
from webtable.errors import InvalidArgument, MissingExtra
from webtable.repository.answers import pictures
from webtable.repository.answers.pictures import LABEL, MOST_BARS, MOST_REGIONS, draw_groups, draw_hosts, draw_regions
from webtable.repository.reading.page_counts import MOST_DATES

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


@pytest.mark.parametrize("by", ["status", "type", "host", "age", "month", "day", "size"])
def test_a_bar_for_each_group_is_as_long_as_its_pages(crawl, by):
    found = crawl.stats(webtable.ALL, by=by, now=NOW)

    ax = drawn(found.plot())

    expected = {name: group.pages for name, group in found.by[by].items()}
    assert dict(zip(labels_of(ax.yaxis), [bar.get_width() for bar in ax.patches], strict=True)) == expected
    assert sum(expected.values()) == 40
    said = f"the {by} of the last capture (UTC)" if by in ("day", "month") else by
    assert ax.get_title(loc="left") == f"40 pages by {said}"
    assert overlapping([*ax.texts, *ax.yaxis.get_ticklabels()]) == []


def test_bars_say_their_pages_and_bytes_with_separators_and_units():
    ax = draw_groups("status", {"200": (1_234_567, 12_345_678), "404": (12, 0)}, None)

    assert texts_of(ax) == ["1,234,567, 12.3 MB", "12, 0 B"]
    assert "300,000" in labels_of(drawn(ax).xaxis)


def test_statuses_have_a_colour_for_their_kind_and_stay_in_order():
    ax = draw_groups("status", {"200": (1, None), "301": (9, None), "404": (3, None), "999": (1, None)}, None)

    assert labels_of(ax.yaxis) == ["200", "301", "404", "999"]
    assert len({bar.get_facecolor() for bar in ax.patches}) == 4
    assert texts_of(ax) == ["1", "9", "3", "1"]


def test_groups_beyond_the_largest_share_a_bar():
    groups = {f"h{n}.example": (n + 1, n) for n in range(100)}

    ax = draw_groups("host", groups, None)

    widths = [bar.get_width() for bar in ax.patches]
    assert widths[:3] == [100, 99, 98]
    assert len(widths) == MOST_BARS + 1
    assert widths[-1] == sum(range(1, 81))
    assert labels_of(ax.yaxis)[-1] == "80 others"


def test_months_are_drawn_without_gaps_and_how_many_pages_are_older_is_said():
    groups = {f"{2020 + n // 12}-{n % 12 + 1:02}": (1 if n == 50 else 100, None) for n in range(60)}

    ax = draw_groups("month", groups, None)

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

    ax = drawn(draw_groups("host", {name: (1, 1), "$\\frac$": (1, 1)}, None))

    label, other = ax.yaxis.get_ticklabels()
    assert len(label.get_text()) == LABEL
    assert label.get_text().isprintable()
    assert label.get_text().endswith(".example")
    assert other.get_text() == "$\\frac$"


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


def test_a_history_is_drawn_by_time_and_size_with_a_mark_for_each_status(table):
    url = "https://a.example/$x$"
    for n, status in enumerate((200, 200, 404, 200)):
        table.put(Page(url=url, body=b"x" * 100 * (n + 1), status=status, fetched_at=NOW + timedelta(days=n)))

    ax = drawn(table.history(url).plot())

    (steps,) = ax.lines
    assert list(steps.get_ydata()) == [100, 200, 300, 400]
    assert [round(float(b - a), 6) for a, b in zip(steps.get_xdata(), steps.get_xdata()[1:], strict=False)] == [1, 1, 1]
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


def test_hosts_are_bars_the_largest_first_and_the_others_share_one(crawl):
    hosts = [Host(f"h{number}.example", number + 1, 1_000 - number) for number in range(100)]

    by_pages, by_bytes = (drawn(draw_hosts(iter(hosts), by, None)) for by in ("pages", "bytes"))

    assert [bar.get_width() for bar in by_pages.patches] == [*range(100, 80, -1), sum(range(1, 81))]
    assert labels_of(by_pages.yaxis)[-1] == "80 others"
    assert [bar.get_width() for bar in by_bytes.patches][:3] == [1_000, 999, 998]
    assert by_pages.get_title(loc="left") == "hosts by pages: 5,050 pages, 95.0 kB"
    assert overlapping([*by_pages.texts, *by_pages.yaxis.get_ticklabels()]) == []


def test_hosts_that_nobody_has_counted_are_told():
    assert texts_of(draw_hosts([Host("a.example")], "pages", None)) == ["1 host: links.refresh() counts the pages"]
    ax = draw_hosts([Host("a.example"), Host("b.example", 2, 20)], "pages", None)
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


def test_an_answer_without_results_says_so(table):
    stats = table.stats("a.example", by=["status", "region", "size", "day"])
    pictures = [stats.plot(by) for by in stats.by]
    others = [
        table.hosts().plot(),
        table.history("https://a.example/").plot(),
    ]

    assert [texts_of(ax) for ax in pictures] == [["no pages of a.example and below"]] * 4
    assert [texts_of(ax) for ax in others] == [["no hosts"], ["no versions"]]


def test_what_was_not_counted_is_not_drawn(table):
    found = table.stats("a.example", by="status")

    with pytest.raises(InvalidArgument, match="by='size' was not counted"):
        found.plot("size")
    with pytest.raises(InvalidArgument, match="was not counted"):
        table.stats("a.example", by=()).plot()
    with pytest.raises(InvalidArgument, match="pages or bytes"):
        table.hosts().plot("colour")


def test_all_pictures_are_drawn_on_the_axes_that_are_given(linked):
    figure = pictures.matplotlib().figure.Figure()
    axes = figure.subplots(6)

    stats = linked.stats(webtable.ALL, by=["status", "region", "size", "day"])
    drawn_on = [stats.plot(by, ax=ax) for by, ax in zip(stats.by, axes, strict=False)]
    drawn_on += [
        linked.hosts().plot(ax=axes[4]),
        linked.history("https://hub.example/").plot(ax=axes[5]),
    ]

    assert [one is other for one, other in zip(drawn_on, axes, strict=True)] == [True] * 6


@pytest.fixture(scope="module")
def run_piece():
    with pieces_run_after("webtable", warnings="error") as run:
        yield run


OPEN = "import sys, webtable; table = webtable.open('memory:x', create=True);"


def test_nothing_imports_matplotlib_before_a_picture_is_asked_for(run_piece, tmp_path):
    code = f"{OPEN} table.stats('a.example'); table.close(); assert 'matplotlib' not in sys.modules"

    exit_code, wrote = run_piece(code, tmp_path)

    assert exit_code == 0, wrote


@pytest.mark.slow
def test_a_figure_is_held_by_pyplot_only_where_it_is_in_use(run_piece, tmp_path):
    plot = f"{OPEN} figure = table.stats('a.example').plot().figure; table.close();"

    alone = run_piece(f"{plot} assert 'matplotlib.pyplot' not in sys.modules", tmp_path)
    shown = run_piece(f"import matplotlib.pyplot as plt; {plot} assert plt.get_fignums() == [figure.number]", tmp_path)

    assert (alone, shown) == ((0, ""), (0, ""))


@pytest.mark.parametrize("question", ["stats('a.example')", "hosts()"])
def test_a_missing_extra_is_named(run_piece, tmp_path, question):
    store = "table.put(webtable.Page(url='https://a.example/', body=b'x', fetched_at=webtable._clock.clock.now()));"

    code = f"{OPEN} {store} table.links.refresh(); sys.modules['matplotlib'] = None; table.{question}.plot()"
    exit_code, wrote = run_piece(code, tmp_path)

    assert exit_code == 1
    assert MissingExtra.__name__ in wrote
    assert "pip install 'hbase-webtable[plot]', or in a checkout pip install '.[plot]'" in wrote

"""Tables that other programs made are brought into a web table."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import ALL, Link, aio
from webtable.errors import ExpiredCapture, InvalidArgument, StoreUnavailable, TableNotFound, UnknownColumn
from webtable.formats import ReadLimits
from webtable.maintenance import Adopted, adopt
from webtable.repository.adoption import KeyForm
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, open_store
from webtable.store.memory import MemoryStore

NOW = datetime.now(UTC).replace(microsecond=0)
Cells = Mapping[str, bytes | Sequence[tuple[int, bytes]]]


def stamp(days: int = 1, seconds: int = 0) -> int:
    """The timestamp of a cell that was put so many days ago."""
    return int((NOW - timedelta(days=days) + timedelta(seconds=seconds)).timestamp()) * 1000


def moment(days: int = 1) -> datetime:
    return NOW - timedelta(days=days)


def big_endian(number: int, size: int) -> bytes:
    return number.to_bytes(size, "big")


@pytest.fixture
def foreign(new_url) -> Callable[..., str]:
    """A table of another program: its URL, for its families and the cells of its rows."""

    def made(families: str, rows: Mapping[str | bytes, Cells], *, versions: int = 3) -> str:
        url = new_url()
        store, table = open_store(url, create=True)
        with store:
            store.create_table(TableSchema(table, [FamilySchema(name, versions=versions) for name in families.split()]))
            puts = [
                Put(key.encode() if isinstance(key, str) else key, [NewCell(column.encode(), at, value)])
                for key, cells in rows.items()
                for column, values in cells.items()
                for at, value in ([(stamp(), values)] if isinstance(values, bytes) else values)
            ]
            assert not any(store.write(table, puts))
        return url

    return made


@pytest.fixture
def target(new_url) -> Iterator[webtable.WebTable]:
    with webtable.open(new_url(), create=True, ttl=None) as table:
        yield table


BY_HAND = {"url": "metadata:url", "body": "content:html", "status": "metadata:status_code", "title": "metadata:title"}


def by_hand(url: str, title: str, status: bytes = b"200", **cells: bytes) -> Cells:
    """A row as it is written with HappyBase, in the design that webtable follows."""
    return {
        "content:html": f"<title>{title}</title><a href=/about>a</a>".encode(),
        "metadata:url": url.encode(),
        "metadata:title": title.encode(),
        "metadata:status_code": status,
        **{name.replace("_", ":", 1): value for name, value in cells.items()},
    }


def test_a_table_written_by_hand_becomes_pages(foreign, target):
    source = foreign(
        "content metadata outlinks inlinks",
        {
            "com.example_": by_hand("https://example.com/", "Home"),
            "com.example.blog_post1": by_hand("https://blog.example.com/post1", "Post"),
            "com.example_gone": by_hand("https://example.com/gone", "", b"404"),
        },
    )

    adopted = adopt(source, target, columns=BY_HAND)

    assert (adopted.pages, adopted.versions, adopted.is_whole) == (3, 3, True)
    pages = {page.url: (page.title, page.status, page.fetched_at) for page in target.pages(ALL)}
    assert pages == {
        "https://example.com/": ("Home", 200, moment()),
        "https://example.com/gone": ("", 404, moment()),
        "https://blog.example.com/post1": ("Post", 200, moment()),
    }
    assert [link.url for link in target.links.of("https://example.com/")] == ["https://example.com/about"]


def test_each_version_of_the_body_is_a_capture_with_the_other_values_as_they_were_then(foreign, target):
    cells = {
        "c:html": [(stamp(3), b"first"), (stamp(2), b"second"), (stamp(1), b"third")],
        "c:status": [(stamp(3), b"500"), (stamp(2), b"200")],
        "c:title": [(stamp(3, 60), b"written a minute later"), (stamp(1, -60), b"a minute before the third")],
    }
    source = foreign("c", {"com.example_a": cells})

    adopted = adopt(
        source,
        target,
        columns={"body": "c:html", "status": "c:status", "title": "c:title"},
        key="{reversed_host}_{path}",
    )

    assert (adopted.pages, adopted.versions) == (1, 3)
    captures = target.history("https://example.com/a", columns=["body", "title", "status"])
    assert [(page.fetched_at, page.body, page.status, page.title) for page in captures] == [
        (moment(1), b"third", 200, "a minute before the third"),
        (moment(2), b"second", 200, "written a minute later"),
        (moment(3), b"first", 500, "written a minute later"),
    ]


def test_urls_come_from_salted_keys(foreign, target):
    urls = ("example.com", "/a"), ("blog.example.com", "/b?c=d")
    rows = {}
    for host, path in urls:
        backwards = ".".join(reversed(host.split(".")))
        rows[f"{hashlib.md5(backwards.encode()).hexdigest()[:2]}:{backwards}{path}"] = {"cf:html": b"<p>x"}
    source = foreign("cf", rows)

    adopt(source, target, columns={"body": "cf:html"}, key="{salt}:{reversed_host}{path}", scheme="http")

    assert sorted(page.url for page in target.pages(ALL)) == ["http://blog.example.com/b?c=d", "http://example.com/a"]


NUTCH = {
    "com.example.www:http:8080/a?b=c": {
        "f:cnt": [(stamp(5), b"<title>From the body</title><a href=/in-the-body>x</a>")],
        "f:st": [(stamp(4), big_endian(2, 4))],  # written again by updatedb
        "f:ts": [(stamp(4), big_endian(stamp(-25), 8))],  # when it is to be fetched next
        "f:typ": [(stamp(5), b"text/html")],
        "f:bas": [(stamp(5), b"http://www.example.com:8080/a?b=c")],
        "p:t": [(stamp(5, 60), b"From the parser")],  # a job that runs later
        "h:Content-Type": [(stamp(5), b"text/html; charset=utf-8")],
        "h:ETag": [(stamp(5), b'"1"')],
        "ol:http://www.example.com:8080/b": [(stamp(5, 60), b"To b")],
        "ol:mailto:someone@example.com": [(stamp(5, 60), b"Mail")],
        "il:http://www.example.com:8080/c": [(stamp(5, 90), b"From c")],
        "mk:_updmrk_": [(stamp(4), b"1")],
    },
    "com.example:https/moved": {
        "f:cnt": [(stamp(5), b"")],
        "f:st": [(stamp(5), big_endian(5, 4))],
        "h:Location": [(stamp(5), b"/new")],
    },
    "com.example:https/gone": {"f:st": [(stamp(5), big_endian(3, 4))]},
    "com.example:https/never": {"f:st": [(stamp(5), big_endian(1, 4))], "f:ts": [(stamp(5), big_endian(stamp(), 8))]},
    "com.example:https/retry": {
        "f:cnt": [(stamp(5), b"of the fetch before")],
        "f:st": [(stamp(4), big_endian(34, 4))],
    },
}


def test_a_table_of_nutch_2_is_read_by_its_preset(foreign, target):
    source = foreign("f p h ol il mtdt mk s", NUTCH, versions=1)

    adopted = adopt(source, target, preset="nutch2")

    assert (adopted.pages, adopted.empty, adopted.is_whole) == (4, 1, True)
    page = target.get("http://www.example.com:8080/a?b=c")
    assert page is not None
    assert (page.title, page.status, page.fetched_at, page.etag) == ("From the parser", 200, moment(5), '"1"')
    assert page.outlinks == (Link("http://www.example.com:8080/b", "To b"),)
    assert page.content_type == "text/html"
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    statuses = {page.url: (page.status, page.redirect_to) for page in target.pages("example.com") if page.status != 200}
    assert statuses == {
        "https://example.com/moved": (301, "https://example.com/new"),
        "https://example.com/gone": (404, None),
    }
    assert target.get("https://example.com/never") is None
    retried = target.get("https://example.com/retry")
    assert retried is not None
    assert (retried.status, retried.body) == (200, b"of the fetch before")


@pytest.mark.parametrize(
    ("key", "url"),
    [  # those of Nutch's TestTableUtil that are of http
        (b"com.foo:http/", "http://foo.com/"),
        (b"com.foo:http:8900/", "http://foo.com:8900/"),
        (b"com.baz.bar:http:8983/to/index.html?a=b&c=d", "http://bar.baz.com:8983/to/index.html?a=b&c=d"),
        (b"com.foo:http/?a=/a/b&c=0", "http://foo.com/?a=/a/b&c=0"),
        (b"com.foo:http", "http://foo.com/"),
        (b"[::1]:http:8080/a", "http://[::1]:8080/a"),
    ],
)
def test_a_key_of_nutch_leads_to_its_url(key, url):
    assert KeyForm("{reversed_host}:{scheme}{:port}{path}").url_of(key) == url


@pytest.mark.parametrize(
    ("form", "key", "url"),
    [
        ("{reversed_host}_{path}", b"com.example_about", "https://example.com/about"),
        ("{reversed_host}_{path}", b"com.example.blog_a_b", "https://blog.example.com/a_b"),
        ("{reversed_host}_{path}", b"com.example_", "https://example.com/"),
        ("{host}{path}", b"example.com/p/q", "https://example.com/p/q"),
        ("{host}{:port}{path}", b"example.com:81?q", "https://example.com:81/?q"),
        ("{salt:2}{url}", b"\xff\x00http://example.com/a", "http://example.com/a"),
        ("{salt}|{reversed_host}{path}", "x|com.example/ä".encode(), "https://example.com/ä"),
    ],
)
def test_a_form_of_keys_leads_to_the_url(form, key, url):
    assert KeyForm(form).url_of(key) == url


@pytest.mark.parametrize("key", [b"", b"com.example", b":file/var/www", b"com.example:gopher/a", b"\xff:http/\xff"])
def test_a_key_of_another_form_leads_nowhere(key):
    with pytest.raises(ValueError, match=r"form|utf-8"):
        KeyForm("{reversed_host}:{scheme}{:port}{path}").url_of(key)


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("{path}", "must have"),
        ("{host}{path}x", "at its end"),
        ("{host}{salt}", "text after it"),
        ("{host}/{host}", "twice"),
        ("{host}{page}", "must be one of"),
        ("{salt:99999}{url}", "must be one of"),
    ],
)
def test_a_form_of_keys_without_a_url_is_refused(form, why):
    with pytest.raises(InvalidArgument, match=why):
        KeyForm(form)


LINKED = (Link("https://example.com/b", "To b"), Link("https://other.example/", ""))


@pytest.mark.parametrize(
    "value",
    [
        b'[["/b", "To b"], "https://other.example/", "mailto:a@example.com"]',
        b'[{"url": "/b", "anchor": "To b"}, {"href": "https://other.example/", "text": null}]',
        b'{"/b": "To b", "https://other.example/": null}',
        b"/b\tTo b\nhttps://other.example/\n",
    ],
)
def test_links_are_json_or_lines(foreign, target, value):
    source = foreign("c", {"example.com/a": {"c:html": b"x", "c:links": value}})

    adopted = adopt(source, target, columns={"body": "c:html", "outlinks": "c:links"}, key="{host}{path}")

    page = target.get("https://example.com/a")
    assert page is not None
    assert page.outlinks == LINKED
    assert adopted.is_whole


@pytest.mark.parametrize(
    "value",
    [
        b'{"ETag": "1", "Content-Type": "text/plain"}',
        b'[["ETag", "1"], ["Content-Type", "text/plain"]]',
        b"HTTP/1.1 200 OK\r\nETag: 1\r\nContent-Type: text/plain\r\n\r\n",
    ],
)
def test_headers_are_json_or_lines(foreign, target, value):
    source = foreign("c", {"example.com/a": {"c:html": b"x", "c:headers": value}})

    adopt(source, target, columns={"body": "c:html", "headers": "c:headers"}, key="{host}{path}")

    page = target.get("https://example.com/a")
    assert page is not None
    assert (dict(page.headers), page.content_type) == ({"ETag": "1", "Content-Type": "text/plain"}, "text/plain")


@pytest.mark.parametrize(
    "value",
    [
        b"2024-01-15T10:00:00Z",
        b"2024-01-15 10:00:00",
        b"Mon, 15 Jan 2024 10:00:00 GMT",
        b"1705312800",
        b"1705312800000",
        b"20240115100000",
        big_endian(1705312800000, 8),
    ],
)
def test_times_are_text_or_numbers(foreign, target, value):
    row = {"c:html": b"x", "c:time": value, "c:modified": value}
    source = foreign("c", {"example.com/a": row})

    columns = {"body": "c:html", "fetched_at": "c:time", "last_modified": "c:modified"}
    adopt(source, target, columns=columns, key="{host}{path}")

    page = target.get("https://example.com/a")
    assert page is not None
    assert page.fetched_at == page.last_modified == datetime(2024, 1, 15, 10, tzinfo=UTC)


@pytest.mark.parametrize("value", [b"2024", b"soon", b"2024-13-01", b"20241301", b"\xff", b"\0\0\0", b""])
def test_what_is_no_time_is_not_taken_for_one(foreign, target, value):
    source = foreign("c", {"example.com/a": {"c:html": b"x", "c:modified": value}})

    adopted = adopt(source, target, columns={"body": "c:html", "last_modified": "c:modified"}, key="{host}{path}")

    page = target.get("https://example.com/a")
    assert page is not None
    assert (page.last_modified, adopted.unreadable) == (None, {"last_modified": 1})


@pytest.mark.parametrize(
    "value", [b"404", b"404 Not Found", b" 404\n", big_endian(404, 2), big_endian(404, 4), big_endian(404, 8)]
)
def test_a_status_is_text_or_a_number(foreign, target, value):
    source = foreign("c", {"example.com/a": {"c:html": b"x", "c:status": value}})

    adopt(source, target, columns={"body": "c:html", "status": "c:status"}, key="{host}{path}")

    page = target.get("https://example.com/a")
    assert page is not None
    assert page.status == 404


def test_what_cannot_be_read_is_counted_and_named_and_ends_nothing(foreign, target):
    source = foreign(
        "c",
        {
            "example.com/good": {"c:html": b"good", "c:status": b"200"},
            "example.com/status": {"c:html": b"x", "c:status": b"gone"},
            b"\xff\xfe": {"c:html": b"x"},
            "not a host/a": {"c:html": b"x"},
            "example.com/large": {"c:html": b"x" * 2_001},
            "example.com/links": {"c:html": b"x", "c:links": b"[" * 100_000},
            "example.com/headers": {"c:html": b"x", "c:headers": b"no headers", "c:title": b"\xff"},
            "example.com/future": {"c:html": [(stamp(-400), b"x")]},
            "example.com/never": {"c:html": [(2**62, b"x")]},
            "example.com/title-only": {"c:title": b"x"},
        },
    )
    columns = {name: f"c:{name}" for name in ("status", "title", "headers")}

    adopted = adopt(
        source,
        target,
        columns={**columns, "body": "c:html", "outlinks": "c:links"},
        key="{host}{path}",
        limits=ReadLimits(record=2_000),
    )

    assert sorted(page.url.rpartition("/")[2] for page in target.pages(ALL)) == ["good", "headers", "links"]
    assert adopted.unreadable == {"outlinks": 1, "headers": 1, "title": 1}
    assert (adopted.pages, adopted.damaged, adopted.failed, adopted.empty) == (3, 5, 1, 1)
    assert not adopted.is_whole
    reasons = " ".join(error.reason for error in adopted.examples)
    for reason in ("status (c:status): it is no number", "2,001 bytes", "utf-8", "not a host", "headers (c:headers)"):
        assert reason in reasons
    assert "over a day from now" in str(adopted.errors[0])


def test_a_family_of_many_columns_is_read_in_pieces_up_to_the_limit(foreign, target):
    cells = {"f:cnt": b"x", **{f"ol:https://example.com/{number:04}": b"" for number in range(3_000)}}
    cells |= {f"h:X-{number}": b"1" for number in range(30)}
    source = foreign("f ol h p", {"com.example:https/a": cells, "com.example:https/b": {"f:cnt": b"y", "h:ETag": b"1"}})

    adopted = adopt(
        source, target, preset="nutch2", columns={"status": "p:s"}, limits=ReadLimits(links=2_500, fields=20)
    )

    page = target.get("https://example.com/a")
    assert page is not None
    assert page.outlinks is not None
    assert [page.outlinks[at].url[-4:] for at in (0, -1)] == ["0000", "2499"]
    assert adopted.unreadable == {"headers": 1}
    other = target.get("https://example.com/b")
    assert other is not None
    assert other.etag == "1"


def test_a_family_has_the_values_of_each_capture(foreign, target):
    cells = {
        "f:cnt": [(stamp(3), b"first"), (stamp(1), b"second")],
        "h:ETag": [(stamp(3), b"1"), (stamp(1), b"2")],
        "h:Age": [(stamp(1), b"9")],
    }
    source = foreign("f p h ol", {"com.example:https/a": cells})

    adopt(source, target, preset="nutch2")

    captures = target.history("https://example.com/a", columns=["headers"])
    assert [dict(page.headers) for page in captures] == [{"ETag": "2", "Age": "9"}, {"ETag": "1"}]


def test_a_family_of_headers_may_have_the_columns_of_other_fields(foreign, target):
    cells = {"c:html": [(stamp(3), b"first"), (stamp(1), b"second")], "c:status": b"200", "c:ETag": b"1"}
    source = foreign("c", {"example.com/a": cells})

    columns = {"body": "c:html", "status": "c:status", "headers": "c:"}
    adopt(source, target, columns=columns, key="{host}{path}")

    captures = target.history("https://example.com/a", columns=["body", "headers"])
    assert [(page.body, dict(page.headers)) for page in captures] == [
        (b"second", {"ETag": "1"}),
        (b"first", {}),
    ]


def test_adopting_again_changes_nothing_and_adds_what_is_new(foreign, target):
    source = foreign("content metadata", {"a": by_hand("https://example.com/", "Home")})
    adopt(source, target, columns=BY_HAND)

    again = adopt(source, target, columns=BY_HAND)
    store, table = open_store(source)
    with store:
        store.write(table, [Put(b"a", [NewCell(b"content:html", stamp(0, -60), b"new")])])
    third = adopt(source, target, columns=BY_HAND)

    assert (again.pages, again.versions, again.unchanged) == (0, 0, 1)
    assert (third.pages, third.versions) == (1, 1)
    assert len(list(target.history("https://example.com/"))) == 2


def test_a_dry_run_reads_everything_and_writes_nothing(foreign, target):
    source = foreign("content metadata", {"a": by_hand("https://example.com/", "Home"), "b": {"content:html": b"x"}})

    adopted = adopt(source, target, columns=BY_HAND, dry_run=True)

    assert (adopted.pages, adopted.versions, adopted.damaged) == (1, 1, 1)
    assert list(target.pages(ALL)) == []


def test_an_interrupted_adoption_goes_on_from_its_journal(foreign, target, tmp_path):
    rows = {f"example.com/{number:03}": {"c:html": b"%d" % number} for number in range(600)}
    source, journal = foreign("c", rows), tmp_path / "journal"
    progress: list[Adopted] = []

    def interrupted(adopted: Adopted) -> None:
        progress.append(adopted)
        raise KeyboardInterrupt

    call = {"columns": {"body": "c:html"}, "key": "{host}{path}", "resume": journal}
    with pytest.raises(KeyboardInterrupt):
        adopt(source, target, on_copied=interrupted, **call)
    with pytest.raises(InvalidArgument, match="journal of another run"):
        adopt(source, target, **{**call, "key": "{url}"})
    rest = adopt(source, target, **call)

    assert 0 < progress[0].pages < 600
    assert (rest.resumed, progress[0].pages + rest.pages, rest.unchanged) == (True, 600, 0)
    assert len(list(target.pages(ALL))) == 600
    assert not journal.exists()


def test_the_source_is_only_read(foreign, target):
    source = foreign("content metadata", {"a": by_hand("https://example.com/", "Home")})

    def everything() -> list[object]:
        store, table = open_store(source)
        with store:
            return [
                [name for name in store.tables() if name.startswith(table)],
                [(row.key, dict(row.cells)) for row in store.scan(table, [webtable.rowkey.KeyRange()])],
            ]

    before = everything()
    adopt(source, target, columns=BY_HAND)

    assert everything() == before


def test_a_store_that_is_gone_ends_the_adoption(foreign, target, monkeypatch):
    source = foreign("content metadata", {"a": by_hand("https://example.com/", "Home")})
    monkeypatch.setattr(
        type(target.store.wrapped), "_write", lambda *_: (_ for _ in ()).throw(StoreUnavailable("gone"))
    )

    with pytest.raises(StoreUnavailable, match="gone"):
        adopt(source, target, columns=BY_HAND)


def test_old_captures_are_refused_before_anything_is_written_where_they_would_be_dropped(foreign, new_url):
    source = foreign("c", {"example.com/new": {"c:html": b"x"}, "example.com/old": {"c:html": [(stamp(40), b"y")]}})

    with webtable.open(new_url(), create=True, ttl=30 * 86_400) as target:
        with pytest.raises(ExpiredCapture, match=r"example\.com/old.*30 days"):
            adopt(source, target, columns={"body": "c:html"}, key="{host}{path}")
        assert list(target.pages(ALL)) == []


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({}, InvalidArgument, "must have the body or the status"),
        ({"columns": {"body": "content:html"}}, InvalidArgument, "and the URL"),
        ({"columns": {"html": "content:html"}}, UnknownColumn, "did you mean 'body'"),
        ({"columns": {"body": "content:"}}, InvalidArgument, "qualifier"),
        ({"columns": {"body": "html", "url": "metadata:url"}}, InvalidArgument, "family:qualifier"),
        ({"columns": {"body": "cf:html", "url": "metadata:url"}}, UnknownColumn, "no family 'cf'.*content, metadata"),
        ({"preset": "nutch3"}, InvalidArgument, "nutch2"),
        ({"columns": BY_HAND, "key": "{host}", "scheme": "ftp"}, InvalidArgument, "scheme='ftp'"),
        ({"columns": BY_HAND, "rate": 0}, InvalidArgument, "rate"),
        ({"columns": BY_HAND, "dry_run": True, "resume": "journal"}, InvalidArgument, "exclude each other"),
    ],
)
def test_columns_and_keys_that_lead_to_no_page_are_refused(foreign, target, options, error, why):
    source = foreign("content metadata", {"a": by_hand("https://example.com/", "Home")})

    with pytest.raises(error, match=why):
        adopt(source, target, **options)


def test_a_web_table_is_copied_instead(new_url, target):
    source = new_url()
    webtable.open(source, create=True).close()

    with pytest.raises(InvalidArgument, match=r"is a web table.*copy"):
        adopt(source, target, columns=BY_HAND)


def test_who_opens_a_foreign_table_is_told_to_adopt_it(foreign):
    source = foreign("content metadata outlinks inlinks", {"com.example_": by_hand("https://example.com/", "Home")})

    with pytest.raises(
        TableNotFound, match=r"If another program made its rows.*webtable\.maintenance\.adopt"
    ) as raised:
        webtable.open(source)

    assert "create" not in str(raised.value)


def test_a_layout_is_not_laid_over_the_rows_of_another_program(foreign):
    source = foreign("content metadata outlinks inlinks", {"com.example_": by_hand("https://example.com/", "Home")})

    for create in (lambda: webtable.open(source, create=True), lambda: webtable.create(source)):
        with pytest.raises(TableNotFound, match=r"webtable\.maintenance\.adopt"):
            create()
    store, table = open_store(source)
    with store:
        assert [name for name in store.tables() if name.startswith(table)] == [table]


def test_who_opens_an_empty_table_is_told_to_create_it(foreign):
    with pytest.raises(TableNotFound, match=r"interrupted.*create"):
        webtable.open(foreign("content metadata", {}))


def test_asyncio_adopts_as_well(tmp_path):
    name = f"memory:{tmp_path.name}"
    with MemoryStore(tmp_path.name) as store:
        store.create_table(TableSchema("pages", [FamilySchema("c")]))
        store.write("pages", [Put(b"example.com/a", [NewCell(b"c:html", stamp(), b"x")])])

    async def adopted() -> tuple[Adopted, list[str]]:
        async with aio.open(tmp_path / "target.db", create=True) as table:
            done = await aio.adopt(name, table, columns={"body": "c:html"}, key="{host}{path}")
            return done, [page.url async for page in table.pages()]

    done, urls = asyncio.run(adopted())

    assert (done.pages, urls) == (1, ["https://example.com/a"])

"""webtable.aio: the same library for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

import webtable
from webtable import Page, aio
from webtable.aio import table as groups
from webtable.repository.table.groups import TableIndexes, TableLinks, TableMaintenance
from webtable.rowkey import Text, UInt

NOW = datetime.now(UTC).replace(microsecond=0)
PAIRS = [
    (webtable.WebTable, aio.WebTable),
    (webtable.Writer, aio.Writer),
    (webtable.answers.Results, aio.Results),
    (webtable.answers.Hosts, aio.Hosts),
    (TableLinks, groups.TableLinks),
    (TableIndexes, groups.TableIndexes),
    (TableMaintenance, groups.TableMaintenance),
    (webtable.KeyedTable, aio.KeyedTable),
]


def page(path: str, **fields: object) -> Page:
    return Page(url=f"https://a.example/{path}", body=f"<title>{path}</title>".encode(), fetched_at=NOW, **fields)


def public(owner: type) -> dict[str, object]:
    return {name: inspect.getattr_static(owner, name) for name in dir(owner) if not name.startswith("_")}


def methods(owner: type) -> dict[str, object]:
    functions = {name: getattr(found, "__func__", found) for name, found in public(owner).items()}
    return {name: found for name, found in functions.items() if inspect.isfunction(found)}


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda owner: owner.__name__)
def test_every_public_name_has_its_counterpart(ours, theirs):
    missing = set(public(ours)) - set(public(theirs))

    assert missing == set()


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda owner: owner.__name__)
def test_a_counterpart_takes_the_same_parameters(ours, theirs):
    found = methods(theirs)

    for name, method in methods(ours).items():
        parameters = dict(inspect.signature(found[name]).parameters)
        if name == "open":
            parameters.pop("threads")
        assert parameters == dict(inspect.signature(method).parameters), name
        assert getattr(found[name], "__wrapped__", method) is method, name


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda owner: owner.__name__)
def test_what_is_not_lazy_is_awaited(ours, theirs):
    lazy = {"Pages", "Hosts", "Writer", "RecordWriter", "Self"}

    for name, method in methods(ours).items():
        returned = str(method.__annotations__["return"])
        is_lazy = (returned in lazy or returned.startswith(("Results[", "Iterator["))) and name != "indexed"
        if name != "token_after":
            assert inspect.iscoroutinefunction(methods(theirs)[name]) is not is_lazy, name


@pytest.mark.parametrize("name", ["open", "create", "doctor"])
def test_a_function_takes_the_same_parameters(name):
    parameters = dict(inspect.signature(getattr(aio, name)).parameters)
    parameters.pop("threads", None)

    wanted = dict(inspect.signature(getattr(webtable, name)).parameters)
    assert list(parameters) == list(wanted)
    assert [one.default for one in parameters.values()] == [one.default for one in wanted.values()]


def test_who_does_not_use_it_does_not_import_asyncio():
    code = "import sys, webtable; webtable.open('memory:none', create=True).close(); print('asyncio' in sys.modules)"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "False\n"


@pytest.fixture(params=["sqlite", "memory", pytest.param("hbase", marks=pytest.mark.hbase)])
def url(request, tmp_path):
    """The URL of a table that is not there yet; it is dropped at the end."""
    if request.param == "sqlite":
        yield str(tmp_path / "crawl.db")
    elif request.param == "memory":
        yield request.getfixturevalue("memory_url")
    else:
        base, _, query = request.getfixturevalue("hbase_url").partition("?")
        name = f"aio_{uuid.uuid4().hex[:8]}"
        yield f"{base.rstrip('/')}/{name}?{query}"
        with webtable.store.open_store(f"{base.rstrip('/')}/{name}?{query}")[0] as store:
            for table in store.tables():
                if table.startswith(name):
                    store.drop_table(table)


async def filled(table: aio.WebTable, count: int) -> None:
    async with table.writer() as writer:
        for number in range(count):
            await writer.put(page(f"{number:04}"))


@pytest.mark.slow
def test_pages_go_in_and_come_out(url):
    async def main():
        async with aio.open(url, create=True) as table:
            await filled(table, 1_500)
            one = await table.get("https://a.example/0007")
            listed = [found.title async for found in table.pages("a.example")]
            batch = await table.pages("a.example").page(size=2)
            rest = [found async for found in table.pages("a.example", after=batch.next_token, limit=3)]
            urls = [one.url, "https://a.example/none"]
            many = [found and found.title async for found in table.get_many(urls)]
            histories = [len(history) async for history in table.history_many(urls)]
            return one, listed, batch, rest, many, histories, await table.pages("a.example").count()

    one, listed, batch, rest, many, histories, count = asyncio.run(main())

    assert one.body == b"<title>0007</title>"
    assert listed == [f"{number:04}" for number in range(1_500)]
    assert [found.title for found in [*batch, *rest]] == ["0000", "0001", "0002", "0003", "0004"]
    assert many == ["0007", None]
    assert histories == [1, 0]
    assert count == 1_500


def test_whether_an_answer_is_empty_must_be_awaited():
    async def asked() -> None:
        async with aio.open("memory:aio-bool", create=True) as table:
            assert await table.pages().first() is None
            with pytest.raises(TypeError, match="await answer"):
                bool(table.pages())

    asyncio.run(asked())


def test_a_receipt_is_awaited_and_hurries_its_batch(url):
    async def main():
        async with aio.open(url, create=True) as table, table.writer(max_age=3_600) as writer:
            receipt = await writer.put(page("one"))
            first = await asyncio.wait_for(asyncio.gather(receipt, receipt), 30)
            again = await receipt
            return first, again, receipt.done(), await table.get("https://a.example/one")

    first, again, done, stored = asyncio.run(main())

    assert [outcome.is_new for outcome in first] == [True, True]
    assert (again, done) == (first[0], True)
    assert stored.title == "one"


def test_hosts_and_answers_as_tables_are_awaited(url):
    pytest.importorskip("pyarrow")

    async def main():
        async with aio.open(url, create=True) as table:
            await filled(table, 3)
            await table.links.refresh()
            hosts = [host async for host in table.hosts()]
            arrow = await table.pages("a.example").to_arrow(["url"])
            indexed = [found.url async for found in await table.indexed("status", term="200")]
            return hosts, arrow, await table.stats("a.example"), indexed

    hosts, arrow, stats, indexed = asyncio.run(main())

    assert [(host.name, host.pages) for host in hosts] == [("a.example", 3)]
    assert arrow.num_rows == 3
    assert stats.pages == len(indexed) == 3


def test_rows_under_any_key_go_in_and_come_out(url):
    key = webtable.rowkey.CompositeKey(Text("name"), UInt("number"), separator=b"/")

    async def main():
        async with aio.KeyedTable.open(url, key, create=True) as table:
            await table.put_many([({"name": "a", "number": number}, {"d:x": b"1"}) for number in range(300)])
            one = await table.get(name="a", number=7)
            found = [record.values["number"] async for record in table.scan(name="a")]
            gone = await table.delete(name="a", number=0)
            return one, found, gone, [record async for record in table.scan(name="a", limit=1)]

    one, found, gone, first = asyncio.run(main())

    assert one.cells == {"d:x": b"1"}
    assert (found, gone) == (list(range(300)), True)
    assert first[0].values["number"] == 1


def test_typed_rows_of_a_table_have_the_same_methods(url):
    key, columns = webtable.rowkey.CompositeKey(Text("name")), [webtable.records.TypedColumn("size", "int")]

    async def main():
        async with aio.KeyedTable.open(url, key, columns=columns, create=True) as table:
            outcomes = []
            async with table.writer(on_outcome=outcomes.append) as writer:
                await writer.put({"name": "a"}, {"size": 1})
                await writer.put_many([({"name": "b"}, {"size": "x"}), ({"name": "c"}, {"size": 3})])
            assert (writer.stored, writer.failed, len(outcomes)) == (2, 1, 3)
            page = await table.scan(webtable.ALL).page(1)
            rest = [record.cells async for record in table.scan(webtable.ALL, after=page.next_token)]
            frame = await table.scan(webtable.ALL, where={"size": 3}).to_dicts(["name"])
            return page[0].cells, rest, frame, await table.count(webtable.ALL), await table.history("size", name="a")

    first, rest, frame, count, history = asyncio.run(main())

    assert (first, rest, frame, count) == ({"size": 1}, [{"size": 3}], [{"name": "c"}], 2)
    assert [version.value for version in history] == [1]


TYPED = """
import asyncio
from webtable import Page, aio
from webtable.answers import Hit, Host

async def main() -> None:
    async with aio.open("crawl.db", create=True, ttl=90) as table:
        page: Page | None = await table.get("https://a.example/", as_of="7d")
        async for found in table.search("word", "a.example"):
            hit: Hit = found
        host: Host | None = await table.hosts().first()
        async with table.writer(max_age=1) as writer:
            receipt: aio.Receipt = await writer.put(Page(url="https://a.example/", body=b""))
        await table.get(7)  # error: arg-type
        await table.get("https://a.example/", no=7)  # error: call-arg
        table.errors(limit="7")  # error: arg-type
        number: int = await table.delete("https://a.example/")
        for page in table.pages("a.example"):  # error: attr-defined
            pass
"""


@pytest.mark.slow
def test_a_type_checker_knows_arguments_and_results(tmp_path):
    (tmp_path / "typed.py").write_text(TYPED)

    command = [sys.executable, "-m", "mypy", str(tmp_path / "typed.py")]
    told = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2]).stdout

    found = re.findall(r"typed\.py:(\d+): error: .*\[([a-z-]+)\]", told)
    wanted = [
        (str(number), line.split("# error: ")[1])
        for number, line in enumerate(TYPED.splitlines(), 1)
        if "# error: " in line
    ]
    assert found == wanted, told

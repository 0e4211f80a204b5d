"""Conditions of Spark narrow what is read, with the same rows as where Spark tests them alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import ALL, HostOnly, Page

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(600),
]
CONF = "spark.sql.python.filterPushdown.enabled"
NOW = datetime.now(UTC).replace(microsecond=0)
HOSTS = ("example.com", "www.example.com", "example.org")
PAGES = [
    Page(
        url=f"https://{host}/{'docs/' if number % 2 else ''}{number}",
        body=b"x" * number,
        status=404 if number % 5 == 3 else 200,
        content_type="text/plain" if number % 3 else "text/html",
        fetched_at=NOW - timedelta(hours=number),
    )
    for host in HOSTS
    for number in range(20)
]
COLUMNS = "url,host,registered_domain,status,content_type,size,fetched_at"
YESTERDAY = f"timestamp '{(NOW - timedelta(hours=9)).strftime('%Y-%m-%d %H:%M:%S')}'"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> str:
    file = str(tmp_path_factory.mktemp("pushdown") / "crawl.db")
    with webtable.open(file, create=True, indexes=["time"]) as table, table.writer() as writer:
        writer.put_many(PAGES)
    return file


@pytest.fixture
def pushing(spark):
    spark.conf.set(CONF, "true")
    yield spark
    spark.conf.unset(CONF)


def plan_of(frame):
    return frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    )


@pytest.mark.parametrize(
    ("condition", "pushed", "left"),
    [
        ("host = 'example.com' and status = 404", "EqualTo(host,example.com), EqualTo(status,404)", ()),
        ("status in (404, 410) and size >= 5 and size < 18", "GreaterThanOrEqual(size,5)", ()),
        ("fetched_at >= YESTERDAY", "GreaterThanOrEqual(fetched_at,", ()),
        ("fetched_at < YESTERDAY and status = 200", "LessThan(fetched_at,", ("status",)),
        ("registered_domain = 'example.com' and content_type = 'text/html'", "EqualTo(content_type", ("example.com",)),
        ("url like 'https://www.example.com/docs/%'", "[]", ("https://www.example.com/docs/",)),
        ("host like '%org' or status = 404", "[]", ("404",)),
    ],
)
def test_conditions_that_are_pushed_down_give_the_same_rows(pushing, store, condition, pushed, left):
    reader = pushing.read.format("webtable").options(store=store, columns=COLUMNS, partitions=2)
    condition = condition.replace("YESTERDAY", YESTERDAY)

    narrowed = reader.option("pushdown", "true").load().where(condition)

    plan = plan_of(narrowed)
    tested = plan.partition("Condition : ")[2]
    rows = narrowed.collect()
    whole = reader.option("pushdown", "false").load().where(condition).collect()
    assert sorted(rows) == sorted(whole)
    assert 0 < len(rows) < len(PAGES)
    assert pushed == "[]" or pushed in plan.partition("PushedFilters: ")[2].splitlines()[0]
    assert all(one in tested for one in left)


def test_what_is_read_is_narrowed(tmp_path):
    from pyspark.sql.datasource import EqualTo, GreaterThan, In, LessThan, Not, StringStartsWith

    from webtable.integrations._spark.options import SparkQuestion
    from webtable.integrations._spark.reading import narrowed

    question = SparkQuestion.of({"store": "crawl.db"})
    host, status = EqualTo(("host",), "example.com"), EqualTo(("status",), 404)
    upper, domain = EqualTo(("host",), "Example.com"), EqualTo(("registered_domain",), "example.com")
    start = StringStartsWith(("url",), "https://example.com/docs/a?b")
    since, until = GreaterThan(("fetched_at",), NOW), LessThan(("fetched_at",), NOW)
    small, large, many = LessThan(("size",), 5), GreaterThan(("size",), 5), In(("status",), (404, 1404))

    def asked(*filters, has_index=True, of=question):
        found, left = narrowed(of, filters, lambda _: has_index)
        return found.name, dict(found.arguments), left

    assert asked(host, status) == ("pages", {"site": HostOnly("example.com"), "status": [404]}, [])
    assert asked(upper, status) == ("pages", {"site": ALL, "status": [404]}, [upper])
    assert asked(domain) == ("pages", {"site": "example.com"}, [domain])
    assert asked(start, host) == ("pages", {"site": "https://example.com/docs/"}, [start, host])
    assert asked(since, status) == ("fetched", {"since": NOW + timedelta(microseconds=1)}, [status])
    assert asked(since, until) == ("pages", {"site": ALL}, [since, until])
    assert asked(until, has_index=False) == ("pages", {"site": ALL}, [until])
    assert asked(until, host) == ("pages", {"site": HostOnly("example.com")}, [until])
    assert asked(small, large, many) == ("pages", {"site": ALL, "max_size": 4}, [large, many])
    assert asked(Not(status)) == ("pages", {"site": ALL}, [Not(status)])
    errors = SparkQuestion.of({"store": "crawl.db", "question": "errors"})
    assert asked(host, of=errors) == ("errors", {"site": ALL}, [host])


def test_a_session_that_does_not_push_down_says_which_setting_does(spark, store):
    frame = spark.read.format("webtable").options(store=store, pushdown="true").load()

    with pytest.raises(Exception, match=CONF.replace(".", r"\.")):
        frame.where("status = 404").count()

"""Rows as questions read them, the classes of questions about a site, and the question for its pages."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing, suppress
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from webtable._clock import clock
from webtable._messages import Argument
from webtable.errors import DamagedRow, InvalidArgument, InvalidURL
from webtable.page.page import Page
from webtable.repository.answers.arrow import arrow, first_rows
from webtable.repository.answers.arrow_pages import in_batches
from webtable.repository.answers.columns import PAGES, column_names, pages_with
from webtable.repository.answers.listing import BY_URL, MAX_SIZE, MIN_SIZE, SITE, Listing, ListingOption
from webtable.repository.answers.results import Explanation, Question
from webtable.repository.arguments import check_numbers, status_codes, status_words
from webtable.repository.hosts.entries import narrowed_ranges, site_meant
from webtable.repository.questions.findings import FINDINGS, TESTS, Finding, in_another_language
from webtable.repository.reading.page_counts import language_code
from webtable.repository.reading.read_ahead import PIECE_ROWS, ROWS_AT_ONCE, read_ahead
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order
from webtable.repository.reading.scope import PLAIN_KEY
from webtable.store.rows import Containing, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import pyarrow as pa

    from webtable.repository.answers.columns import Column, Columns
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage, Made
    from webtable.repository.reading.scope import Scope
    from webtable.rowkey import KeyRange
    from webtable.store import Row


# --- Rows -------------------------------------------------------------------------------------------------------------
#
# Each range of pages is one range per salt, merged in the order of keys without salts, or read one after another.


T = TypeVar("T")


def pieces_of(items: Iterator[T], expected: int | None, limit: int) -> Iterator[list[T]]:
    """Yield *items* in lists of *limit*; the first has as many as are *expected*, so that few results cost little."""
    size = min(expected or limit, limit)
    while piece := list(islice(items, size)):
        yield piece
        size = limit


class PageRows:
    """The rows of one web table, as questions read them."""

    def __init__(self, context: TableContext) -> None:
        self._context = context

    def pages(self, spec: ScanSpec, order: str, after: bytes | None, damage: Damage) -> Iterator[Page]:
        """Yield the pages of *spec*; if it has a limit, that many readable ones."""
        if spec.limit is None:
            with closing(self._made(self.likely(spec, order, after), spec, damage)) as pages:
                yield from pages
            return
        remaining = spec.limit
        while remaining:
            rows = _Counted(self.rows(replace(spec, limit=remaining), order, after))
            count = 0
            with closing(self._made(iter(rows), spec, damage)) as pages:
                for count, page in enumerate(pages, 1):  # noqa: B007 - used after the loop
                    yield page
            if rows.count < remaining:
                return
            # The store also counts rows that cannot be read, and those that are not pages.
            remaining -= count
            after = self.place(rows.last.key, order)

    def rows(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[Row]:
        """Yield the rows of *spec* after the place *after*; in the order of URLs those that are pages."""
        if order == "storage":
            return in_storage_order(self._context.store, spec, after)
        codec = self._context.codec
        # Rows are merged before their bodies are read; the weight says how many bodies are read together.
        spec = replace(spec, weight=codec.weight(spec.wanted.columns or ()))
        return in_key_order(self._context.store, spec, self._context.key.unsalted, [codec.columns.page], after)

    def likely(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[Row]:
        """Yield the rows of *spec*, which has no limit, that pass the filter of the store.

        If few are `expected`, the store is asked for no more than these: otherwise it would look for further matches
        before it returned the first. Each further call asks for more, because the filter may pass too many.
        """
        if spec.wanted.containing is None or spec.expected is None:
            return self.rows(spec, order, after)
        return self._expected(spec, order, after, spec.expected)

    def _expected(self, spec: ScanSpec, order: str, after: bytes | None, limit: int) -> Iterator[Row]:
        while True:
            count = 0
            for row in self.rows(replace(spec, limit=limit), order, after):
                count += 1
                after = self.place(row.key, order)
                yield row
            if count < limit:
                return
            limit = min(2 * limit, max(limit, PIECE_ROWS))

    def keys(self, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[bytes]:
        """Yield the keys of the rows of *spec* after the place *after*, whether they are pages or not."""
        if order == "storage":
            rows = in_storage_order(self._context.store, spec, after)
        else:
            rows = in_key_order(self._context.store, spec, self._context.key.unsalted, None, after)
        return (row.key for row in rows)

    def place(self, row: bytes, order: str) -> bytes:
        """Return the place of *row* in an answer in this order."""
        return row if order == "storage" else self._context.key.unsalted(row)

    def place_of(self, url: str, order: str) -> bytes:
        """Return the place of the page *url* in an answer in this order."""
        return self.place(self._context.key.encode(url), order)

    def _made(self, rows: Iterator[Row], spec: ScanSpec, damage: Damage) -> Generator[Page]:
        """Yield the pages of *rows* of *spec*, with counts of links if they are among its columns."""
        context, columns = self._context, spec.wanted.columns or ()
        content = context.codec.contents(columns)
        has_counts = context.codec.columns.links in columns

        def make(piece: Sequence[Row]) -> Made:
            pages = made(piece)
            if not has_counts:
                return pages
            # A page without a stored count has none since the last refresh: 0, not unknown.
            counted = context.refreshed.counted
            return [counted(page, ("link_counts",)) if isinstance(page, Page) else page for page in pages]

        def made(piece: Sequence[Row]) -> Made:
            if not content:
                with suppress(DamagedRow):  # the others can be read
                    return context.codec.pages(piece)
            return [context.counted.each(row, content) for row in piece]

        # One by one if they have content, so that its size is counted before the next page is made.
        return read_ahead(rows, make, damage, at_once=1 if content else ROWS_AT_ONCE)


class _Counted:
    """An iterator of rows that knows how many it has yielded, and the last one."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.count = 0
        self.last: Row

    def __iter__(self) -> Iterator[Row]:
        for self.count, self.last in enumerate(self._rows, 1):  # noqa: B020 - both are read between two rows
            yield self.last


class ScopeRows(PageRows):
    """The rows of the pages of a scope; `label` names the pages in words.

    Raises `FullScanNeeded`.
    """

    def __init__(self, context: TableContext, scope: Scope) -> None:
        super().__init__(context)
        self._scope = scope
        scope.check_permitted(context, takes_limit=True)
        self.label: Final = str(scope)

    def label_after(self, word: str) -> str:
        """Return the pages in words after *word*, as the end of a phrase; "" for all pages."""
        return "" if self._scope.place is None else f" {word} {self.label}"

    def spec(self, wanted: Wanted | None = None, *, limit: int | None = None, expected: int | None = None) -> ScanSpec:
        """Return the scan of these rows, with what is *wanted* of each (None: the metadata)."""
        context = self._context
        ranges = narrowed_ranges(context, self._scope)
        wanted = wanted or Wanted(context.codec.select(None))
        return ScanSpec(context.table, ranges, wanted, limit, expected=expected, keep=self._scope.keeps)

    def unnarrowed(self, wanted: Wanted) -> ScanSpec:
        """Return the scan of all rows in the ranges of the scope, whichever hosts have pages."""
        return ScanSpec(self._context.table, self._scope.ranges(self._context), wanted, keep=self._scope.keeps)

    def in_one_range(self, spec: ScanSpec) -> ScanSpec:
        """Return *spec*, if it is for all rows of the table, with these as one range, for a scan in storage order."""
        return spec if self._scope.place is not None else replace(spec, ranges=[self._context.keys_of(spec.table)])

    def whole(self) -> ScanSpec:
        """Return the scan of all these rows in storage order, with their metadata."""
        return self.in_one_range(self.spec())

    def all(self, damage: Damage) -> Iterator[Page]:
        """Yield the pages once each, without their bodies, in storage order."""
        return self.pages(self.whole(), "storage", None, damage)

    def by_url(self, url: str) -> bytes:
        """Return the place of *url* in the order of URLs; `url_at` is the inverse."""
        return self.place_of(url, "url")

    def by_any_url(self, url: str | None) -> bytes | None:
        """Return the place of *url*, which may be anything; None if it is no URL, or is too long to be stored."""
        with suppress(InvalidURL):
            return None if url is None else self.by_url(url)
        return None


# --- Questions about a site -------------------------------------------------------------------------------------------


class TableQuestion(Question[T]):
    """A question about the pages of a scope in a web table, declared as `listing`.

    Raises `InvalidArgument` for an order that it does not have, and for a wrong limit.
    """

    listing: Listing

    def __init__(self, context: TableContext, scope: Scope, window: Window) -> None:
        window.check(*self.listing.orders)
        self.context: TableContext = context
        self.scope: Scope = scope
        self.window: Window = window
        self.columns: Columns = self.listing.columns

    def damage(self, rows: list[DamagedRow]) -> Damage:
        """Return a new collection of damaged rows, which counts them for the table."""
        return self.context.damage(rows)

    def suggestion(self) -> str:
        """Return a question with the stored host that is most like that of the scope."""
        return site_meant(self.context, self.scope)

    def plan(
        self, columns: Sequence[bytes | str], ranges: Sequence[KeyRange], *notes: str, index: str | None = None
    ) -> Explanation:
        """Return that these *ranges* of the table, or of its *index*, are read."""
        names = tuple(column if isinstance(column, str) else column.decode() for column in columns)
        return Explanation(self.title, self.window.order, names, tuple(ranges), index, notes)


class ScopeQuestion(TableQuestion[T]):
    """A question that the rows of a scope answer, in their order: by URL, or as they are stored.

    `notes` are remarks for its explanation. Raises `FullScanNeeded`.
    """

    how: Sequence[str] = ()
    """What holds of the whole kind of question."""
    notes: Sequence[str] = ()

    def __init__(self, context: TableContext, scope: Scope, window: Window) -> None:
        super().__init__(context, scope, window)
        self.pages: ScopeRows = ScopeRows(context, scope)

    def url_of(self, result: T) -> str:
        """Return the URL of the row that *result* is from."""
        return result.url  # type: ignore[attr-defined, no-any-return]  # all but a few records have one

    def place(self, result: T) -> bytes:
        """Return the place of the row of *result*."""
        return self.pages.place_of(self.url_of(result), self.window.order)

    def spec(self) -> ScanSpec:
        """Return the scan of what is read."""
        return self.pages.spec()

    def explain(self) -> Explanation:
        """Return the ranges of the scope; of questions that sort, all of them are read for any result."""
        spec = self.spec()
        return self.plan(spec.wanted.columns or (), spec.ranges, *self.how, *self.notes)


class SortedQuestion(ScopeQuestion[T]):
    """A question that cannot answer before it has seen all pages of a scope: what it finds is sorted on disk."""

    how: Sequence[str] = ("all pages are read for any part of the answer, and what is found is sorted on disk",)

    def spec(self) -> ScanSpec:
        """Return the scan of all pages."""
        return self.pages.whole()


def url_at(place: bytes) -> str:
    """Return the URL at *place* in the order of URLs."""
    return PLAIN_KEY.url_of(place)


# --- The pages of a site ----------------------------------------------------------------------------------------------


LISTING = Listing(
    "pages",
    PAGES,
    orders=BY_URL,
    options=(
        SITE,
        ListingOption(
            "status",
            "Only with this status code, or of this class, as in 3xx (repeatable).",
            is_many=True,
            read=status_codes,
        ),
        ListingOption("content_type", "Only of this media type, as in text/html.", flag="type"),
        MIN_SIZE,
        MAX_SIZE,
        ListingOption("finding", "Only those of this section of an audit.", choices=FINDINGS),
        ListingOption("not_language", "Only in a known language other than this one, as in de.", metavar="CODE"),
    ),
    examples=(
        "webtable pages example.com --limit 20",
        "webtable pages https://docs.example.com/guide/ --status 3xx --status 404",
        "webtable pages https://example.com/ --columns url,title,etag --format csv",
        "webtable pages all --type application/pdf --min-size 5MB",
        "webtable pages example.com --finding noindex --columns url,robots,robots_by_bot",
        "webtable pages example.com --format jsonl | jq .title",
    ),
    is_of_pages=True,
    help="""List the pages of a host and of all hosts below it.

    They come by URL, or in the order in which they are stored, which is faster over many hosts.
    """,
    of_command="If there are more than --limit, standard error has the page token.",
)


class Condition(NamedTuple):
    """Which pages are wanted among those of a scope: by status, media type, size in bytes with both ends, and more.

    That is what an audit finds on them, and a language that they are not in.
    """

    status: int | Collection[int] | None = None
    content_type: str | None = None
    min_size: int | None = None
    max_size: int | None = None
    finding: Finding | None = None
    not_language: str | None = None

    @property
    def is_of_columns(self) -> bool:
        """Whether `met` can tell, which sees columns and no pages."""
        return self.finding is None and self.not_language is None

    def filter(self) -> tuple[Callable[[Page], bool] | None, str]:
        """Return a test whether a page is wanted (None: each is), and its words in the question.

        Raises `InvalidArgument`.
        """
        status, content_type, low, high, finding, other_than = self
        # A text is a collection too, and no status.
        codes: list[Any] = [status] if isinstance(status, str) or not isinstance(status, Collection) else list(status)
        for code in () if status is None else codes:
            if type(code) is not int or not 0 <= code <= 999:
                raise InvalidArgument(f"status={code!r} must be a status code, from 0 to 999, as in status=404")
        wanted = None if status is None else set(codes)
        if content_type is not None and (not isinstance(content_type, str) or "/" not in content_type):
            raise InvalidArgument(f"content_type={content_type!r} must be a media type, as in 'text/html'")
        if finding is not None and finding not in FINDINGS:
            raise InvalidArgument(f"finding={finding!r} must be one of {', '.join(FINDINGS)}")
        language = other_than and language_code(other_than)
        if other_than is not None and not language:
            raise InvalidArgument(
                f"not_language={other_than!r} must be the code of a language, as in not_language='de'"
            )
        check_numbers(min_size=low, max_size=high)
        if low is not None and high is not None and high < low:
            raise InvalidArgument(f"max_size={high} is below ", Argument("min_size", low))
        statuses = None if wanted is None else status_words(wanted) or "none"
        conditions = {**self._asdict(), "status": statuses}
        label = "".join(f", {name} {value}" for name, value in conditions.items() if value is not None)
        if not label:
            return None, ""
        has_finding, at = TESTS[finding] if finding else None, clock.now()

        def keep(page: Page) -> bool:
            return (
                (wanted is None or page.status in wanted)
                and (content_type is None or page.content_type == content_type.strip().lower())
                and (low is None or (page.size is not None and page.size >= low))
                and (high is None or (page.size is not None and page.size <= high))
                and (has_finding is None or has_finding(page, at))
                and (not language or in_another_language(page, language))
            )

        return keep, label

    def in_store(self, context: TableContext) -> Containing | None:
        """Return a filter for the store, for one status other than 200; None if a filter would save little.

        Statuses have their own column. The filter may leave out a row whose metadata cannot be read, which is then not
        reported; a strict table has no filter.
        """
        if not isinstance(self.status, int) or self.status == 200 or context.strict:
            return None
        column = context.codec.columns.plain["status"]
        return Containing(column, (str(self.status),)) if "status" in context.layout.plain_columns else None

    def columns(self, wanted: Sequence[Column]) -> Sequence[Column]:
        """Return the columns *wanted*, and those that the condition needs."""
        tested = PAGES.chosen([_FIELD[name] for name, value in self._asdict().items() if value is not None])
        return tuple(dict.fromkeys([*wanted, *tested]))

    def met(self, batch: pa.RecordBatch, wanted: Sequence[Column]) -> pa.RecordBatch:
        """Return the pages of *batch* that are wanted, with the columns *wanted*."""
        pa, tests = arrow(), []
        pc = pa.compute
        if self.status is not None:
            statuses = [self.status] if isinstance(self.status, int) else sorted(self.status)
            tests.append(pc.is_in(batch["status"], value_set=pa.array(statuses, pa.int64())))
        if self.content_type is not None:
            tests.append(pc.equal(batch["content_type"], self.content_type.strip().lower()))
        if self.min_size is not None:
            tests.append(pc.greater_equal(batch["size"], self.min_size))
        if self.max_size is not None:
            tests.append(pc.less_equal(batch["size"], self.max_size))
        kept = batch.filter(reduce(pc.and_, tests)) if tests else batch
        return kept.select([column.name for column in wanted])


_FIELD = {"status": "status", "content_type": "content_type", "min_size": "size", "max_size": "size"}
"""The column that a condition is about."""


class PagesQuestion(ScopeQuestion[Page]):
    """Which pages of a scope are stored, and meet a condition."""

    listing = LISTING

    def __init__(
        self, context: TableContext, scope: Scope, window: Window, condition: Condition, columns: Sequence[str] | None
    ) -> None:
        super().__init__(context, scope, window)
        self.condition = condition
        keep, label = condition.filter()
        self.keep: Callable[[Page], bool] | None = keep
        self.title: str = self.pages.label + label
        self.likely: Containing | None = condition.in_store(context)
        if self.likely is not None:
            column, word = self.likely.column.decode(), self.likely.words[0]
            self.notes: Sequence[str] = [f"filter in the store: {column} is {word}"]
        self.selected: Sequence[bytes] = context.codec.select(columns)
        self.columns: Columns = pages_with(column_names(columns))

    def spec(self, expected: int | None = None) -> ScanSpec:
        wanted = Wanted(self.selected, containing=self.likely)
        # A row that is not a page may have counts of links, and then counts for the store's limit.
        is_limited = self.keep is None and self.context.codec.columns.links not in self.selected
        return self.pages.spec(wanted, limit=expected if is_limited else None, expected=expected)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        pages = self.pages.pages(self.spec(expected), self.window.order, after, damage)
        return pages if self.keep is None else filter(self.keep, pages)

    def batches(
        self, columns: Sequence[Column], after: bytes | None, expected: int | None, damage: Damage
    ) -> Iterator[pa.RecordBatch] | None:
        if not self.condition.is_of_columns:
            return None
        # Without bodies and links: `Results` asks for batches only if no column needs the records.
        codec = self.context.codec
        spec = self.pages.spec(Wanted(codec.select(None), containing=self.likely), expected=expected)
        rows = self.pages.likely(spec, self.window.order, after)
        needed = self.condition.columns(columns)
        batches = in_batches(rows, codec.columns.page, self.context.counted.each, needed, damage, expected)
        return first_rows((self.condition.met(batch, columns) for batch in batches), expected)

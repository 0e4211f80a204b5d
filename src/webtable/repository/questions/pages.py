"""The question for pages that ranges of rows answer: those of a domain, a host or a directory, or all of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.errors import InvalidArgument
from webtable.page.page import Page
from webtable.repository.answers.arrow import arrow, first_rows
from webtable.repository.answers.arrow_pages import in_batches
from webtable.repository.answers.columns import column_names
from webtable.repository.answers.listing import BY_URL, MAX_SIZE, MIN_SIZE, SITE, Listing, ListingOption
from webtable.repository.answers.page_columns import PAGES, pages_with
from webtable.repository.arguments import check_numbers
from webtable.repository.questions.rows import ScopeQuestion
from webtable.store.rows import Containing, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from webtable.repository.answers.columns import Column, Columns
    from webtable.repository.answers.results import Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope


LISTING = Listing(
    "pages",
    PAGES,
    orders=BY_URL,
    options=(
        SITE,
        ListingOption("status", "Only with this status code; may be given more than once.", "number", is_many=True),
        ListingOption("content_type", "Only of this media type, as in text/html.", flag="type"),
        MIN_SIZE,
        MAX_SIZE,
    ),
    examples=(
        "webtable pages example.com --limit 20",
        "webtable pages https://docs.example.com/guide/ --status 404 --status 410",
        "webtable pages https://example.com/ --columns url,title,etag --format csv",
        "webtable pages all --type application/pdf --min-size 5MB",
        "webtable pages example.com --format jsonl | jq .title",
    ),
    is_of_pages=True,
    help="""List the pages of a host and of all hosts below it.

    They come by URL, or in the order in which they are stored, which is faster over many hosts.
    """,
    of_command="With --limit, if there are more, the token for the next ones is written to standard error.",
)


class Condition(NamedTuple):
    """Which pages are wanted among those of a scope: by status, by media type, by size in bytes, both ends included."""

    status: int | Collection[int] | None = None
    content_type: str | None = None
    min_size: int | None = None
    max_size: int | None = None

    def filter(self) -> tuple[Callable[[Page], bool] | None, str]:
        """Return a test whether a page is wanted (None: each is), and its words in the question.

        Raises `InvalidArgument`.
        """
        status, content_type, low, high = self
        given: list[Any] = [status] if isinstance(status, str) or not isinstance(status, Collection) else list(status)
        for one in () if status is None else given:
            if type(one) is not int or not 0 <= one <= 999:
                raise InvalidArgument(f"status={one!r} must be a status code, from 0 to 999, as in status=404")
        wanted = None if status is None else set(given)
        if content_type is not None and (not isinstance(content_type, str) or "/" not in content_type):
            raise InvalidArgument(f"content_type={content_type!r} must be a media type, as in 'text/html'")
        check_numbers(min_size=low, max_size=high)
        if low is not None and high is not None and high < low:
            raise InvalidArgument(f"max_size={high} is below min_size={low}")
        statuses = None if wanted is None else " or ".join(map(str, sorted(wanted))) or "none"
        conditions = {**self._asdict(), "status": statuses}
        said = "".join(f", {name} {value}" for name, value in conditions.items() if value is not None)
        if not said:
            return None, ""

        def keep(page: Page) -> bool:
            return (
                (wanted is None or page.status in wanted)
                and (content_type is None or page.content_type == content_type.strip().lower())
                and (low is None or (page.size is not None and page.size >= low))
                and (high is None or (page.size is not None and page.size <= high))
            )

        return keep, said

    def in_store(self, frame: Frame) -> Containing | None:
        """Return a filter for the store, for one status other than 200; None if a filter would save little.

        Statuses have their own column. The filter may leave out a row whose metadata cannot be read, which is then not
        reported; a strict table has no filter.
        """
        if not isinstance(self.status, int) or self.status == 200 or frame.strict:
            return None
        column = frame.codec.columns.plain["status"]
        return Containing(column, (str(self.status),)) if "status" in frame.layout.plain_columns else None

    def columns(self, wanted: Sequence[Column]) -> Sequence[Column]:
        """Return the columns *wanted*, and those that the condition needs."""
        asked = PAGES.chosen([_FIELD.get(name, name) for name, value in self._asdict().items() if value is not None])
        return tuple(dict.fromkeys([*wanted, *asked]))

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


_FIELD = {"status": "status", "min_size": "size", "max_size": "size"}


class PagesQuestion(ScopeQuestion[Page]):
    """Which pages of a scope are stored, and meet a condition."""

    def __init__(
        self, frame: Frame, scope: Scope, window: Window, condition: Condition, columns: Sequence[str] | None
    ) -> None:
        super().__init__(frame, scope, window, LISTING)
        self.condition = condition
        keep, label = condition.filter()
        self.keep: Callable[[Page], bool] | None = keep
        self.title: str = self.pages.label + label
        self.likely: Containing | None = condition.in_store(frame)
        if self.likely is not None:
            column, word = self.likely.column.decode(), self.likely.words[0]
            self.notes: Sequence[str] = [f"filter in the store: {column} is {word}"]
        self.selected: Sequence[bytes] = frame.codec.select(columns)
        self.columns: Columns = pages_with(column_names(columns))

    def spec(self, expected: int | None = None) -> ScanSpec:
        wanted = Wanted(self.selected, containing=self.likely)
        # A row that is not a page may have counts of links, and then counts for the store's limit.
        is_limited = self.keep is None and self.frame.codec.columns.links not in self.selected
        return self.pages.spec(wanted, limit=expected if is_limited else None, expected=expected)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        pages = self.pages.pages(self.spec(expected), self.window.order, after, damage)
        return pages if self.keep is None else filter(self.keep, pages)

    def batches(
        self, columns: Sequence[Column], after: bytes | None, expected: int | None, damage: Damage
    ) -> Iterator[pa.RecordBatch]:
        codec = self.frame.codec
        spec = self.pages.spec(Wanted(codec.select(None), containing=self.likely), expected=expected)
        rows = self.pages.likely(spec, self.window.order, after)
        needed = self.condition.columns(columns)
        batches = in_batches(rows, codec.columns.page, self.frame.counted.each, needed, damage, expected)
        return first_rows((self.condition.met(batch, columns) for batch in batches), expected)

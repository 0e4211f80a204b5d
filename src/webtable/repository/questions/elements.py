"""The questions for the elements of all pages of a site: headings, images, structured data, and insecure content."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar, get_args

from webtable.page.elements import (
    AltState,
    DataProblem,
    Heading,
    Image,
    InsecureContent,
    InsecureProblem,
    StructuredData,
)
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.questions.findings import is_read, label_of, problem_option, problems_of
from webtable.repository.questions.pages import ScopeQuestion, url_at
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scan import ScanSpec
    from webtable.repository.reading.scope import Scope

_COLUMNS: Final = ("body",)
_BETWEEN: Final = b"\x00"
"""What separates the page from the position on it in the place of an element: it is in no key."""
_READ: Final = "It reads the bodies of all HTML pages of the site with status 200."
_MANY: Final = "repeatable."
_AT: Final = (column("url", "url"), column("position", "count"))


def _listing(name: str, columns: Columns, what: str, examples: Sequence[str], *options: ListingOption) -> Listing:
    help = f"List {what}.\n\n    {_READ}\n    "
    commands = tuple(f"webtable {name.replace('_', '-')} {example}" for example in examples)
    return Listing(name, columns, orders=BY_URL, options=(SITE, *options), examples=commands, help=help)


HEADINGS = _listing(
    "headings",
    declared(
        Heading,
        "heading",
        *_AT,
        column("level", "count", width=5),
        column("text", "title"),
        listed=("url", "level", "text"),
    ),
    "the headings of the pages of a site, <h1> to <h6>",
    ("example.com", "example.com --format csv > headings.csv"),
)
IMAGES = _listing(
    "images",
    declared(
        Image,
        "image",
        *_AT,
        column("element", width=8),
        column("src", "url"),
        column("alt", "title"),
        column("alt_state", heading="alt is", width=7),
        column("width", width=6),
        column("height", width=6),
        column("loading", width=7),
        column("sources", "urls"),
        listed=("url", "src", "alt_state", "alt"),
    ),
    "the images of the pages of a site, with their alternative texts, sizes and loading",
    ("example.com --alt missing", "example.com --columns url,src,width,height,loading --format csv"),
    ListingOption("alt", f"Only if the alternative text is this; {_MANY}", is_many=True, choices=get_args(AltState)),
)
STRUCTURED_DATA = _listing(
    "structured_data",
    declared(
        StructuredData,
        "structured item",
        *_AT,
        column("syntax", width=10),
        column("type", share=1),
        column("problem", width=7),
        column("detail", share=2),
        column("data", share=2),
        listed=("url", "syntax", "type", "problem", "detail"),
    ),
    "JSON-LD, microdata, Open Graph and Twitter's cards of the pages of a site: items, and what is empty or broken",
    ("example.com --problem broken --problem empty", "example.com --columns url,syntax,type,data --format jsonl"),
    problem_option(DataProblem),
)
INSECURE_CONTENT = _listing(
    "insecure_content",
    declared(
        InsecureContent,
        "insecure reference",
        *_AT,
        column("problem", width=13),
        column("element", width=8),
        column("target", "url"),
        listed=("url", "problem", "element", "target"),
    ),
    "what https pages of a site load by http, and forms that are sent by http or stand on http pages",
    ("example.com", "example.com --problem 'mixed content'"),
    problem_option(InsecureProblem),
)

E = TypeVar("E", bound=Heading | Image | StructuredData | InsecureContent)


class ElementsQuestion(ScopeQuestion[E]):
    """Which elements of one kind the pages of a scope have; `Elements` has the name of the listing for them.

    `values` are those by which the *argument* chooses among elements, whose value is that of their `attribute`.
    """

    notes: Sequence[str] = ("the bodies of all pages are read, and those of HTML pages with status 200 parsed",)
    argument = "problem"
    attribute = "problem"
    values: object = None

    def __init__(
        self, context: TableContext, scope: Scope, window: Window, choice: str | Collection[str] | None = None
    ) -> None:
        super().__init__(context, scope, window)
        self.choice: frozenset[str] | None = problems_of(choice, self.values, self.argument)
        self.title: str = f"{self.listing.name.replace('_', ' ')}{self.pages.label_after('of')}{label_of(self.choice)}"

    def spec(self) -> ScanSpec:
        return self.pages.spec(Wanted(self.context.codec.select(_COLUMNS)))

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[E]:
        del expected  # how many elements a page has is not known before it is read
        order, (place, _, position) = self.window.order, (after or b"").partition(_BETWEEN)
        rest = self._elements_of(self.pages.pages(self.spec(), order, place or None, damage))
        if not place:
            return rest
        row = place if order == "storage" else self.context.key.encode(url_at(place))
        begun = damage.sift(self.context.counted.read_each([row], _COLUMNS))
        elements = self._elements_of(page for page in begun if page)
        return chain((element for element in elements if element.position > int(position)), rest)

    def place(self, result: E) -> bytes:
        return self.pages.place_of(result.url, self.window.order) + _BETWEEN + b"%d" % result.position

    def _elements_of(self, pages: Iterable[Page]) -> Iterator[E]:
        urls, choice = self.window.urls, self.choice
        for page in pages:
            # Those that the filter leaves out would be parsed for nothing.
            if not is_read(page) or (urls is not None and not urls.allows(page.url)):
                continue
            for element in getattr(page.elements, self.listing.name, ()):
                if choice is None or getattr(element, self.attribute) in choice:
                    yield element


class HeadingsQuestion(ElementsQuestion[Heading]):
    """Which headings the pages of a scope have."""

    listing = HEADINGS


class ImagesQuestion(ElementsQuestion[Image]):
    """Which images the pages of a scope have."""

    listing = IMAGES
    argument = "alt"
    attribute = "alt_state"
    values: object = AltState


class StructuredDataQuestion(ElementsQuestion[StructuredData]):
    """Which structured data the pages of a scope have."""

    listing = STRUCTURED_DATA
    values: object = DataProblem


class InsecureContentQuestion(ElementsQuestion[InsecureContent]):
    """What the pages of a scope load or send without encryption."""

    listing = INSECURE_CONTENT
    values: object = InsecureProblem

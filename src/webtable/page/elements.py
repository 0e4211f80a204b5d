"""Elements of an HTML page: headings, images, structured data, related pages, and what comes without encryption.

They are read from the body when somebody asks, within the limits of `webtable.page.extract`, large pages in a process
of their own. extruct reads structured data too, but a broken block of JSON-LD ends it, it has no limits, its tree is
that of libxml2 and not of a browser, and it needs 16 packages.
"""

from __future__ import annotations

import re
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
from blake3 import blake3
from selectolax.lexbor import SelectolaxError

from webtable._charsets import with_query_in
from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._recent import RecentValues
from webtable.page.body import is_xhtml
from webtable.page.extract import (
    MAX_FACT,
    Over,
    ParserInput,
    apart,
    in_utf8,
    input_decoder,
    light_markup,
    resolved,
    shortened,
    text_or_image,
    tree,
)
from webtable.page.parser_process import ParserProcess, TooMuch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from selectolax.lexbor import LexborNode

AltState = Literal["missing", "empty", "text"]
"""Whether an image has no alternative text, an empty one (it only decorates), or one with words."""
DataProblem = Literal["empty", "broken"]
"""What is wrong with structured data: there is nothing in it, or it is no JSON."""
InsecureProblem = Literal["mixed content", "form to http", "form on http"]
"""What is not encrypted: what an https page loads by http, a form that is sent by http, and one on an http page."""


class Heading(NamedTuple):
    """A heading of the page *url*, `<h1>` to `<h6>` by its `level`; `position` counts those of the page from 1.

    `text` is at most 1,000 characters, or the alternative text of its first image; "" if it has neither.
    """

    url: str
    position: int
    level: int
    text: str


class Image(NamedTuple):
    """An image of the page *url*; `position` counts those of the page from 1.

    `element` is the name of its element: `img`, `area` (with a link), `input` (an image as a button), or any with
    `role=img`, such as `svg`. `src` is its absolute URL, by the attributes in which scripts find it (`data-src`) if it
    has one, else by `src`, else the first of `sources`; of a `data:` URL it is only the beginning; None without any.
    `sources` are the URLs in `srcset`, its own and those of `<picture>`. `alt` is None if it is missing, and "" if it
    is empty; of `role=img` it is the label. `width`, `height` and `loading` are as written.
    """

    url: str
    position: int
    element: str
    src: str | None
    alt: str | None
    width: str | None = None
    height: str | None = None
    loading: str | None = None
    sources: tuple[str, ...] = ()

    @property
    def alt_state(self) -> AltState:
        """Whether its alternative text is missing, empty or a text."""
        return "missing" if self.alt is None else "text" if self.alt else "empty"


class StructuredData(NamedTuple):
    """An item of structured data of the page *url*, or what is wrong there; `position` counts them from 1.

    Each object of JSON-LD (also in an array or in `@graph`) and each top-level item of microdata is one; all Open Graph
    properties of a page are one, and so are those for Twitter. `syntax` is `json-ld`, `microdata`, `open graph` or
    `twitter`. `type` has names of schema.org without its URL, other
    ones in full, joined by ", ". `data` is JSON: of JSON-LD the object, of microdata what the HTML standard makes of it
    (`type`, `id`, `properties`), with white space collapsed, else the content by property. `problem` is None where all
    is well, and `detail` explains it.
    """

    url: str
    position: int
    syntax: str
    type: str | None = None
    problem: str | None = None
    detail: str | None = None
    data: str | None = None


class InsecureContent(NamedTuple):
    """Something on the page *url* that is loaded or sent by http; `position` counts those of the page from 1.

    `target` is what the `element` loads, or where the form is sent.
    """

    url: str
    position: int
    problem: str
    element: str
    target: str


class Relation(NamedTuple):
    """A URL that the page *url* names as related to it; `position` counts those of the page from 1.

    `rel` is `alternate` (the page in another language, `hreflang` as written, of a `<link>` in the head), `next` or
    `prev` (of a `<link>` in the head, or of an `<a>`); `element` is `link` or `a`, and `target` what it leads to.
    """

    url: str
    position: int
    rel: str
    element: str
    hreflang: str | None
    target: str


class Elements(NamedTuple):
    """What a page has of headings, images, structured data, insecure content and relations.

    Each is in the order of the document, but of relations those of the head come first.

    Left out is what stands in `<template>`, and in `<noscript>`, which is not read where scripts run. At most 50,000 of
    each kind and 4,194,304 characters are read (fewer of a small page, as `ReadLimits` says). `over` names the limit
    that the page is over: with "links" or "link_text" only its first elements are here, else none.
    """

    headings: tuple[Heading, ...] = ()
    images: tuple[Image, ...] = ()
    structured_data: tuple[StructuredData, ...] = ()
    insecure_content: tuple[InsecureContent, ...] = ()
    relations: tuple[Relation, ...] = ()
    over: Over | None = None


_process = ParserProcess("webtable.page.elements:answered")
_decoder = msgspec.msgpack.Decoder(Elements)
_too_large = RecentValues[tuple[bytes, str | None, str | None, ReadLimits], Elements](2**18)


def elements_of(
    body: bytes,
    url: str,
    charset: str | None = None,
    content_type: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> Elements:
    """Return the elements of the HTML *body* of the page at *url*; the other arguments are those of `extract`."""
    if len(body) > limits.parsed:
        return Elements(over="parsed")
    text = min(limits.link_text, 65_536 + 4 * len(body))
    page = ParserInput(body, charset, url, limits.links, text, main=True, is_xml=is_xhtml(content_type))
    if light := light_markup(page):
        return _Reader(page, *light).elements(url)
    # A page that takes too much is asked for again by the next piece of a list, and may have copies on its site.
    key = blake3(body).digest(), charset, content_type, limits
    if (too_much := _too_large.get(key)) is not None:
        return too_much
    try:
        answer = _decoder.decode(apart(_process, answered, page, limits))
    except TooMuch as exc:
        too_much = Elements(over=exc.limit)
        _too_large.keep(key, too_much, getsizeof(too_much))
        return too_much
    parts: list[Any] = [tuple(element._replace(url=url) for element in part) for part in answer[:-1]]
    return Elements._make([*parts, answer.over])


def answered(work: bytes) -> bytes:
    """The elements of the page *work*, encoded; of the second process. Raises `MemoryError`."""
    page = input_decoder.decode(work)
    try:
        # Without its URL, which would be in each of up to 50,000 elements of a kind.
        return msgspec.msgpack.encode(_Reader(page, *in_utf8(page)).elements(""))
    except SelectolaxError as exc:
        raise MemoryError from exc


# --- Reading ----------------------------------------------------------------------------------------------------------


_MAX_TEXT_STEPS: Final = 1_000_000
"""How many nodes the texts of all headings may take, as a heading may hold the rest of its page with its headings."""
_MAX_ITEM_STEPS: Final = 100_000
"""How many nodes all items of microdata may take: `itemref` may name the same ones in each."""
_MAX_DEPTH: Final = 64
"""How deep items may lie in each other."""
SEQUENCE: Final = {"next": "next", "prev": "prev", "previous": "prev"}
"""The relations of pages that follow each other, by the values of `rel`."""
_URL_SPACE: Final = "".join(map(chr, range(0x21)))
_LAZY: Final = ("data-src", "data-lazy-src", "data-original", "data-lazy", "src")
"""The attributes that an image may have its URL in, in the order in which they count."""
_SETS: Final = ("srcset", "data-srcset", "data-lazy-srcset")
_LOADERS: Final = frozenset(
    ["audio", "embed", "frame", "iframe", "img", "input", "object", "script", "source", "track", "video"]
)
"""The elements that load what their `src`, `srcset`, `poster` or `data` names."""
_LOADING: Final = frozenset(
    ["apple-touch-icon", "icon", "manifest", "mask-icon", "modulepreload", "prefetch", "preload", "stylesheet"]
)
"""The values of `rel` with which a browser loads what a `<link>` names."""
_VALUES: Final = {
    **dict.fromkeys(["audio", "embed", "iframe", "img", "source", "track", "video"], "src"),
    **dict.fromkeys(["a", "area", "link"], "href"),
    **dict.fromkeys(["data", "meter"], "value"),
    "meta": "content",
    "object": "data",
    "time": "datetime",
}
"""The attributes that the values of properties are in, by the names of elements; of others it is their text."""
_OPEN_GRAPH: Final = ("og:", "article:", "book:", "fb:", "music:", "product:", "profile:", "video:")
_SCHEMA_ORG: Final = re.compile(r"https?://(?:www\.)?schema\.org/")
# A URL, then what is said of it up to the next comma that is not in brackets (HTML standard, "parse a srcset
# attribute"). No part gives back what it has matched, so that time is linear.
_CANDIDATE: Final = re.compile(r"[ \t\n\f\r,]*+([^ \t\n\f\r]++)")
_DESCRIPTORS: Final = re.compile(r"(?:[^,(]|\([^)]*+\)?)*+")
# What was written around scripts for browsers that knew none, and for XML. Its end is looked for in the last characters
# alone: a search through a long run of white space takes quadratic time.
_OPENING: Final = re.compile(r"(?:<!--|(?://|/\*)?\s{0,9}<!\[CDATA\[(?:\s{0,9}\*/)?)")
_CLOSING: Final = re.compile(r"(?:(?://)?\s{0,9}-->|(?://|/\*)?\s{0,9}\]\]>(?:\s{0,9}\*/)?)\Z")
_MAX_CLOSING: Final = 40


class _Full(Exception):
    """A page has more than the limits allow."""


class _Reader:
    """Reads the elements of one page, until a limit is reached."""

    def __init__(self, page: ParserInput, html: bytes, encoding: str) -> None:
        self._tree = tree(html)
        self._url, self._encoding = page.url or "", encoding
        base = self._tree.css_first("base[href]")
        self._base = (base and resolved(self._url, base.attributes["href"] or "")) or self._url
        self._rows, self._room, self._steps = page.links, page.link_text, _MAX_ITEM_STEPS
        self._unread = {node.mem_id for node in self._tree.css("noscript *")}
        self._ids: dict[str | None, LexborNode] | None = None

    def elements(self, url: str) -> Elements:
        """Return the elements, each with *url* as that of the page."""
        over: Over | None = None
        readers: list[tuple[Callable[..., Any], Iterator[tuple[Any, ...]]]] = [
            (Heading, self._headings()),
            (Image, self._images()),
            (StructuredData, self._structured_data()),
            (InsecureContent, self._insecure_content()),
            (Relation, self._relations()),
        ]
        parts: list[Any] = []
        for record, values in readers:
            rows: list[Any] = []
            try:
                for value in values:
                    if len(rows) >= self._rows:
                        over = over or "links"
                        break
                    rows.append(record(url, len(rows) + 1, *value))
            except _Full:
                over = "link_text"
            parts.append(tuple(rows))
        return Elements._make([*parts, over])

    def _nodes(self, selector: str) -> Iterator[LexborNode]:
        # One that fits several parts of the selector is there as often.
        nodes = {node.mem_id: node for node in self._tree.css(selector)}
        return (node for number, node in nodes.items() if number not in self._unread)

    def _kept(self, text: str) -> str:
        """Return *text*, after its length was taken from what may be read."""
        self._room -= len(text)
        if self._room < 0:
            raise _Full
        return text

    def _absolute(self, reference: str | None) -> str:
        """Return the URL of *reference*, "" if it is none of http or https."""
        reference = (reference or "").strip(_URL_SPACE)
        return self._kept(resolved(self._base, with_query_in(self._encoding, reference))) if reference else ""

    def _with_ids(self, ids: str | None) -> Iterator[LexborNode]:
        """Yield the elements with these *ids*; of several with one id the first, as browsers do."""
        if self._ids is None:
            self._ids = {node.attributes["id"]: node for node in reversed(self._tree.css("[id]"))}
        nodes = self._ids
        return (nodes[name] for name in dict.fromkeys((ids or "").split()) if name in nodes)

    def _headings(self) -> Iterator[tuple[int, str]]:
        nodes = list(self._nodes("h1, h2, h3, h4, h5, h6"))
        steps = max(_MAX_TEXT_STEPS // max(len(nodes), 1), 50)
        for node in nodes:
            yield int((node.tag or "h1")[1]), self._kept(text_or_image(node, MAX_FACT, steps))

    # --- Images -------------------------------------------------------------------------------------------------------

    def _images(self) -> Iterator[tuple[object, ...]]:
        for node in self._nodes("img, area[href], input[type], [role]"):
            attributes, tag = node.attributes, node.tag or ""
            is_input = tag == "input" and (attributes.get("type") or "").lower() == "image"
            if is_input or tag in ("img", "area"):
                alt = shortened(attributes["alt"], MAX_FACT) if "alt" in attributes else None
            elif tag != "input" and (attributes.get("role") or "").lower().split()[:1] in (["img"], ["image"]):
                alt = self._label(node)
            else:
                continue
            # An <area> shows no image: it is a part of one.
            src, sources = (None, ()) if tag == "area" else self._sources(node)
            others = (shortened(attributes.get(name), 100) or None for name in ("width", "height", "loading"))
            yield tag, src, self._kept(alt) if alt else alt, *others, sources

    def _sources(self, node: LexborNode) -> tuple[str | None, tuple[str, ...]]:
        """Return the URL of the image *node*, and those in `srcset`, each once."""
        parent, images = node.parent, [node]
        if parent is not None and parent.tag == "picture":
            images += (child for child in parent.iter() if child.tag == "source")
        references = (name for image in images for of in _SETS for name in _candidates(image.attributes.get(of)))
        sources = tuple(filter(None, dict.fromkeys(map(self._absolute, references))))
        urls = (self._absolute(node.attributes.get(name)) for name in _LAZY)
        written = (node.attributes.get("src") or "").strip(_URL_SPACE).partition(",")[0].partition(";")[0]
        return next(filter(None, urls), None) or (sources[0] if sources else written[:100] or None), sources

    def _label(self, node: LexborNode) -> str | None:
        """Return the accessible name of *node*, which has `role=img`; None if there is none."""
        attributes = node.attributes
        labels = (text_or_image(label, MAX_FACT, 100) for label in self._with_ids(attributes.get("aria-labelledby")))
        title = next((child.text() for child in node.iter() if child.tag == "title"), None)
        names = " ".join(labels), attributes.get("aria-label"), title, attributes.get("title")
        return next(filter(None, (shortened(name, MAX_FACT) for name in names)), None)

    # --- Structured data ----------------------------------------------------------------------------------------------

    def _structured_data(self) -> Iterator[tuple[str | None, ...]]:
        """Yield syntax, type, problem, detail and data of each item."""
        for node in self._nodes("script[type]"):
            if (node.attributes["type"] or "").partition(";")[0].strip().lower() == "application/ld+json":
                yield from self._json_ld(_unwrapped(node.text()))
        order = {node.mem_id: number for number, node in enumerate(self._tree.css("[itemprop]"))}
        for node in self._nodes("[itemscope]:not([itemprop])"):
            item = self._microdata(node, (), order)
            problem = (None, None) if item["properties"] else ("empty", "there is no itemprop in it")
            # Its length was taken part by part, as `itemref` may make a thousand of one.
            data = msgspec.json.encode(item).decode()
            yield "microdata", _type_names(item.get("type", ())), *problem, data
        yield from self._cards()

    def _data(self, item: object) -> str:
        return self._kept(msgspec.json.encode(item).decode())

    def _json_ld(self, text: str) -> Iterator[tuple[str | None, ...]]:
        if not text:
            yield "json-ld", None, "empty", "the script has no text"
            return
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as exc:
            yield "json-ld", None, "broken", shortened(str(exc), MAX_FACT)
            return
        items = list(_items_in(value))
        for item in items:
            types = item.get("@type")
            yield "json-ld", _type_names(types if isinstance(types, list) else [types]), None, None, self._data(item)
        if not items:
            problem = "empty" if isinstance(value, dict | list) else "broken"
            yield "json-ld", None, problem, "there is no object with members in it"

    def _microdata(self, node: LexborNode, above: tuple[int, ...], order: Mapping[int, int]) -> dict[str, Any]:
        """Return the item *node*, which lies in the items *above* (HTML standard, "get the object")."""
        attributes, above = node.attributes, (*above, node.mem_id)
        if len(above) > _MAX_DEPTH:
            raise _Full
        item: dict[str, Any] = {}
        if types := self._kept(attributes.get("itemtype") or "").split():
            item["type"] = types
        if identifier := attributes.get("itemid"):
            item["id"] = self._absolute(identifier) or self._kept(identifier.strip(_URL_SPACE))
        properties: dict[str, list[object]] = {}
        for part in sorted(self._properties(node), key=lambda node: order[node.mem_id]):
            names = dict.fromkeys(self._kept(part.attributes["itemprop"] or "").split())
            value: object = "ERROR" if part.mem_id in above else ""  # as the standard says of a circle
            if names and not value:
                is_item = "itemscope" in part.attributes
                value = self._microdata(part, above, order) if is_item else self._value(part)
            for name in names:
                properties.setdefault(name, []).append(value)
        return {**item, "properties": properties}

    def _properties(self, item: LexborNode) -> Iterator[LexborNode]:
        """Yield the elements that are properties of *item* (HTML standard, "the properties of an item")."""
        seen, pending = {item.mem_id}, [*item.iter(), *self._with_ids(item.attributes.get("itemref"))]
        while pending:
            node = pending.pop()
            self._steps -= 1
            if self._steps < 0:
                raise _Full
            if node.mem_id in seen:
                continue
            seen.add(node.mem_id)
            if "itemprop" in node.attributes:
                yield node
            if "itemscope" not in node.attributes:
                pending += node.iter()

    def _value(self, node: LexborNode) -> str:
        """Return the value of the property *node* (HTML standard, "the property value")."""
        attributes, name = node.attributes, _VALUES.get(node.tag or "")
        if name is None or (name == "datetime" and name not in attributes):
            return self._kept(" ".join(node.text().split()))
        value = attributes.get(name) or ""
        return (name in ("src", "href", "data") and self._absolute(value)) or self._kept(value.strip(_URL_SPACE))

    def _cards(self) -> Iterator[tuple[str | None, ...]]:
        """Yield the properties of Open Graph, and those for Twitter, which pages have under `property` and `name`."""
        cards: dict[str, dict[str, list[str]]] = {"open graph": {}, "twitter": {}}
        for node in self._nodes("meta[property], meta[name]"):
            attributes = node.attributes
            names = f"{attributes.get('property') or ''} {attributes.get('name') or ''}".lower().split()
            content = shortened(attributes.get("content"), MAX_FACT)
            for name in dict.fromkeys(names):
                if name.startswith(("twitter:", *_OPEN_GRAPH)):
                    syntax = "twitter" if name.startswith("twitter:") else "open graph"
                    cards[syntax].setdefault(name, []).append(self._kept(content))
        for (syntax, card), of_type in zip(cards.items(), ("og:type", "twitter:card"), strict=True):
            if card:
                empty = [name for name, contents in card.items() if not all(contents)]
                problem = ("empty", f"no content in {', '.join(empty)}") if empty else (None, None)
                data = {name: contents if len(contents) > 1 else contents[0] for name, contents in card.items()}
                yield syntax, card.get(of_type, [""])[0] or None, *problem, self._data(data)

    # --- Insecure content ---------------------------------------------------------------------------------------------

    def _insecure_content(self) -> Iterator[tuple[str, str, str]]:
        """Yield problem, element and target."""
        is_http = self._url.startswith("http:")
        for node in self._nodes("[src], [srcset], [poster], [data], link[href], form, [formaction]"):
            attributes, tag = node.attributes, node.tag or ""
            references: list[str | None] = []
            if tag == "form" or "formaction" in attributes:
                action = attributes.get("action" if tag == "form" else "formaction")
                # Without an action a form is sent to the URL of its page, whatever the base is.
                target = self._absolute(action) or ("" if action else self._url)
                if target.startswith("http:") or (is_http and target and tag == "form"):
                    yield "form to http" if action and target.startswith("http:") else "form on http", tag, target
            elif tag == "link":
                if not _LOADING.isdisjoint((attributes.get("rel") or "").lower().split()):
                    references = [attributes["href"]]
            elif tag in _LOADERS:
                references = [attributes.get("src"), attributes.get("poster"), attributes.get("data")]
                references += _candidates(attributes.get("srcset"))
            for target in dict.fromkeys(map(self._absolute, () if is_http else references)):
                if target.startswith("http:"):
                    yield "mixed content", tag, target

    # --- Relations ----------------------------------------------------------------------------------------------------

    def _relations(self) -> Iterator[tuple[str, str, str | None, str]]:
        """Yield relation, element, language and target."""
        head = self._tree.head
        links = () if head is None else head.css("link[rel][href]")
        for node in (*(link for link in links if link.mem_id not in self._unread), *self._nodes("a[rel][href]")):
            attributes, tag = node.attributes, node.tag or ""
            language = attributes.get("hreflang", "") or "" if "hreflang" in attributes else None
            for rel in dict.fromkeys((attributes["rel"] or "").lower().split()):
                is_language = rel == "alternate" and tag == "link" and language is not None
                if (is_language or rel in SEQUENCE) and (target := self._absolute(attributes["href"])):
                    yield SEQUENCE.get(rel, rel), tag, language, target


def _candidates(srcset: str | None) -> Iterator[str]:
    """Yield the references in the value of a `srcset`."""
    text, at = srcset or "", 0
    while match := _CANDIDATE.match(text, at):
        reference, at = match[1].rstrip(","), match.end()
        if reference == match[1] and (descriptors := _DESCRIPTORS.match(text, at)):
            at = descriptors.end()
        if reference:
            yield reference


def _unwrapped(script: str) -> str:
    """Return the text of a *script* without the comment or the CDATA section that is written around all of it."""
    text = script.strip()
    if opening := _OPENING.match(text):
        text = text[opening.end() :]
    if closing := _CLOSING.search(text[-_MAX_CLOSING:]):
        text = text[: len(text) - len(closing[0])]
    return text.strip()


def _items_in(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of the JSON-LD *value* that are not within another one, but for those of a graph."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            graph = item.get("@graph", [])
            yield from (node for node in (graph if isinstance(graph, list) else [graph]) if isinstance(node, dict))
            if "@type" in item or item.keys() - {"@context", "@id", "@graph"}:
                yield item


def _type_names(types: Iterable[object]) -> str | None:
    names = (_SCHEMA_ORG.sub("", name, count=1) for name in types if isinstance(name, str))
    return shortened(", ".join(names), MAX_FACT) or None

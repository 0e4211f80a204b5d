"""A page as it is parsed (facts, links, anchors), and its extraction: facts, links, charset and text of an HTML page.

Small pages are parsed in this process. Larger ones are parsed in a second process with limited memory and time
(`webtable.page.parser_process`), because the parser takes quadratic time for nested elements and for the
attributes of one element, and 20 KB of `<font>` in a paragraph become a tree of 750 MB.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, pairwise, repeat
from sys import getsizeof
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from blake3 import blake3
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLParserException
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from webtable._charsets import decoded, with_query_in
from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._recent import RecentValues
from webtable.errors import InvalidURL
from webtable.page.body import as_utf8, encoding_of, is_html, is_text, is_xhtml
from webtable.page.headers import main_and_other
from webtable.page.parser_process import ParserProcess, TooMuch, Unavailable
from webtable.page.parts import MOST_TO_ONE, Facts, Link, LinkKind
from webtable.page.robots import rules_by_bot, rules_of_markup, text_by_bot, text_for_all
from webtable.page.xhtml import html_of_xhtml
from webtable.rowkey import MAX_WEB_KEY, join_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


# --- A page as it is parsed -------------------------------------------------------------------------------------------


MAX_FACT = 1_000
"""Characters of each of them that are kept."""

_HEAD_FACTS = "link[rel][href], meta[name][content]"
# A picture within the page and its parts have titles of their own.
_TITLE_IN_BODY = "title:not(svg title, math title), :is(foreignObject, desc, title, annotation-xml) title"

MAX_ANCHOR = 500
"""How many characters of an anchor text are kept."""

# One search for all, the heading too, as each walks through the whole page. Names of attributes take less of it than
# those of elements: what is not wanted (`<link href>`, `<img src>`, the header of a section) is left out afterwards.
_OTHERS = "[http-equiv], [src], h1, nav, main, aside, header, footer, [role]"
_LINKS = f"[href], {_OTHERS}"
# A jump inside the page is no link, and it is cheaper to leave it to the selector than to look at it.
_LINKS_BUT_JUMPS = f'[href]:not([href^="#"]:not(base)), {_OTHERS}'
_STRIPPED = "".join(map(chr, range(0x21)))
_NO_PAGE = re.compile(r"(?:javascript|mailto|data|tel|blob|about):", re.IGNORECASE)
_SHORT = 500
"""Longer URLs are not remembered: there may be many of them."""


def _number_of(tag: str) -> int:
    # To compare the numbers of tags is cheaper than to make their names; each version of the parser has its own.
    return LexborHTMLParser(f"<{tag}>").css(tag)[0].tag_id


_A, _BASE, _AREA, _H1 = map(_number_of, ("a", "base", "area", "h1"))
_KINDS: dict[int, LinkKind] = {
    _A: "a",
    _AREA: "a",
    _number_of("iframe"): "iframe",
    LexborHTMLParser("<frameset><frame>").css("frame")[0].tag_id: "frame",
    _number_of("meta"): "refresh",
}
"""The kinds of links, by the numbers of their elements."""
_NO_LANDMARKS = frozenset({*_KINDS, _BASE, _H1, *map(_number_of, ("link", "img", "script"))})
_LANDMARKS = {_number_of(tag): tag for tag in ("nav", "header", "main", "aside", "footer")}
# A header or footer of a section is none of the page: https://www.w3.org/TR/html-aam-1.0/#el-header
_IN_SECTIONS = frozenset(map(_number_of, ("header", "footer")))
_SECTIONS = frozenset(map(_number_of, ("article", "aside", "main", "nav", "section")))
_SECTION_ROLES = frozenset({"article", "complementary", "main", "navigation", "region"})
_ROLES = {"navigation": "nav", "banner": "header", "main": "main", "complementary": "aside", "contentinfo": "footer"}
"""What stands for an element with another name, by ARIA; a role that is not here makes it nothing of these."""


_MAX_EMPTY_HEADINGS = 16
"""How many headings of the first level may be empty before one that counts: a theme has one for its menu, say."""


class Outlinks:
    """Collects the links of a page in the order of the document, until a limit is reached.

    `links` has how often each is there, of which those to one URL are bounded as by `different_links`. `base` is what
    references of the page are relative to, `headings` its first `<h1>`s. *encoding* is that of the page, in which
    queries of its links are sent.
    """

    def __init__(self, url: str, most_links: int, most_text: int, encoding: str = "utf-8") -> None:
        self._url: str = url
        self.base: str = url
        self.headings: list[LexborNode] = []
        self._encoding = encoding
        self._most_links = most_links
        self._room = most_text
        self._is_own = True
        self._directory = ""
        self._led_to: Callable[[str, str], str] = resolved
        self.links: dict[tuple[str, str, str, LinkKind, str], int] = {}
        self._numbers: dict[str, int] = {}
        self._last: dict[str, tuple[str, str, str, LinkKind, str]] = {}
        self.over: Literal["links", "link_text"] | None = None

    def add_all(self, tree: LexborHTMLParser) -> None:
        """Add the links of *tree*."""
        links, last = self.links, self._last
        # A name of a link and what it leads to; most pages link to most others several times.
        targets: dict[str, str] = {}
        nodes, tags = self._nodes(tree)
        for node, tag, position in zip(nodes, tags, _positions(nodes, tags), strict=False):
            kind = _KINDS.get(tag)
            if kind is None:
                continue
            attributes = node.attributes
            if kind == "a":
                # The links of a picture within the page may have the older name, and are found by both.
                reference = attributes.get("href" if "href" in attributes else "xlink:href") or ""
            else:
                reference = _refresh_of(node) if kind == "refresh" else attributes.get("src") or ""
                if not reference:
                    continue
            target = targets.get(reference)
            if target is None:
                target = targets[reference] = self._target(reference, targets)
            if not target:
                continue
            if last and target in last:
                links[last[target]] += 1
                continue
            rel = attributes.get("rel")
            link = target, _anchor(node, tag), shortened(rel, MAX_ANCHOR).lower() if rel else "", kind, position
            if link in links:
                links[link] += 1
            else:
                self._add(link)
            if self.over:
                return

    def _nodes(self, tree: LexborHTMLParser) -> tuple[list[LexborNode], list[int]]:
        """Return the links and landmarks of *tree* with the numbers of their tags; jumps inside the page are left out.

        The base of the page is known then.
        """
        nodes = tree.css(_LINKS_BUT_JUMPS)
        tags = [node.tag_id for node in nodes]
        if _H1 in tags:
            first = tags.index(_H1)
            of_level = (node for node, tag in zip(nodes[first:], tags[first:], strict=True) if tag == _H1)
            self.headings = list(islice(of_level, _MAX_EMPTY_HEADINGS))
        if _BASE in tags:
            self.base = resolved(self._url, nodes[tags.index(_BASE)].attributes.get("href") or "") or self._url
            self._is_own = self.base in (self._url, resolved(self._url, ""))
            if not self._is_own:
                nodes = tree.css(_LINKS)
                tags = [node.tag_id for node in nodes]
        self._directory = self.base.partition("?")[0].rpartition("/")[0] + "/"
        # The pages of a directory have most of their links in common.
        self._led_to = _cached_target if len(self._directory) < _SHORT else resolved
        return nodes, tags

    def _target(self, reference: str, targets: dict[str, str]) -> str:
        """Return the URL that *reference* leads to, or "" for a jump inside the page and for what cannot be a page."""
        relative, jump, _ = reference.partition("#")
        relative = relative.strip(_STRIPPED)
        if not relative.isascii():
            relative = with_query_in(self._encoding, relative)
        if jump:
            if self._is_own and not relative:
                return ""
            if (target_before := targets.get(relative)) is not None:
                return target_before
        if not relative or relative[0] == "?":
            target = resolved(self.base, relative)
        else:
            target = (self._led_to if len(relative) < _SHORT else resolved)(self._directory, relative)
        targets[relative] = target
        self._room -= len(target)
        if self._room < 0:
            self.over = "link_text"
        return target

    def _add(self, link: tuple[str, str, str, LinkKind, str]) -> None:
        if len(self.links) >= self._most_links:
            self.over = self.over or "links"
            return
        target, anchor, rel, _, _ = link
        number = self._numbers[target] = self._numbers.get(target, 0) + 1
        self._room -= len(anchor) + len(rel) + (len(target) if number > 1 else 0)
        self.links[link] = 1
        if number == MOST_TO_ONE:
            self._last[target] = link


def _positions(nodes: list[LexborNode], tags: list[int]) -> Iterable[str]:
    """Return for each of *nodes*, with their *tags*, in which landmark it is: the innermost one around it."""
    landmarks: dict[int, int] = {}  # by the addresses of elements: the places of the innermost landmarks
    sections: dict[int, bool] = {}
    starts, names = [0], {-1: ""}
    for at, tag in enumerate(tags):
        if tag not in _NO_LANDMARKS and (name := _landmark(nodes[at], tag, sections)):
            landmarks[nodes[at].mem_id] = at
            starts.append(at)
            names[at] = name
    if not landmarks:
        return repeat("")
    positions = [""] * starts[1]
    # Between two starts of landmarks these only end: what two links have in common, all between them have.
    for start, stop in pairwise((*starts[1:], len(tags))):
        pieces = [(start, stop - 1)]
        while pieces:
            low, high = pieces.pop()
            innermost = _innermost(nodes[low], landmarks)
            if innermost == _innermost(nodes[high], landmarks):
                positions += [names[innermost]] * (high + 1 - low)
            else:
                middle = (low + high) // 2
                pieces += (middle + 1, high), (low, middle)
    return positions


def _landmark(node: LexborNode, tag: int, sections: dict[int, bool]) -> str | None:
    if (role := node.attributes.get("role")) is None:
        return None if tag in _IN_SECTIONS and _is_in_section(node, sections) else _LANDMARKS.get(tag)
    return next((_ROLES[name] for name in role.lower().split() if name in _ROLES), None)


def _is_in_section(node: LexborNode, sections: dict[int, bool]) -> bool:
    """Whether a section is around *node*; note in *sections*, by address, which elements are in one or are one."""
    path: list[int] = []
    above, is_in = node.parent, False
    while above is not None and not is_in:
        address = above.mem_id
        if address in sections:
            is_in = sections[address]
            break
        path.append(address)
        is_in = above.tag_id in _SECTIONS or above.attributes.get("role") in _SECTION_ROLES
        above = above.parent
    sections.update(dict.fromkeys(path, is_in))
    return is_in


def _innermost(node: LexborNode, landmarks: dict[int, int]) -> int:
    """Return the place of the innermost landmark around *node* or that it is, -1 if there is none; note it there."""
    path: list[int] = []
    above: LexborNode | None = node
    place = -1
    while above is not None:
        address = above.mem_id
        if address in landmarks:
            place = landmarks[address]
            break
        path.append(address)
        above = above.parent
    for address in path:
        landmarks[address] = place
    return place


def resolved(base: str, reference: str) -> str:
    """Return the URL that *reference* on a page at *base* leads to, or "" if that cannot be a page."""
    if _NO_PAGE.match(reference):
        return ""
    try:
        target = join_url(base, reference)
    except InvalidURL:
        return ""
    return target if len(target) <= MAX_WEB_KEY else ""


# The HTML standard's "shared declarative refresh steps": digits, a dot or none, then a comma, semicolon or space,
# "url=" or nothing, and quotes or none. No part gives back what it has matched, so that time is linear.
_REFRESH_VALUE = re.compile(
    r"[ \t\n\f\r]*+(?:\d++[\d.]*+|\.[\d.]*+)[ \t\n\f\r]*+(?:[;,][ \t\n\f\r]*+|(?<=[ \t\n\f\r]))(.*)", re.DOTALL
)
_REFRESH_NAME = re.compile(r"url[ \t\n\f\r]*+=[ \t\n\f\r]*+", re.IGNORECASE)


_MOST_AROUND = 100
"""Through how many elements around it a `<noscript>` is looked for."""


def refresh_reference(value: str) -> str:
    """Return the reference that a `<meta http-equiv=refresh>` or a header Refresh leads to, "" if it only reloads.

    >>> refresh_reference("0; URL='/next'"), refresh_reference("5;/next"), refresh_reference("30")
    ('/next', '/next', '')
    """
    parts = _REFRESH_VALUE.match(value[: 2 * MAX_WEB_KEY])
    if parts is None:
        return ""
    reference = parts[1]
    if name := _REFRESH_NAME.match(reference):
        reference = reference[name.end() :]
    if (quote := reference[:1]) in ("'", '"'):
        reference = reference[1:].partition(quote)[0]
    return reference.strip(_STRIPPED)


def _refresh_of(node: LexborNode) -> str:
    attributes = node.attributes
    if (attributes.get("http-equiv") or "").strip(_STRIPPED).lower() != "refresh":
        return ""
    # Where scripts run, as in a browser, nothing in here is read; many pages send only those without scripts elsewhere.
    parent = node.parent
    for _ in range(_MOST_AROUND):
        if parent is None:
            break
        if parent.tag == "noscript":
            return ""
        parent = parent.parent
    return refresh_reference(attributes.get("content") or "")


_cached_target = lru_cache(maxsize=1 << 14)(resolved)


def _anchor(node: LexborNode, tag: int) -> str:
    if tag == _A:
        return text_or_image(node, MAX_ANCHOR)
    # What is within an `<iframe>` is only markup.
    return shortened(node.attributes.get("alt" if tag == _AREA else "title"), MAX_ANCHOR)


# What stands within a line: the words around any other element are apart, as on the screen. An element of a name with a
# hyphen is the page's own, and within the line unless a style says otherwise, which is not looked at.
_WITHIN_LINE = frozenset(
    {
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "g",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "path",
        "picture",
        "q",
        "rb",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "source",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "svg",
        "text",
        "time",
        "tspan",
        "tt",
        "u",
        "use",
        "var",
        "wbr",
    }
)
_WITHOUT_WORDS = frozenset({"script", "style", "template"})
_MAX_STEPS = 20_000
"""How many nodes one text may take: an unclosed <a> holds the rest of its page, and each text its ancestors."""


def _text_of(node: LexborNode, most_steps: int = _MAX_STEPS) -> str:
    """The text of *node*, with a space where an element ends that is not within the line."""
    child = node.first_child
    while child is not None and child.next is None:
        if (text := child.text_content) is not None and "{" not in text:
            return text
        child = child.first_child
    text = node.text(separator="\0")
    # One piece of text is the rule; braces may be a style, which has no words.
    if "\0" not in text and "{" not in text:
        return text
    pieces: list[str] = []
    root, block, is_apart, steps = node.mem_id, None, False, 0
    for part in node.traverse(include_text=True):
        steps += 1
        tag = part.tag or ""
        if tag != "-text":
            is_apart = is_apart or not (tag in _WITHIN_LINE or tag in _WITHOUT_WORDS or "-" in tag)
            continue
        above, around = part.parent, None
        while above is not None and above.mem_id != root:
            if (tag := above.tag or "") in _WITHOUT_WORDS:
                break
            if around is None and not (tag in _WITHIN_LINE or "-" in tag):
                around = above.mem_id
            above, steps = above.parent, steps + 1
        else:
            pieces += (" ", part.text()) if is_apart or around != block else (part.text(),)
            block, is_apart = around, False
        if steps > most_steps:
            break
    return "".join(pieces)


def text_or_image(node: LexborNode, limit: int, most_steps: int = _MAX_STEPS) -> str:
    """Return the text of *node* or, where it has none, what its first image shows; cut to *limit* characters.

    At most *most_steps* nodes are looked at for the text.
    """
    text = _text_of(node, most_steps)
    if text := " ".join(text.split()) if len(text) <= limit else shortened(text, limit):
        return text
    image = node.css_first('img[alt]:not([alt=""])')
    return "" if image is None else shortened(image.attributes["alt"], limit)


def shortened(text: str | None, limit: int) -> str:
    """Return *text* with its white space collapsed and cut to *limit* characters."""
    if not text:
        return ""
    if len(text) <= limit:
        return " ".join(text.split())
    # An unclosed <a> holds the rest of its page, of which only the beginning is looked at.
    return " ".join(text.lstrip()[: 8 * limit].split())[:limit].rstrip()


def facts_of(tree: LexborHTMLParser, base: str, headings: Sequence[LexborNode]) -> Facts:
    """The facts that the page *tree* says of itself; *base* is the URL that its relative ones are resolved against.

    The first of several counts, but of robots all do, as for crawlers, and of *headings* the first that has a text.
    Only the head is asked, as crawlers do: what stands in the body may be what somebody else has written into the page.
    """
    description = None
    canonicals: list[str] = []
    robots: list[str] = []
    head, root = tree.head, tree.root
    for node in () if head is None else head.css(_HEAD_FACTS):
        attributes = node.attributes
        if node.tag == "link":
            if "canonical" in (attributes["rel"] or "").lower().split():
                canonicals.append(resolved(base, attributes["href"] or ""))
            continue
        name = (attributes["name"] or "").strip().lower()
        if name == "description" and description is None:
            description = _text(attributes["content"])
        elif line := rules_of_markup(name, attributes["content"] or ""):
            robots.append(" ".join(line.split()))
    canonical, other = main_and_other(canonicals)
    rules = rules_by_bot(robots)
    return Facts(
        title=_title(tree),
        canonical=canonical,
        other_canonical=other,
        description=description,
        robots=text_for_all(rules, MAX_FACT),
        robots_by_bot=text_by_bot(rules, MAX_FACT),
        h1=next(filter(None, (text_or_image(heading, MAX_FACT) for heading in headings)), None),
        language=None if root is None else _text((root.attributes.get("lang") or "").lower()),
    )


def _title(tree: LexborHTMLParser) -> str | None:
    node = (tree.head and tree.head.css_first("title")) or tree.css_first(_TITLE_IN_BODY)
    return None if node is None else _text(node.text())


def _text(text: str | None) -> str | None:
    return shortened(text, MAX_FACT) or None


# --- Extraction -------------------------------------------------------------------------------------------------------


# Soft hyphen, zero width space, word joiner and byte order mark: nobody sees them, and they part words.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]+")


# Up to here the worst that is known takes a second and 300 MB. Of real pages 86 in 100 are smaller, and those that are
# not take a fifth longer in the other process; one of several megabytes, which then needs a new process, twice as long.
_SMALL = 48 * 1024
# To find the main content takes quadratic time for nested elements: 9,800 of them in 48 KB take 4 seconds.
_SMALL_MAIN = 12 * 1024
_MARKS = " ¶#§🔗"
"""What the headings of many sites end with, as a link to them."""
# What the parser makes again, with its attributes, in every paragraph after one in which it was not closed.
_COPIED = re.compile(
    rb"<(?=[abcefinstuABCEFINSTU])(?i:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])[^>]*"
)
# A quoted value in which there is a ">". Possessive, as giving back could find nothing more: half of the time.
_GOES_ON = re.compile(rb"=\s*+(?:\"[^\">]*+|'[^'>]*+)>")
_COPY = 25
"""An element takes as much memory as so many characters of attributes."""
_MAX_COPIES = 8_000_000
"""Characters of copied elements, 36 bytes of memory each."""
# Without what follows changes of a tree, of which crossed end tags make so many that 75 KB of them take 20 seconds; all
# that is lost is that a `<selectedcontent>` has the text of what is selected as well.
_WITHOUT_EVENTS = LexborDocumentOptions.WO_EVENTS.value

Over = Literal["parsed", "memory", "seconds", "links", "link_text"]
"""The names of the limits that a page can be over."""


class Extract(NamedTuple):
    """What `extract` found in a page."""

    facts: Facts
    outlinks: tuple[Link, ...]
    charset: str
    """The encoding in which the page was read, by its name in the Encoding Standard, in lower case."""
    over: Over | None = None
    """The limit that the page is over, or None. Over "parsed", "memory" or "seconds" it was not parsed; over "links" or
    "link_text" only its first links are here."""

    @property
    def title(self) -> str | None:
        """The title, None if there is none."""
        return self.facts.title

    @property
    def is_parsed(self) -> bool:
        """Whether the page was parsed, so that its title and links are here if it has any."""
        return self.over in {None, "links", "link_text"}


def extract(
    body: bytes,
    url: str,
    charset: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
    *,
    content_type: str | None = None,
) -> Extract:
    """The facts of the HTML page *body* at *url*, its links and its charset.

    *charset* is the one that the response named, *content_type* its media type: XHTML is read as XML, if it is
    well-formed. The links are in the order of the document, with the canonical http or https URLs that they lead to,
    their anchor texts (or the alternative text of the image), their `rel` and position; equal ones are one, with how
    many `times` it is there. Bad input is no error: what cannot be read is left out. A page over one of *limits* has
    no facts and no links, or only the first links, and `over` names the limit.

    >>> extract(b"<a href='/b#top' rel=Nofollow> the <i>next</i></a>", "https://example.com/a").outlinks
    (Link(url='https://example.com/b', anchor='the next', rel='nofollow', kind='a', position='', times=1),)
    """
    over: Over = "parsed"
    if len(body) <= limits.parsed:
        page = ParserInput(body, charset, url, limits.links, limits.link_text, is_xml=is_xhtml(content_type))
        if light := light_markup(page):
            return _extracted(page, *light)
        try:
            return _extract_decoder.decode(_apart(page, limits))
        except TooMuch as exc:
            over = exc.limit
    return Extract(Facts(), (), encoding_of(body, charset), over)


class MainContent(NamedTuple):
    """What a page has to say, without what surrounds it on the pages of its site."""

    text: str
    headings: tuple[str, ...] = ()
    """The headings in it, of all levels, in order and each once."""


def plain_text(
    body: bytes, charset: str | None = None, content_type: str | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> str | None:
    r"""Return the readable text of *body*; None if it is neither HTML nor text, or is over one of *limits*.

    *charset* is the one that the response named, *content_type* its media type. HTML, also without a type, gives a line
    for each block, with white space collapsed and with the alternative text of images, but without scripts, styles and
    form fields; hidden elements are included. Other text (also JSON and XML) is returned as it is.

    >>> plain_text(b"<style>p {}</style><p>A <b>b</b>old\n word<ul><li>one<li>two", "utf-8", "text/html")
    'A bold word\none\ntwo'
    >>> plain_text(b"a < b\n", "utf-8", "text/plain"), plain_text(b"%PDF-1.7", None, "application/pdf")
    ('a < b\n', None)
    """
    if not is_text(body, charset, content_type):
        return None
    if content_type and not is_html(content_type):
        return decoded(body, encoding_of(body, charset))
    if len(body) > limits.parsed:
        return None
    page = ParserInput(body, charset, is_xml=is_xhtml(content_type))
    if light := light_markup(page):
        return _readable(light[0])
    try:
        return _apart(page, limits).decode()
    except TooMuch:
        return None


def main_content(
    body: bytes, charset: str | None = None, content_type: str | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> MainContent | None:
    """Return the main content of *body* as resiliparse finds it; None where `plain_text` returns None.

    It is all of the text where none is found, or not in time, and of what is not HTML.
    """
    if content_type and not is_html(content_type):
        text = plain_text(body, charset, content_type, limits)
        return None if text is None else MainContent(text)
    # A page that is stored is asked up to three times in a row: for its language, its signature and its full text.
    key = blake3(body).digest(), charset, content_type, limits
    cached = _main_contents.get(key)
    if cached is None:
        cached = (_read_main_content(body, charset, content_type, limits),)
        _main_contents.keep(key, cached, getsizeof("") if cached[0] is None else 2 * getsizeof(cached[0].text))
    return cached[0]


def _read_main_content(
    body: bytes, charset: str | None, content_type: str | None, limits: ReadLimits
) -> MainContent | None:
    if is_text(body, charset, content_type) and len(body) <= limits.parsed:
        page = ParserInput(body, charset, main=True, is_xml=is_xhtml(content_type))
        try:
            light = light_markup(page)
            return _main_content(light[0]) if light else _main_decoder.decode(_apart(page, limits))
        except TooMuch:
            pass
    text = plain_text(body, charset, content_type, limits)
    return None if text is None else MainContent(text)


class ParserInput(msgspec.Struct, array_like=True):
    """A page that is to be parsed: for its title and links, or for its text if it has no URL, or its main content.

    With `main` the work takes quadratic time for nested elements, and is done elsewhere for smaller pages than other.
    """

    body: bytes
    charset: str | None
    url: str | None = None
    links: int = 0
    link_text: int = 0
    main: bool = False
    is_xml: bool = False


_main_contents = RecentValues[tuple[bytes, str | None, str | None, ReadLimits], tuple[MainContent | None]](8 * 2**20)
_process = ParserProcess("webtable.page.extract:answered")
input_decoder: msgspec.msgpack.Decoder[ParserInput] = msgspec.msgpack.Decoder(ParserInput)
_extract_decoder = msgspec.msgpack.Decoder(Extract)
_main_decoder = msgspec.msgpack.Decoder(MainContent)


def _apart(page: ParserInput, limits: ReadLimits) -> bytes:
    return apart(_process, answered, page, limits)


def apart(process: ParserProcess, answered: Callable[[bytes], bytes], page: ParserInput, limits: ReadLimits) -> bytes:
    """Return what *process* answers to *page*, or *answered*, its function, where it cannot be started.

    Raises `TooMuch`.
    """
    work = msgspec.msgpack.encode(page)
    try:
        return process.call(work, memory=limits.memory, seconds=limits.seconds)
    except Unavailable:
        pass
    try:
        return answered(work)
    except MemoryError as exc:
        raise TooMuch("memory") from exc


def answered(work: bytes) -> bytes:
    """The extract, main content or text of the page *work*, encoded; of the second process. Raises `MemoryError`."""
    page = input_decoder.decode(work)
    html, encoding = in_utf8(page)
    try:
        if page.main:
            return msgspec.msgpack.encode(_main_content(html))
        if page.url is None:
            return _readable(html).encode()
        return msgspec.msgpack.encode(_extracted(page, html, encoding))
    except (HTMLParserException, SelectolaxError) as exc:
        raise MemoryError from exc


def light_markup(page: ParserInput) -> tuple[bytes, str] | None:
    """Return *page* in UTF-8 and its encoding, if parsing it takes a second and 300 MB at most."""
    if len(page.body) > (_SMALL_MAIN if page.main else _SMALL):
        return None
    html, encoding = in_utf8(page)
    tags = html.count(b"<")
    if tags * (_COPY * tags // 4 + len(html)) > _MAX_COPIES and tags * _copied(html) > _MAX_COPIES:
        return None
    return html, encoding


def in_utf8(page: ParserInput) -> tuple[bytes, str]:
    """The markup of *page* as HTML in UTF-8, and the encoding that it was in."""
    encoding = encoding_of(page.body, page.charset)
    html = as_utf8(page.body, encoding)
    return (html_of_xhtml(html) or html) if page.is_xml else html, encoding


def tree(html: bytes) -> LexborHTMLParser:
    """Return the tree of *html*, which is in UTF-8."""
    return LexborHTMLParser(html, options=_WITHOUT_EVENTS)


def _copied(html: bytes) -> int:
    """Return how many characters every tag of *html* may make the parser copy, at most."""
    tags = _COPIED.findall(html)
    together = b">".join(tags)
    if _GOES_ON.search(together + b">"):
        return len(html)
    # One link ends the one before it, and no other element does.
    links = [len(tag) for tag in tags if tag[1] in b"aA"]
    return _COPY * (len(tags) - len(links)) + len(together) - sum(links) + max(links, default=0)


def _extracted(page: ParserInput, html: bytes, encoding: str) -> Extract:
    tree = LexborHTMLParser(html, options=_WITHOUT_EVENTS)
    outlinks = Outlinks(page.url or "", page.links, min(page.link_text, 65_536 + 4 * len(page.body)), encoding)
    outlinks.add_all(tree)
    links = tuple(Link(*link, times) for link, times in outlinks.links.items())
    return Extract(facts_of(tree, outlinks.base, outlinks.headings), links, encoding, outlinks.over)


def _main_content(html: bytes) -> MainContent:
    text = _readable(html, main=True)
    if not text:
        return MainContent(_readable(html))
    lines = set(text.splitlines())
    # selectolax, because resiliparse takes quadratic time to go through the elements that it has found.
    nodes = LexborHTMLParser(html, options=_WITHOUT_EVENTS).css("h1, h2, h3, h4, h5, h6")
    headings = (_lines(" ".join(_text_of(node).split())).rstrip(_MARKS) for node in nodes)
    return MainContent(text, tuple(dict.fromkeys(heading for heading in headings if heading in lines)))


# resiliparse knows no element of these names, or leaves it out with its words: what follows would be glued to it. The
# flag is local, so that the search is for the "<", and one byte after it rules out most tags.
_APART_NAMES = rb"caption|dialog|legend|listing|menu|optgroup|option|search|select|summary|textarea|xmp"
_APART_TAGS = re.compile(rb"<(?=/?[cdlmostxCDLMOSTX])(?=/?(?i:" + _APART_NAMES + rb")\b)")
_APART_OR_RENAMED_TAGS = re.compile(
    rb"<(/?)(?=[bcdlmostxBCDLMOSTX])(?i:(?P<button>button)|(?P<label>label)|" + _APART_NAMES + rb")\b"
)


def _with_words(tag: re.Match[bytes]) -> bytes:
    # Buttons and labels are left out with their words, unless they have another name.
    if tag["button"] or tag["label"]:
        return (b" <%sspan" if tag["button"] else b"<%sspan") % tag[1]
    return b" " + tag[0]


def _readable(html: bytes, *, main: bool = False) -> str:
    html = _APART_TAGS.sub(b" <", html) if main else _APART_OR_RENAMED_TAGS.sub(_with_words, html)
    return _lines(extract_plain_text(html.decode(), main_content=main, list_bullets=False))


def _lines(text: str) -> str:
    lines = _INVISIBLE.sub("", text).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines if line and not line.isspace())

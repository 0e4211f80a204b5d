"""The tags, attributes and text of a page, for tests of what is written as HTML."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta"}


class Tags(HTMLParser):
    """Fails where a tag is not closed by its own end; keeps all tags, attributes and text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.links: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.attributes += attributes
        if tag == "a":
            self.links.append(dict(attributes))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.names.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

"""Draws the four pictures of docs/pictures/drawing-*.svg: `python docs/make_drawings.py`.

They have a light ground of their own, so that they can be read on a dark page as well.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

FOLDER = Path(__file__).with_name("pictures")
INK, PALE, TEAL, AMBER, GREY = "#1f2933", "#ffffff", "#d5ece9", "#fbe8c8", "#e6e9ec"


class Drawing:
    """Boxes, texts and arrows on a ground of *width* and *height* pixels."""

    def __init__(self, width: int, height: int, title: str) -> None:
        """Begin with the ground; *title* is what a screen reader says."""
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="sans-serif" font-size="13" fill="{INK}">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0 8 4 0 8z" fill="{INK}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="8" fill="#f7f9fa"/>',
        ]

    def text(self, x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> None:
        """Write *text* at a base line; code is in a font of one width."""
        font = ' font-family="monospace" font-size="12"' if text.startswith("`") else ""
        style = f'text-anchor="{anchor}" font-weight="{weight}"{font}'
        self._parts.append(f'<text x="{x}" y="{y}" {style}>{escape(text.strip("`"))}</text>')

    def box(self, x: float, y: float, width: float, height: float, *lines: str, fill: str = PALE) -> None:
        """Draw a box with *lines* in its middle, the first of them bold if there are several."""
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" stroke="{INK}"/>'
        )
        top = y + height / 2 + 5 - 8.5 * (len(lines) - 1)
        for number, line in enumerate(lines):
            weight = "bold" if number == 0 and len(lines) > 1 else "normal"
            self.text(x + width / 2, top + 17 * number, line, anchor="middle", weight=weight)

    def arrow(self, x: float, y: float, to_x: float, to_y: float, label: str = "", *, dashed: bool = False) -> None:
        """Draw an arrow, with *label* above its middle."""
        dashes = ' stroke-dasharray="4 4"' if dashed else ""
        self._parts.append(
            f'<path d="M{x} {y} L{to_x} {to_y}" stroke="{INK}" fill="none" marker-end="url(#tip)"{dashes}/>'
        )
        if label:
            self.text((x + to_x) / 2, (y + to_y) / 2 - 6, label, anchor="middle")

    def svg(self) -> str:
        """Return the drawing."""
        return "\n".join([*self._parts, "</svg>"]) + "\n"


def table() -> Drawing:
    """Draw a table of pages with its families, and the tables beside it."""
    drawing = Drawing(760, 330, "A table of pages: rows by key, families of columns, and the tables beside it")
    drawing.text(20, 28, "The table of pages, sorted by row key", weight="bold")
    families = ("metadata", "content", "outlinks", "inlinks")
    holds = ("title, status, headers", "body", "links of the page", "links to the page")
    for number, (family, held) in enumerate(zip(families, holds, strict=True)):
        drawing.box(230 + 128 * number, 42, 124, 44, family, held, fill=TEAL)
    rows = ("5a:com.example/", "5a:com.example/products", "5a:com.example.docs/", "f5:org.example/")
    for number, key in enumerate(rows):
        drawing.box(20, 92 + 32 * number, 204, 28, f"`{key}", fill=GREY)
        for column in range(4):
            drawing.box(230 + 128 * column, 92 + 32 * number, 124, 28, "cells, by date" if number == 0 else "")
    drawing.text(20, 252, "Beside it", weight="bold")
    drawing.box(20, 264, 330, 50, "indexes", "term + key without its salt: 404, com.example/lost", fill=AMBER)
    drawing.box(362, 264, 180, 50, "queue", "what must be counted", fill=AMBER)
    drawing.box(554, 264, 186, 50, "meta", "layout, states of indexes", fill=AMBER)
    return drawing


def write() -> Drawing:
    """Draw the order in which a batch is written."""
    drawing = Drawing(760, 250, "A write: read, decide, pack, then entries and inlinks, then pages, then clean-up")
    drawing.text(20, 28, "A batch of pages, from left to right", weight="bold")
    steps = (
        ("read", "what is stored", "of its pages"),
        ("decide", "new, changed", "or unchanged"),
        ("pack", "cells, entries,", "inlinks"),
        ("put hints", "queue, entries,", "inlinks"),
        ("put pages", "a page is one", "row: whole"),
        ("settle", "remove outdated", "hints"),
    )
    for number, lines in enumerate(steps):
        drawing.box(20 + 122 * number, 48, 108, 78, *lines, fill=TEAL if number < 3 else AMBER)
        if number:
            drawing.arrow(20 + 122 * number - 14, 87, 20 + 122 * number - 1, 87)
    drawing.text(20, 150, "prepared in threads while the last batch is stored")
    drawing.text(386, 150, "in this order, so that no index lacks a page")
    drawing.box(20, 168, 342, 64, "killed before the pages", "hints without a page:", "readers skip them", fill=GREY)
    drawing.box(
        386,
        168,
        354,
        64,
        "killed after the pages",
        "the pages are stored and found;",
        "outdated hints are skipped",
        fill=GREY,
    )
    return drawing


def salts() -> Drawing:
    """Draw a question that is read in a range for each salt, and merged."""
    drawing = Drawing(760, 300, "A question over 256 salts: the first rows of each range are merged into one order")
    drawing.box(20, 118, 150, 64, "question", "example.com and", "its subdomains", fill=TEAL)
    for number, salt in enumerate(("00", "01", "02", "…", "ff")):
        y = 24 + 52 * number
        drawing.arrow(170, 150, 238, y + 20)
        drawing.box(240, y, 200, 40, "252 more ranges" if salt == "…" else f"`[{salt}:com.example. …)", fill=GREY)
        drawing.arrow(440, y + 20, 518, 150)
    drawing.box(520, 118, 100, 64, "merge", "by the key", "without salt", fill=AMBER)
    drawing.arrow(620, 150, 658, 150)
    drawing.box(660, 118, 84, 64, "answer", "in the order", "of URLs", fill=TEAL)
    drawing.text(240, 292, "first rows of 32 ranges a call, 8 calls at once; bodies only of merged rows")
    return drawing


def processes() -> Drawing:
    """Draw where the processes are: programs, gateways, and those of HBase."""
    drawing = Drawing(760, 310, "Processes: programs with the library, Thrift gateways, and the servers of HBase")
    drawing.text(20, 28, "Your machines", weight="bold")
    for number, name in enumerate(("crawler", "webtable ingest", "notebook, serve")):
        drawing.box(20, 42 + 74 * number, 150, 58, name, "library in the process", fill=TEAL)
    drawing.box(20, 264, 150, 34, "SQLite file", fill=GREY)
    drawing.arrow(95, 248, 95, 262)
    drawing.text(300, 28, "Gateways", weight="bold")
    drawing.box(290, 42, 150, 44, "Thrift1 :9090", "needed", fill=AMBER)
    drawing.box(290, 96, 150, 44, "Thrift2 :9091", "optional, faster", fill=AMBER)
    drawing.arrow(170, 71, 288, 66, "hbase://")
    drawing.arrow(170, 78, 288, 116)
    drawing.text(570, 28, "HBase", weight="bold")
    for number, (name, what) in enumerate(
        (
            ("region server :16020", "regions of rows"),
            ("region server :16020", "regions of rows"),
            ("master :16000", "tables, snapshots"),
            ("ZooKeeper :2181", "where servers are"),
        )
    ):
        drawing.box(560, 42 + 66 * number, 180, 52, name, what, fill=GREY)
    drawing.arrow(440, 64, 558, 64)
    drawing.arrow(440, 118, 558, 130)
    drawing.arrow(170, 150, 558, 150)
    drawing.text(500, 144, "hbase+native://", anchor="middle")
    drawing.arrow(170, 160, 558, 206, dashed=True)
    drawing.arrow(170, 170, 558, 270, dashed=True)
    drawing.text(290, 296, "dashed: to find servers, and for tables alone")
    return drawing


DRAWINGS = {"table": table, "write": write, "salts": salts, "processes": processes}


def drawings() -> dict[str, str]:
    """Return the text of each picture, by the name of its file."""
    return {f"drawing-{name}.svg": draw().svg() for name, draw in DRAWINGS.items()}


if __name__ == "__main__":
    for name, text in drawings().items():
        (FOLDER / name).write_text(text, encoding="utf-8")

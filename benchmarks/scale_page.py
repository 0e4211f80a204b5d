"""Draws the picture of docs/scale.md and writes its tables, from the results: `python -m benchmarks.scale_page`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks import model, scale, scale_peers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

RESULTS = Path(__file__).with_name("results")
DOCS = RESULTS.parents[1] / "docs"
PICTURE = DOCS / "pictures" / "scale.png"
PAGE = DOCS / "scale.md"
STORES = {
    "SQLite": RESULTS / "scale-sqlite-memory.jsonl",
    "HBase, gateways": RESULTS / "scale-hbase.jsonl",
    "HBase, native": RESULTS / "scale-hbase-native.jsonl",
}
SMALL, GATEWAYS, LARGE = STORES
ON_DISK = RESULTS / "scale-sqlite.jsonl"
"""Of a file on a disk; the one of `STORES` is in a file system in memory."""
PEERS = RESULTS / "scale-peers.json"
BODIES = RESULTS / "scale-bodies.jsonl"
"""Of a table in HBase whose bodies are those of real pages."""
MIDDLE = 1_000_000
NAMED = ("broken links", "pages of a domain", "fetched last", "duplicates of a page")
"""The questions whose lines are named in the picture; the others are grey."""
_BEGIN, _END = "<!-- {} begins: made by benchmarks/scale_page.py -->", "<!-- {} ends -->"


def tables() -> dict[str, str]:
    """Return the tables of the page by their names."""
    measured = {store: scale.read(file) for store, file in STORES.items()}
    hbase = measured[GATEWAYS]
    cost = model.PageCost.between(hbase[-2], hbase[-1])
    others = {"SQLite, on a disk": scale.read(ON_DISK)[-1:], "HBase, real bodies": scale.read(BODIES)[-1:]}
    return {
        "growth": "\n".join(_growth({store: _ends(sizes) for store, sizes in measured.items()} | others)),
        "questions": "\n".join(_questions(measured, scale_peers.read(PEERS))),
        "model": "\n".join(model.table(cost)),
    }


def _ends(sizes: Sequence[scale.Size]) -> list[scale.Size]:
    """Return the first size, a million pages and the last size."""
    return [size for size in sizes if size in (sizes[0], sizes[-1]) or size.pages == MIDDLE]


def written(page: str, made: Mapping[str, str]) -> str:
    """Return *page* with the tables that are *made* between their marks; raises `ValueError` where one has none."""
    for name, table in made.items():
        begin, end = _BEGIN.format(name), _END.format(name)
        if not 0 <= page.find(begin) < page.find(end):
            raise ValueError(f"the page has no place for the table {name!r}: {begin} … {end}")
        before, _, rest = page.partition(begin)
        _, _, behind = rest.partition(end)
        page = f"{before}{begin}\n\n{table}\n\n{end}{behind}"
    return page


def _growth(measured: Mapping[str, Sequence[scale.Size]]) -> Iterator[str]:
    head = "store | pages | stored a second | bytes a page | regions"
    yield f"| {head} | `links refresh` | `stats` | `index verify` | memory |"
    yield "|---|---|---|---|---|---|---|---|---|"
    walks = list(next(iter(measured.values()))[0].walks)
    for store, sizes in measured.items():
        for size in sizes:
            times = [f"{size.walks[name]:,.1f} s" if name in size.walks else "–" for name in walks]
            page_bytes = f"{sum(size.bytes.values()) / size.pages:,.0f}"
            cells = [store, f"{size.pages:,}", f"{size.pages_per_second:,.0f}", page_bytes, f"{size.regions}", *times]
            cells.append(f"{size.memory_mb:.0f} MB" if size.writers == 1 else "–")  # not of the writers
            yield f"| {' | '.join(cells)} |"


def _questions(measured: Mapping[str, Sequence[scale.Size]], peers: scale_peers.FilterScans) -> Iterator[str]:
    """Yield the medians at the first and the last size, and the filter scan with how many times as fast ours is."""
    columns = [(store, size) for store in (SMALL, LARGE) for size in (measured[store][0], measured[store][-1])]
    (as_many,) = (size for size in measured[GATEWAYS] if size.pages == peers.pages)
    heads = [*(f"{store.partition(',')[0]}, {size.pages:,}" for store, size in columns)]
    heads += ["calls", f"filter scan, {peers.pages:,}"]
    yield f"| question | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for question, (median, _) in as_many.questions.items():
        cells = [f"{size.questions[question][0]:,.1f}" for _, size in columns]
        cells.append(f"{columns[-1][1].calls[question]:.0f}")
        scan = peers.milliseconds.get(question)
        compared = f"{scan:,.0f}, {scan / median:,.0f}×" if scan else "–"
        yield f"| {question} | {' | '.join(cells)} | {compared} |"


def draw(file: Path) -> None:
    """Draw how long the questions take in tables of each size."""
    mpl.use("agg")
    figure, panels = plt.subplots(1, len(STORES), figsize=(12, 4.2), sharey=True, layout="constrained")
    for panel, (store, results) in zip(panels, STORES.items(), strict=True):
        _draw_questions(panel, scale.read(results))
        panel.set_title(store, loc="left", fontsize=10)
    panels[0].set_ylabel("the first 20 results, median, milliseconds")
    figure.savefig(file, dpi=120, metadata={"Software": None})
    plt.close(figure)


def _draw_questions(axes: Axes, sizes: Sequence[scale.Size]) -> None:
    pages = [size.pages for size in sizes]
    colors = iter(("tab:red", "tab:blue", "tab:green", "tab:purple"))
    for question in sorted(sizes[0].questions, key=NAMED.__contains__):
        p50 = [size.questions[question][0] for size in sizes]
        if question in NAMED:
            axes.plot(pages, p50, color=next(colors), marker="o", markersize=3, label=question)
        else:
            axes.plot(pages, p50, color="0.8", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="pages in the table", ylim=(0.1, 200))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(axis="y", color="0.93")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left")


if __name__ == "__main__":
    draw(PICTURE)
    PAGE.write_text(written(PAGE.read_text(), tables()))

"""Checks the English of the docs: `python docs/check_prose.py` lists what to rewrite, and fails if there is anything.

It looks at the text of README.md, CHANGELOG.md and docs/*.md, without code: words of our own where HBase, HTTP, WARC,
SQL or SEO have a term; a word twice in a row; sentences of over 50 words; pages that do not begin with who needs them;
and sentences and rows of tables that stand on two pages. (proselint was tried: it takes code for prose.)
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from count_words import ROOT, prose

if TYPE_CHECKING:
    from collections.abc import Iterator

RELICS = {
    r"handles?": "id",
    r"moments?": "time",
    r"holdings": "summary",
    r"likeness": "similarity",
    r"remed(?:y|ies)": "fix",
    r"(?:lake|lakes)": "Parquet dataset",
    r"of (?:your|one's) own": "custom, or yours",
    r"(?:is|are|was|were) (?:asked|told)": "is queried, gets",
    r"(?:asked|wanted) for": "requested",
    r"as is said|is said (?:of|by)": "a verb with its subject",
    r"runs? dry": "is exhausted",
    r"at odds": "the difference, named",
    r"foretold": "predicted",
    r"whatever the moment": "at any time",
    r"Found is": "a sentence with a subject",
}
"""Words and phrases of these docs' past, and what the field says."""
LONGEST = 50  # words in a sentence
SAME = 12  # words from which a sentence may stand on one page only
GENERATED = {"docs/cli.md"}
"""Pages whose sentences repeat what `--help` says of each command."""
LATER = {"docs/explorer.md", "docs/explorer_protocols.md"}
"""Pages that are rewritten with the explorer."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\[*])")
_OPENING = re.compile(r"\b(you|your|yours)\b|^(Read|Look|Work)\b", re.IGNORECASE)
_TWICE = re.compile(r"\b([a-z]{2,}) \1\b")
_ALLOWED_TWICE = {"that", "had"}


def texts() -> dict[str, str]:
    """Return the prose of each page, by its path."""
    paths = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = {str(path.relative_to(ROOT)): path for path in paths}
    return {name: prose(path.read_text(encoding="utf-8")) for name, path in names.items() if name not in LATER}


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of the prose *text*: those of paragraphs, items of lists, and cells and rows of tables."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) |\s*\||#)", text):
        line = " ".join(block.split())
        if line.startswith("|"):
            yield line
        elif not line.startswith("#"):
            yield from _SENTENCE.split(line.lstrip("-* "))


def problems(page: str, text: str) -> Iterator[str]:
    """Yield what to rewrite in the prose *text* of *page*, a line each."""
    plain = re.sub(r"`[^`]*`", "`", text)
    for relic, better in RELICS.items():
        for found in re.finditer(rf"\b(?:{relic})\b", plain, re.IGNORECASE):
            around = " ".join(plain[max(0, found.start() - 40) : found.end() + 40].split())
            yield f"{page}: {found[0]!r}: write {better}: … {around} …"
    for sentence in sentences(plain):
        if page not in GENERATED and not sentence.startswith("|") and len(sentence.split()) > LONGEST:
            yield f"{page}: a sentence of {len(sentence.split())} words: {sentence[:80]} …"
        if (twice := _TWICE.search(sentence)) and twice[1] not in _ALLOWED_TWICE:
            yield f"{page}: {twice[0]!r}: the same word twice"
    if page.startswith("docs/"):
        opening = next((block for block in text.split("\n\n")[1:] if block.strip()), "")
        if not _OPENING.search(opening):
            yield f"{page}: the first paragraph does not say who needs the page: {opening[:80]}"


def repeated(pages: dict[str, str]) -> Iterator[str]:
    """Yield each sentence and row of a table that stands on two of *pages*, or twice on one."""
    seen: dict[str, set[str]] = defaultdict(set)
    for page, text in pages.items():
        if page not in GENERATED:
            for sentence in sentences(text):
                normal = " ".join(re.findall(r"\w+", sentence.lower()))
                if len(normal.split()) >= SAME:
                    seen[normal].add(page)
    for normal, found in seen.items():
        if len(found) > 1:
            yield f"{', '.join(sorted(found))}: {normal}"


def main() -> None:
    """Print what to rewrite; exit with 1 if there is anything."""
    pages = texts()
    found = [line for page, text in pages.items() for line in problems(page, text)]
    found += [f"on two pages: {line}" for line in repeated(pages)]
    print("\n".join(found) or "the prose is in order")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

"""Counts the words of the docs, and fails where they are more than the limit: `python docs/count_words.py [--pages]`.

It counts what you read: text, headings, lists and tables of README.md, CHANGELOG.md and docs/*.md, also those of
docs/cli.md, which is generated. A word is what stands between white space and has a letter or a digit. Not counted are
code (in fences, or indented), comments and targets of links; and what you look up: docs/reference and docs/api.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 55_000
README_LIMIT = 700
"""The words of all pages, and those of README.md."""
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_DIRECTIVE = re.compile(r"^::: .*(?:\n {4}.*)*", re.MULTILINE)
_TARGET = re.compile(r"\]\([^)]*\)")
_INDENTED = re.compile(r"(?<=\n\n) {4}(?![-*] |\d+\. ).*(?:\n {4}.*|\n(?=\n {4}))*")
_WORD = re.compile(r"\S*\w\S*")


def prose(page: str) -> str:
    """Return the text of a *page* in Markdown: without code, comments and the targets of links."""
    for pattern in (_COMMENT, _FENCE, _DIRECTIVE, _INDENTED):
        page = pattern.sub("", page)
    return _TARGET.sub("]", page)


def words(page: str) -> int:
    """Return how many words a *page* in Markdown has."""
    return len(_WORD.findall(prose(page).replace("|", " ")))


def pages() -> dict[str, int]:
    """Return the words of each page, by its path."""
    docs = ROOT / "docs"
    paths = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(docs.glob("*.md"))]
    return {str(path.relative_to(ROOT)): words(path.read_text(encoding="utf-8")) for path in paths}


def main() -> None:
    """Print the sum, with --pages the words of each page before it; exit with 1 if a limit is passed."""
    counts = pages()
    if "--pages" in sys.argv[1:]:
        for path, count in sorted(counts.items(), key=lambda page: -page[1]):
            print(f"{count:7,}  {path}")
    total, readme = sum(counts.values()), counts["README.md"]
    print(f"{total:,} words in {len(counts)} pages; the limit is {LIMIT:,}")
    if total > LIMIT:
        sys.exit(f"{total - LIMIT:,} words too many; to see the words of each page: python docs/count_words.py --pages")
    if readme > README_LIMIT:
        sys.exit(f"README.md has {readme:,} words; the limit is {README_LIMIT:,}")


if __name__ == "__main__":
    main()

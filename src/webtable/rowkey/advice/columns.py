"""What the columns of advice say, a line each."""

from __future__ import annotations

from typing import NamedTuple


class ColumnHelp(NamedTuple):
    """A column by its heading, and what stands in it."""

    name: str
    says: str


PICTURE = ColumnHelp(
    "writes over time", "a row is a region, left to right is time; the stronger its colour, the more writes it takes"
)
RANKING = (
    ColumnHelp(
        "score", "heat times reading, the lower the better; 1.0 is even writes, and one range for each question"
    ),
    ColumnHelp("hottest region", "the share of a moment's writes that go to the region with most of them, on average"),
    ColumnHelp("by chance", "what that share would be if each key went to a region at random"),
    ColumnHelp("hottest server", "the same share of the server with most of them, all its regions together"),
    ColumnHelp("Gini", "how unevenly the regions are filled in the end: 0 all the same, near 1 one has all rows"),
    ColumnHelp("max/mean", "the rows of the fullest region in the end, over the mean of all regions; 1.0 is even"),
    ColumnHelp("key bytes", "the mean length of a row key, which is stored with every cell of the row"),
    ColumnHelp("p99", "the length in bytes that 99 of 100 keys do not exceed"),
    ColumnHelp("of a cell", "the share of a stored cell that is its row key, beside a value of so many bytes"),
    ColumnHelp("with names", "the same with the names of family and column; none where no column is given"),
)
"""The columns of the ranking, in their order."""
QUESTIONS = (
    ColumnHelp("weight", "how many times the question counts for the score; none where it was derived beside your own"),
    ColumnHelp("ranges", "the key ranges that hold the answer, on average; HBase scans each from its first key on"),
    ColumnHelp("rows read for one", "how many of the measured rows are read for each one that is wanted, on average"),
    ColumnHelp("calls, Thrift2", "calls to a Thrift2 gateway until the first rows are there, each for up to 32 ranges"),
    ColumnHelp("calls, HappyBase alone", "the same by Thrift1: a scanner is opened, read and closed for each range"),
)
"""The columns of what questions cost."""

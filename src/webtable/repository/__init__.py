"""The repository: pages in, pages out, over the store port."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.answers.arrow_pages import ArrowStream
    from webtable.repository.answers.columns import ColumnNames
    from webtable.repository.answers.results import Batch, Explanation, Pages, ResultList, Results
    from webtable.repository.arguments import Grouping, Moment, Progress
    from webtable.repository.copying.check import CopyCheck
    from webtable.repository.copying.counts import Copied
    from webtable.repository.creation.alteration import AlterOptions
    from webtable.repository.creation.web import LayoutOptions
    from webtable.repository.derived.drift import Drift
    from webtable.repository.derived.refresh import Recount
    from webtable.repository.diagnosis.doctor import Diagnosis, doctor
    from webtable.repository.indexes.index import Index, handle_of
    from webtable.repository.metrics import IndexMetrics, Metrics, WriterMetrics
    from webtable.repository.opening import copy_target, create, open  # as in shelve.open
    from webtable.repository.questions.changes import Change, ChangeKind
    from webtable.repository.questions.crawls import Crawl
    from webtable.repository.questions.duplicate_groups import DuplicateGroup, Sameness
    from webtable.repository.questions.growth import Growth
    from webtable.repository.questions.handles import Resolution
    from webtable.repository.questions.hosts import Host, Hosts
    from webtable.repository.questions.index_answer import PageOptions
    from webtable.repository.questions.indexed import SizeClass
    from webtable.repository.questions.inlinks import Inlink
    from webtable.repository.questions.links import BrokenLink, Freshness
    from webtable.repository.questions.neighbours import Neighbour, Neighbours
    from webtable.repository.questions.redirect_chains import RedirectChain
    from webtable.repository.questions.stats import Stats
    from webtable.repository.questions.titles import TitleProblem
    from webtable.repository.questions.verification import MissingPages, Verification
    from webtable.repository.questions.versions import History
    from webtable.repository.records.record import Record, RecordOutcome, Records
    from webtable.repository.records.table import KeyedTable
    from webtable.repository.regions import RegionComparison, compared_regions, regions_of, sample_urls
    from webtable.repository.removing.deletion import DeletedPage, Deletions
    from webtable.repository.table.web_table import WebTable
    from webtable.repository.text.difference import Difference
    from webtable.repository.text.matching import Hit, SearchIn
    from webtable.repository.writing.outcomes import Dropped, OutcomeCallback, PageOutcome, Receipt
    from webtable.repository.writing.writer import Writer

__all__ = [
    "AlterOptions",
    "ArrowStream",
    "Batch",
    "BrokenLink",
    "Change",
    "ChangeKind",
    "ColumnNames",
    "Copied",
    "CopyCheck",
    "Crawl",
    "DeletedPage",
    "Deletions",
    "Diagnosis",
    "Difference",
    "Drift",
    "Dropped",
    "DuplicateGroup",
    "Explanation",
    "Freshness",
    "Grouping",
    "Growth",
    "History",
    "Hit",
    "Host",
    "Hosts",
    "Index",
    "IndexMetrics",
    "Inlink",
    "KeyedTable",
    "LayoutOptions",
    "Metrics",
    "MissingPages",
    "Moment",
    "Neighbour",
    "Neighbours",
    "OutcomeCallback",
    "PageOptions",
    "PageOutcome",
    "Pages",
    "Progress",
    "Receipt",
    "Record",
    "RecordOutcome",
    "Records",
    "Recount",
    "RedirectChain",
    "RegionComparison",
    "Resolution",
    "ResultList",
    "Results",
    "Sameness",
    "SearchIn",
    "SizeClass",
    "Stats",
    "TitleProblem",
    "Verification",
    "WebTable",
    "Writer",
    "WriterMetrics",
    "compared_regions",
    "copy_target",
    "create",
    "doctor",
    "handle_of",
    "open",
    "regions_of",
    "sample_urls",
]

_HOMES = {
    "webtable.repository.answers.arrow_pages": ("ArrowStream",),
    "webtable.repository.answers.columns": ("ColumnNames",),
    "webtable.repository.answers.results": ("Batch", "Explanation", "Pages", "Results", "ResultList"),
    "webtable.repository.arguments": ("Grouping", "Moment", "Progress"),
    "webtable.repository.copying.check": ("CopyCheck",),
    "webtable.repository.copying.counts": ("Copied",),
    "webtable.repository.creation.alteration": ("AlterOptions",),
    "webtable.repository.creation.web": ("LayoutOptions",),
    "webtable.repository.diagnosis.doctor": ("Diagnosis", "doctor"),
    "webtable.repository.derived.drift": ("Drift",),
    "webtable.repository.derived.refresh": ("Recount",),
    "webtable.repository.indexes.index": ("Index", "handle_of"),
    "webtable.repository.metrics": ("IndexMetrics", "Metrics", "WriterMetrics"),
    "webtable.repository.opening": ("copy_target", "create", "open"),
    "webtable.repository.questions.changes": ("Change", "ChangeKind"),
    "webtable.repository.questions.crawls": ("Crawl",),
    "webtable.repository.questions.duplicate_groups": ("DuplicateGroup", "Sameness"),
    "webtable.repository.questions.growth": ("Growth",),
    "webtable.repository.questions.handles": ("Resolution",),
    "webtable.repository.questions.hosts": ("Host", "Hosts"),
    "webtable.repository.questions.index_answer": ("PageOptions",),
    "webtable.repository.questions.indexed": ("SizeClass",),
    "webtable.repository.questions.inlinks": ("Inlink",),
    "webtable.repository.questions.links": ("BrokenLink", "Freshness"),
    "webtable.repository.questions.neighbours": ("Neighbour", "Neighbours"),
    "webtable.repository.questions.redirect_chains": ("RedirectChain",),
    "webtable.repository.questions.stats": ("Stats",),
    "webtable.repository.questions.titles": ("TitleProblem",),
    "webtable.repository.questions.verification": ("MissingPages", "Verification"),
    "webtable.repository.questions.versions": ("History",),
    "webtable.repository.records.record": ("Record", "RecordOutcome", "Records"),
    "webtable.repository.records.table": ("KeyedTable",),
    "webtable.repository.regions": ("RegionComparison", "compared_regions", "regions_of", "sample_urls"),
    "webtable.repository.removing.deletion": ("DeletedPage", "Deletions"),
    "webtable.repository.table.web_table": ("WebTable",),
    "webtable.repository.text.difference": ("Difference",),
    "webtable.repository.text.matching": ("Hit", "SearchIn"),
    "webtable.repository.writing.outcomes": ("Dropped", "OutcomeCallback", "PageOutcome", "Receipt"),
    "webtable.repository.writing.writer": ("Writer",),
}

if not TYPE_CHECKING:  # a checker would take every name for one that is there
    __getattr__, __dir__ = late(__name__, _HOMES)

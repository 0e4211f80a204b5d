"""The answers to questions, and the records, options and moments of them."""

from webtable.repository.answers.arrow_pages import ArrowStream
from webtable.repository.answers.columns import ColumnNames
from webtable.repository.answers.results import Batch, Explanation, Pages, ResultList, Results
from webtable.repository.arguments import Grouping, Moment
from webtable.repository.duplicates.exact import DuplicateGroup, Sameness
from webtable.repository.duplicates.near import NearDuplicate, NearDuplicateGroup
from webtable.repository.failed_fetches import FailedFetch
from webtable.repository.full_text.matching import Hit, SearchIn
from webtable.repository.hosts.hosts import Host, Hosts
from webtable.repository.indexes.pages import PageOptions
from webtable.repository.indexes.questions import SizeClass
from webtable.repository.links.depths import Depth
from webtable.repository.links.inlinks import Inlink
from webtable.repository.links.kinds import LinkKinds
from webtable.repository.links.links import BrokenLink, Edge, Freshness
from webtable.repository.questions.canonicals import Canonical, CanonicalProblem
from webtable.repository.questions.captures import Crawl, Unresolved
from webtable.repository.questions.changes import Change, ChangedField, ChangeKind, IgnoredContent
from webtable.repository.questions.difference import Difference
from webtable.repository.questions.findings import Finding
from webtable.repository.questions.hreflang import Hreflang, HreflangProblem
from webtable.repository.questions.indexability import Indexability, RobotsTxt
from webtable.repository.questions.page import History, Resolution
from webtable.repository.questions.pagination import PaginatedPage, PaginationProblem
from webtable.repository.questions.redirect_chains import ChainProblem, RedirectChain
from webtable.repository.questions.sitemaps import SitemapProblem, SitemapURL
from webtable.repository.questions.soft_404s import Soft404, Soft404Reason
from webtable.repository.questions.stats import GroupRow, Stats
from webtable.repository.questions.titles import TitleProblem, TitleProblemKind
from webtable.repository.reading.scope import AllPages, Site

__all__ = [
    "AllPages",
    "ArrowStream",
    "Batch",
    "BrokenLink",
    "Canonical",
    "CanonicalProblem",
    "ChainProblem",
    "Change",
    "ChangeKind",
    "ChangedField",
    "ColumnNames",
    "Crawl",
    "Depth",
    "Difference",
    "DuplicateGroup",
    "Edge",
    "Explanation",
    "FailedFetch",
    "Finding",
    "Freshness",
    "GroupRow",
    "Grouping",
    "History",
    "Hit",
    "Host",
    "Hosts",
    "Hreflang",
    "HreflangProblem",
    "IgnoredContent",
    "Indexability",
    "Inlink",
    "LinkKinds",
    "Moment",
    "NearDuplicate",
    "NearDuplicateGroup",
    "PageOptions",
    "Pages",
    "PaginatedPage",
    "PaginationProblem",
    "RedirectChain",
    "Resolution",
    "ResultList",
    "Results",
    "RobotsTxt",
    "Sameness",
    "SearchIn",
    "Site",
    "SitemapProblem",
    "SitemapURL",
    "SizeClass",
    "Soft404",
    "Soft404Reason",
    "Stats",
    "TitleProblem",
    "TitleProblemKind",
    "Unresolved",
]

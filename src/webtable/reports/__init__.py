"""Reports on a site, each a value that is a page, a dict or a few lines: what an audit finds, and what has changed."""

from webtable.reports.audit import Audit, audit
from webtable.reports.comparison import Comparison, compare
from webtable.reports.section import Section

__all__ = ["Audit", "Comparison", "Section", "audit", "compare"]

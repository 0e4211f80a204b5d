"""Reports on a site, its audit and its changes, as values that convert to an HTML page, a dict or a few lines."""

from webtable.repository.reports.audit import Audit, audit
from webtable.repository.reports.comparison import Comparison, compare
from webtable.repository.reports.section import Section

__all__ = ["Audit", "Comparison", "Section", "audit", "compare"]

"""Reports on a site, its audit and its changes, as values that convert to an HTML page, a dict or a few lines."""

from webtable.repository.reports import Audit, Comparison, Section, audit, compare

__all__ = ["Audit", "Comparison", "Section", "audit", "compare"]

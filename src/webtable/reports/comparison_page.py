"""A comparison as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._html import escaped
from webtable.reports.charts import shares_picture
from webtable.reports.section_html import moment_text, report_page

if TYPE_CHECKING:
    from webtable.reports.comparison import Comparison


def page(comparison: Comparison) -> str:
    """Return the page of a *comparison*."""
    domain = escaped(comparison.domain)
    lead = (
        f'<p class="muted">{domain} and the hosts below it, from {moment_text(comparison.since)} to '
        f"{moment_text(comparison.until)}</p>"
    )
    total = sum(comparison.counts.values())
    facts = [(kind, f"{count:,}") for kind, count in comparison.counts.items()]
    if comparison.damaged:
        facts.append(("damaged rows, left out", f"{comparison.damaged:,}"))
    if not total:
        lead += f'<p class="lead">No page of {domain} was stored then.</p>'
    body = shares_picture(comparison.counts) if total else ""
    sections = comparison.sections if total else ()
    return report_page(f"Changes of {comparison.domain}", lead, facts, body, sections)

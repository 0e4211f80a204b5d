"""An audit as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._html import escaped
from webtable._shown.sizes import size_text
from webtable.reports.charts import groups_table, sizes_picture
from webtable.reports.section_html import moment_text, report_page

if TYPE_CHECKING:
    from webtable.reports.audit import Audit


def page(audit: Audit) -> str:
    """Return the page of an *audit*."""
    title = f"Audit of {audit.domain}"
    written = f'<p class="muted">{escaped(audit.domain)} and the hosts below it, on {moment_text(audit.made_at)}</p>'
    if not audit.pages:
        empty = f'<p class="lead">No page of {escaped(audit.domain)} is stored.</p>'
        return report_page(title, written + empty, _damage(audit), "", ())
    return report_page(title, written, [*_facts(audit), *_damage(audit)], _charts(audit), audit.sections)


def _facts(audit: Audit) -> list[tuple[str, str]]:
    facts = [("pages", f"{audit.pages:,}"), ("hosts", f"{audit.hosts:,}"), ("bodies", size_text(audit.bytes))]
    if audit.oldest is not None and audit.newest is not None:
        facts += [("fetched first", moment_text(audit.oldest)), ("fetched last", moment_text(audit.newest))]
    return facts


def _damage(audit: Audit) -> list[tuple[str, str]]:
    return [("damaged rows, left out", f"{audit.damaged:,}")] if audit.damaged else []


def _charts(audit: Audit) -> str:
    sizes = sizes_picture(audit.sizes) if audit.sizes else "<p>No page has a body.</p>"
    parts = (
        ("Status", groups_table("status", audit.statuses)),
        ("Types", groups_table("type", audit.types)),
        ("Sizes", sizes),
    )
    return '<div class="charts">{}</div>'.format("".join(f"<div><h3>{name}</h3>{one}</div>" for name, one in parts))

"""The look of reports: that of all pages, and tables that become lists where there is no room for them."""

from __future__ import annotations

from webtable._html import DARK, LIGHT, RULES, page_rules, scoped

SCOPE = "webtable-report"
"""The class of the element that the styles are limited to."""

_RULES = {
    **RULES,
    "nav ul": "display:flex;flex-wrap:wrap;gap:.4em .5em;list-style:none;margin:0 0 1em;padding:0",
    "nav li": "margin:0",
    "nav a": "display:inline-block;padding:.2em .7em;border:1px solid var(--wt-c-line);border-radius:1em;"
    "text-decoration:none;font-size:.92em",
    "nav a strong": "font-variant-numeric:tabular-nums",
    "nav a.none": "color:var(--wt-c-muted)",
    "h2 .count": "color:var(--wt-c-muted);font-weight:400;font-variant-numeric:tabular-nums;margin-left:.3em",
    ".charts": "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:1em 2.5em;"
    "margin:0 0 1.5em",
    ".charts h3": "margin:.6em 0 .3em",
    ".charts .bar": "width:96px",
    ".list+p": "margin-top:.7em",
    "td.text": "text-align:left;white-space:normal;overflow-wrap:anywhere",
    "th.text": "text-align:left",
    "td.status": "width:1%",
    "td.bad": "color:var(--wt-c-hot);font-weight:600",
    "td a": "text-decoration:none",
    "td a:hover": "text-decoration:underline",
    "td a+a": "display:block",
    "del": "color:var(--wt-c-muted);font-weight:400",
    "ins": "text-decoration:none",
    ".left-out": "border-left:3px solid var(--wt-c-bar);padding:.2em 0 .2em .8em",
    ".sizes": "display:block;width:100%;max-width:420px;height:auto",
    ".sizes rect": "fill:var(--wt-c-bar)",
    ".sizes text": "fill:var(--wt-c-ink);font-size:12px",
    ".sizes .axis": "fill:var(--wt-c-muted)",
    ".shares": "display:block;width:100%;height:14px;margin:0 0 1em",
    ".shares .new": "fill:var(--wt-c-good)",
    ".shares .gone": "fill:var(--wt-c-hot)",
    ".shares .changed": "fill:var(--wt-c-bar)",
    ".shares .unchanged": "fill:var(--wt-c-line)",
}
_NARROW = {
    "dl": "gap:.5em 1.4em",
    "table.list,.{scope} table.list tbody,.{scope} table.list tr,.{scope} table.list td": "display:block;width:auto",
    "table.list thead": "display:none",
    "table.list tr": "padding:.5em 0;border-bottom:1px solid var(--wt-c-line)",
    "table.list td": "border:0;padding:.1em 0;text-align:left;white-space:normal;overflow-wrap:anywhere",
    "table.list td:empty": "display:none",
    "table.list td::before": "content:attr(data-name) ' ';color:var(--wt-c-muted);font-size:.85em;font-weight:400",
    "table.list td.url::before": "content:none",
}
_PRINT = {
    "section": "break-inside:auto",
    "h2,.{scope} h3": "break-after:avoid",
    "tr": "break-inside:avoid",
    "nav": "display:none",
    "": "max-width:none;font-size:11px",
    "table": "font-size:1em",
}


def page_style() -> str:
    """Return the rules of a report's page."""
    return (
        page_rules(SCOPE)
        + scoped(SCOPE, LIGHT, DARK, _RULES)
        + f"@media screen and (max-width:640px){{{_within(_NARROW)}}}"
        + f"@media print{{{_within(_PRINT)}}}"
    )


def _within(rules: dict[str, str]) -> str:
    named = {f".{SCOPE} {selector}".rstrip().format(scope=SCOPE): body for selector, body in rules.items()}
    return "".join(f"{selector}{{{body}}}" for selector, body in named.items())

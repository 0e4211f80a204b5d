"""The styles of advice as HTML, limited to one element, for light and dark pages and notebooks."""

from __future__ import annotations

from webtable._html import DARK, LIGHT, RULES, page_rules, scoped
from webtable.rowkey.advice.colors import heat_colors

SCOPE = "webtable-advice"
"""The class of the element that the styles are limited to."""

_RULES = {
    **RULES,
    ".asked": "max-width:840px",
    ".thumb": "display:block;width:104px;height:36px;border-radius:2px",
    ".map": "margin:1em 0;overflow-x:auto",
    ".wt-map": "display:block;width:100%;min-width:620px;max-width:840px;height:auto",
    **{f".{name}": f"fill:var(--{name})" for name in heat_colors(dark=False)},
}


def style() -> str:
    """Return the rules for the element with the class `SCOPE` and for what is in it, and for nothing else."""
    return scoped(SCOPE, LIGHT | heat_colors(dark=False), DARK | heat_colors(dark=True), _RULES)


def page_style() -> str:
    """Return the same with the rules of a page around it."""
    return page_rules(SCOPE) + style()

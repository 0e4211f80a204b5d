"""The styles of advice as HTML, limited to one element, for light and dark pages and notebooks."""

from __future__ import annotations

from webtable.rowkey.advice.colors import heat_colors

SCOPE = "webtable-advice"
"""The class of the element that the styles are limited to."""

_LIGHT = {
    "ink": "#1f2328",
    "muted": "#59636e",
    "line": "#d8d4cc",
    "soft": "#f6f4ef",
    "bar": "#c8b08d",
    "hot": "#c22021",
    "good": "#2f7d4f",
}
_DARK = {
    "ink": "#eceaf2",
    "muted": "#a8a5b5",
    "line": "#3a394a",
    "soft": "#1f202c",
    "bar": "#75708f",
    "hot": "#ff7a55",
    "good": "#6cc592",
}

# Notebooks have a theme of their own, which need not be that of the system.
_DARK_NOTEBOOKS = ('[data-jp-theme-light="false"]', "body.vscode-dark")
_LIGHT_NOTEBOOKS = ('[data-jp-theme-light="true"]', "body.vscode-light")

_RULES = {
    "": "color:var(--wt-c-ink);font:15px/1.55 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "max-width:1080px;margin:0 auto;text-align:left",
    "*": "box-sizing:border-box",
    "h1": "font-size:1.75em;line-height:1.2;margin:0 0 .3em;letter-spacing:-.01em",
    "h2": "font-size:1.25em;line-height:1.3;margin:0 0 .5em",
    "h3": "font-size:1em;margin:1.2em 0 .3em",
    "p": "margin:0 0 .8em",
    ".muted": "color:var(--wt-c-muted)",
    ".hot": "color:var(--wt-c-hot);font-weight:600",
    ".lead": "font-size:1.1em;margin:0 0 1em",
    "dl": "display:flex;flex-wrap:wrap;gap:.6em 2em;margin:0 0 1.4em;padding:.8em 0;"
    "border:solid var(--wt-c-line);border-width:1px 0",
    "dt": "color:var(--wt-c-muted);font-size:.82em;font-weight:400",
    "dd": "margin:0;font-weight:600;font-variant-numeric:tabular-nums",
    ".wide": "overflow-x:auto;margin:0 0 1em",
    ".asked": "max-width:840px",
    "table": "border-collapse:collapse;width:100%;margin:0;font-size:.92em;font-variant-numeric:tabular-nums;"
    "border:0;color:inherit",
    "th": "font-weight:500;color:var(--wt-c-muted);font-size:.88em;line-height:1.3;text-align:right;"
    "vertical-align:bottom;padding:.35em .7em;border:0;border-bottom:1px solid var(--wt-c-line);max-width:none",
    "td": "text-align:right;vertical-align:middle;padding:.4em .7em;border:0;border-bottom:1px solid var(--wt-c-line);"
    "white-space:nowrap;max-width:none",
    "th.left": "text-align:left",
    "td.left": "text-align:left",
    "td.why": "text-align:left;white-space:normal;min-width:16em;color:var(--wt-c-muted)",
    "td small": "color:var(--wt-c-muted);font-size:.9em",
    "a": "color:inherit;text-decoration-color:var(--wt-c-muted);text-underline-offset:.2em",
    "code": "font:.9em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--wt-c-soft);"
    "color:inherit;padding:.15em .4em;border-radius:4px;overflow-wrap:anywhere",
    "section": "margin:0 0 1.2em;padding:1.6em 0 0;border-top:1px solid var(--wt-c-line)",
    "details": "margin:.5em 0;padding:.5em 0 0;border-top:1px solid var(--wt-c-line)",
    "summary": "cursor:pointer",
    "ul": "margin:0 0 1em;padding:0 0 0 1.2em",
    "li": "margin:.15em 0;overflow-wrap:anywhere",
    "li.bad::marker": "color:var(--wt-c-hot)",
    "li.fine::marker": "color:var(--wt-c-good)",
    ".bar": "display:inline-block;position:relative;width:72px;height:10px;margin-left:.6em;"
    "background:var(--wt-c-soft);vertical-align:baseline",
    ".bar i": "position:absolute;left:0;top:0;bottom:0;background:var(--wt-c-bar)",
    ".bar.over i": "background:var(--wt-c-hot)",
    ".bar b": "position:absolute;top:-3px;bottom:-3px;width:1px;background:var(--wt-c-ink)",
    ".thumb": "display:block;width:104px;height:36px;border-radius:2px",
    ".map": "margin:1em 0;overflow-x:auto",
    ".wt-map": "display:block;width:100%;min-width:620px;max-width:840px;height:auto",
}
_PAGE = (
    ":root{color-scheme:light dark}"
    "body{margin:0;padding:clamp(16px,4vw,48px);background:#fff}"
    # A printed page is light.
    "@media screen and (prefers-color-scheme:dark){body{background:#14151f}}"
    "@media print{body{padding:0}section{break-inside:avoid}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    f".{SCOPE} .wide,.{SCOPE} .map{{overflow:visible}}.{SCOPE} table{{font-size:.72em}}}}"
)


def style() -> str:
    """Return the rules for the element with the class `SCOPE` and for what is in it, and for nothing else."""
    rules = [f"{_scoped(selector)}{{{body}}}" for selector, body in _RULES.items()]
    rules += [f".{SCOPE} .{name}{{fill:var(--{name})}}" for name in heat_colors(dark=False)]
    light, dark = _variables(_LIGHT, dark=False), _variables(_DARK, dark=True)
    return "".join(
        [
            f".{SCOPE}{{{light}}}",
            f"@media screen and (prefers-color-scheme:dark){{.{SCOPE}{{{dark}}}}}",
            *(f"{theme} .{SCOPE}{{{light}}}" for theme in _LIGHT_NOTEBOOKS),
            *(f"{theme} .{SCOPE}{{{dark}}}" for theme in _DARK_NOTEBOOKS),
            *rules,
        ]
    )


def page_style() -> str:
    """Return the same with the rules of a page around it."""
    return _PAGE + style()


def _scoped(selector: str) -> str:
    return f".{SCOPE} {selector}".rstrip()


def _variables(colors: dict[str, str], *, dark: bool) -> str:
    named = {f"wt-c-{name}": color for name, color in colors.items()} | heat_colors(dark=dark)
    return ";".join(f"--{name}:{color}" for name, color in named.items())

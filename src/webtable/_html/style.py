"""The look of pages: colours for light and dark ones, and rules that hold for one element and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LIGHT = {
    "wt-c-ink": "#1f2328",
    "wt-c-muted": "#59636e",
    "wt-c-line": "#d8d4cc",
    "wt-c-soft": "#f6f4ef",
    "wt-c-bar": "#c8b08d",
    "wt-c-hot": "#c22021",
    "wt-c-good": "#2f7d4f",
}
DARK = {
    "wt-c-ink": "#eceaf2",
    "wt-c-muted": "#a8a5b5",
    "wt-c-line": "#3a394a",
    "wt-c-soft": "#1f202c",
    "wt-c-bar": "#75708f",
    "wt-c-hot": "#ff7a55",
    "wt-c-good": "#6cc592",
}

# Notebooks have a theme of their own, which need not be that of the system.
_DARK_NOTEBOOKS = ('[data-jp-theme-light="false"]', "body.vscode-dark")
_LIGHT_NOTEBOOKS = ('[data-jp-theme-light="true"]', "body.vscode-light")

RULES = {
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
    # JupyterLab floats them, and gives all columns of a table the same width.
    "dt": "color:var(--wt-c-muted);font-size:.82em;font-weight:400;float:none;width:auto",
    "dd": "margin:0;float:none;width:auto;font-weight:600;font-variant-numeric:tabular-nums",
    ".wide": "overflow-x:auto;margin:0 0 1em",
    "table": "border-collapse:collapse;table-layout:auto;width:100%;margin:0;font-size:.92em;"
    "font-variant-numeric:tabular-nums;border:0;color:inherit",
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
}
"""What each selector looks like; the empty one is the element itself."""


def scoped(scope: str, light: Mapping[str, str], dark: Mapping[str, str], rules: Mapping[str, str]) -> str:
    """Return *rules* for the element with the class *scope* and for what is in it, and for nothing else.

    *light* and *dark* are the values of its variables on light and on dark pages, by their names.
    """
    on_light, on_dark = (";".join(f"--{name}:{value}" for name, value in own.items()) for own in (light, dark))
    return "".join(
        [
            f".{scope}{{{on_light}}}",
            f"@media screen and (prefers-color-scheme:dark){{.{scope}{{{on_dark}}}}}",
            *(f"{theme} .{scope}{{{on_light}}}" for theme in _LIGHT_NOTEBOOKS),
            *(f"{theme} .{scope}{{{on_dark}}}" for theme in _DARK_NOTEBOOKS),
            *(f"{f'.{scope} {selector}'.rstrip()}{{{body}}}" for selector, body in rules.items()),
        ]
    )


def page_rules(scope: str) -> str:
    """Return the rules of a page whose main element has the class *scope*."""
    return (
        ":root{color-scheme:light dark}"
        "body{margin:0;padding:clamp(16px,4vw,48px);background:#fff}"
        # A printed page is light.
        "@media screen and (prefers-color-scheme:dark){body{background:#14151f}}"
        "@media print{body{padding:0}section{break-inside:avoid}"
        "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
        f".{scope} .wide,.{scope} .map{{overflow:visible}}.{scope} table{{font-size:.72em}}}}"
    )

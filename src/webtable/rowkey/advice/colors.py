"""The colours of the pictures, on light and on dark pages."""

from __future__ import annotations

# Sixteen steps that look equally far apart: in OKLCH the lightness falls or rises by the same each time, and it alone
# tells them apart for those who see no hues. From paper to red, and from night to yellow.
ON_LIGHT = (
    "#f6f4eb",
    "#efe6cb",
    "#ead7ac",
    "#e7c88b",
    "#e5b769",
    "#e5a445",
    "#e5902b",
    "#e27b19",
    "#de6513",
    "#d84e19",
    "#cf3520",
    "#c22021",
    "#b01226",
    "#9f0228",
    "#8b022a",
    "#780029",
)
ON_DARK = (
    "#232535",
    "#322d4a",
    "#45335e",
    "#5c386e",
    "#753b7a",
    "#913e7f",
    "#ad427c",
    "#c94772",
    "#e34e61",
    "#fb5946",
    "#ff7840",
    "#ff954a",
    "#ffae5a",
    "#fec66e",
    "#ffdc84",
    "#fff19c",
)
INKS_ON_LIGHT = {"panel": "#ffffff", "ink": "#1f2328", "muted": "#59636e", "bar": "#8c7a6b"}
INKS_ON_DARK = {"panel": "#14151f", "ink": "#eceaf2", "muted": "#a8a5b5", "bar": "#8d88a3"}


def heat_colors(*, dark: bool) -> dict[str, str]:
    """Return the colours of a page's heat maps by the class that has them."""
    steps = {f"wt-h{step}": color for step, color in enumerate(ON_DARK if dark else ON_LIGHT)}
    return steps | {f"wt-{name}": color for name, color in (INKS_ON_DARK if dark else INKS_ON_LIGHT).items()}

"""Writes docs/reference/dependencies.md: what webtable needs, whatever that needs, and under which licences.

Run it where all of it is installed (`make test MARK=engines` does that): python docs/make_dependencies.py
"""

from __future__ import annotations

import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).parent / "reference" / "dependencies.md"
EXTRAS = (
    "arrow", "dask", "excel", "similarity", "metrics", "native", "otel", "plot", "ray", "scrapy", "search", "spark",
    "testing", "web",
)  # fmt: skip
HEAD = """# Dependencies

Look here before you install webtable if licences matter to you: this page lists what is installed with it and with each
extra, with the tested version (`constraints.txt`) and the licence. `docs/make_dependencies.py` writes it.
"""


def page() -> str:
    """Return the page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = closure(project["dependencies"])
    parts = [HEAD, "## Always\n", table(core)]
    for extra in EXTRAS:
        added = closure(project["optional-dependencies"][extra]) - core
        parts += [f"## With the extra `{extra}`\n", table(added)]
    return "\n".join(parts)


def closure(requirements: list[str]) -> set[str]:
    """Return the names of the packages that satisfy *requirements*, and of those that they need."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        if wanted.marker is not None and not any(
            wanted.marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)
        ):
            continue
        installed = distribution(wanted.name)
        name = installed.metadata["Name"]
        if name in found:
            continue
        found.add(name)
        for text in installed.requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)):
                needed.marker = None
                waiting.append(needed)
    return found


def table(names: set[str]) -> str:
    """Return a table of packages."""
    lines = ["| package | version | licence |", "|---|---|---|"]
    lines += [
        f"| {name} | {distribution(name).version} | {licence(distribution(name))} |"
        for name in sorted(names, key=str.lower)
    ]
    return "\n".join([*lines, ""])


def licence(package: Distribution) -> str:
    """Return what *package* says of its licence, in a line."""
    said = package.metadata
    classifiers = [
        one.rpartition(" :: ")[2] for one in said.get_all("Classifier", []) if one.startswith("License :: OSI")
    ]
    short = (said.get("License") or "").strip()
    if said.get("License-Expression"):
        return str(said["License-Expression"])
    if short and "\n" not in short and len(short) < 60:
        return short
    return ", ".join(classifiers) or "not told"


if __name__ == "__main__":
    PAGE.write_text(page())

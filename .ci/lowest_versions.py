"""Prints the lowest version of each package that webtable and its extras allow, as constraints for pip.

    .ci/lowest_versions.py > build/lowest.txt
    make test MARK='not hbase and not slow' VENV=build/lowest CONSTRAINTS=build/lowest.txt

What only development needs (the extras `dev` and `bench`) is not held down.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def lowest() -> dict[str, str]:
    """Return the lower bounds, by the names of packages."""
    extras = [needs for extra, needs in PROJECT["optional-dependencies"].items() if extra not in ("dev", "bench")]
    needs = [need for group in (PROJECT["dependencies"], *extras) for need in group]
    return dict(re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)(?:,<[\d.]+)?", need).groups() for need in needs)


if __name__ == "__main__":
    print(*(f"{name}=={version}.*" for name, version in sorted(lowest().items())), sep="\n")

"""Writes constraints-hashes.txt: what webtable needs, and whatever that needs, with the digests of all files of it.

It asks the package index that pip is set up with, by pip-compile (pip-tools), and takes a few minutes:
pip install pip-tools, in an environment of its own, then: python docs/make_hashes.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "constraints-hashes.txt"
HEAD = """\
# For `pip install --require-hashes -r`: what webtable needs without extras, in the versions of constraints.txt, and
# the SHA-256 of each file that there is of it. docs/make_hashes.py writes this.
"""
QUIET = ["--quiet", "--no-header", "--no-annotate", "--strip-extras"]
WITHOUT_ADDRESSES = ["--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host"]


def main() -> None:
    """Write the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as folder:
        wanted, written = Path(folder, "wanted.in"), Path(folder, "written.txt")
        wanted.write_text("\n".join(project["dependencies"]))
        arguments = ["--generate-hashes", "--constraint", ROOT / "constraints.txt", "--output-file", written, wanted]
        command = [sys.executable, "-m", "piptools", "compile", *QUIET, *WITHOUT_ADDRESSES, *arguments]
        subprocess.run(command, check=True)
        FILE.write_text(HEAD + written.read_text())


if __name__ == "__main__":
    main()

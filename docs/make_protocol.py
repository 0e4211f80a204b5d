"""Writes the Python of HBase's messages beside `hbase.proto`, which has the part of HBase's own protocol that is used.

    python docs/make_protocol.py

It installs a protoc whose code every protobuf from 4.25 on runs, in an environment of its own: build/protoc.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROTOC = ROOT / "build" / "protoc"
PACKAGES = ["grpcio-tools==1.62.3", "setuptools<80"]


def main() -> None:
    """Write the module and its types."""
    [messages] = (ROOT / "src").rglob("hbase.proto")
    folder, python = messages.parent, PROTOC / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", PROTOC], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    out = [f"-I{folder}", f"--python_out={folder}", f"--pyi_out={folder}"]
    subprocess.run([python, "-m", "grpc_tools.protoc", *out, messages], check=True)
    types = folder / "hbase_pb2.pyi"
    types.write_text("".join(map(typed, types.read_text().splitlines(keepends=True))))


def typed(line: str) -> str:
    """Return *line* with what its mappings and keywords hold: protoc leaves it out, and type checkers want it."""
    mappings = line if line.startswith("from") else re.sub(r"_Mapping\b", "_Mapping[str, object]", line)
    return mappings.replace("**kwargs)", "**kwargs: int)")


if __name__ == "__main__":
    main()

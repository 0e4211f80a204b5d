"""Make a release of the commit that is checked out, in build/release/dist, and check it: `make release`.

It builds the source distribution, and the wheel from that, checks their contents, builds the wheel again from a copy
that differs in what must not matter, and installs both in fresh environments of each Python that it finds. Beside the
wheel it runs a part of the tests, without HBase; the source distribution is installed without any extra, and runs the
demo.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "release"
ARCHIVE = WORK / "tree.tar"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# A part, of a minute or two: row keys, pages, files, stores, the writer, asyncio, processes and the command line.
TESTS = (
    "aio/test_aio.py",
    "test_errors.py",
    "page/test_headers.py",
    "formats/test_jsonl.py",
    "test_late.py",
    "page/test_page.py",
    "formats/test_parquet.py",
    "page/test_parser_process.py",
    "test_progress.py",
    "test_public_modules.py",
    "test_reports.py",
    "rowkey/test_rowkey.py",
    "rowkey/test_rowkey_composite.py",
    "rowkey/test_rowkey_examples.py",
    "rowkey/test_rowkey_fields.py",
    "store/test_sqlite_forks.py",
    "store/test_sqlite_store.py",
    "store/test_store_adapters.py",
    "store/test_store_contract.py",
    "testing/test_testing.py",
    "test_threads.py",
    "formats/test_warc.py",
    "formats/test_warc_out.py",
    "cli/test_cli.py",
    "cli/test_cli_workers.py",
    "integrations/test_scrapy_pipeline.py",
    "repository/test_pages.py",
    "repository/test_writer.py",
    "repository/test_writer_life.py",
)
IMPORT_ALL = """
import importlib, pkgutil, webtable
for found in pkgutil.iter_modules(webtable.__path__):
    importlib.import_module(f"webtable.{found.name}")
"""


def run(*command: object, cwd: Path = WORK, **environment: str) -> None:
    """Run *command*, or end with its exit code."""
    print("$", *command, flush=True)
    # What is on PYTHONPATH would stand in front of what is installed.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run([str(part) for part in command], cwd=cwd, env={**inherited, **environment}, check=False)
    if ended.returncode:
        sys.exit(f"failed with exit code {ended.returncode}")


def tracked() -> set[str]:
    """Return the files of the commit."""
    listed = subprocess.run(["git", "ls-tree", "-r", "--name-only", "-z", "HEAD"], cwd=ROOT, check=True, stdout=-1)
    return {name for name in listed.stdout.decode().split("\0") if name}


def build() -> tuple[Path, Path]:
    """Return the source distribution, made of the commit alone, and the wheel that was made of it."""
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "tree").mkdir(parents=True)
    run("git", "archive", "--output", ARCHIVE, "HEAD", cwd=ROOT)
    run("tar", "-x", "-C", WORK / "tree", "-f", ARCHIVE)
    run(sys.executable, "-m", "build", "--outdir", WORK / "dist", WORK / "tree")
    [source], [wheel] = (WORK / "dist").glob("*.tar.gz"), (WORK / "dist").glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", source, wheel)
    return source, wheel


def build_again(wheel: Path) -> None:
    """End unless a copy with other dates, permissions and folders makes the same *wheel*, byte for byte."""
    tree = WORK / "again" / "deeper"
    tree.mkdir(parents=True)
    run("sh", "-c", f"umask 077 && tar -x -m --no-same-permissions -C {tree} -f {ARCHIVE}")
    run("sh", "-c", f"umask 077 && {sys.executable} -m pip wheel -q --no-deps -w {tree.parent} {tree}")
    if (tree.parent / wheel.name).read_bytes() != wheel.read_bytes():
        sys.exit(f"{wheel.name} is not the same when it is built again")


def check_contents(source: Path, wheel: Path) -> None:
    """End with what is missing in either of them, or too much."""
    with tarfile.open(source) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
    compare("the source distribution", held, tracked() | {"PKG-INFO"})

    with zipfile.ZipFile(wheel) as files:
        held = set(files.namelist())
    info = "-".join(wheel.name.split("-")[:2]) + ".dist-info/"
    expected = {info + name for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    expected |= {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    expected |= {
        name.replace("docker/hbase", "webtable/_docker") for name in tracked() if name.startswith("docker/hbase/")
    }
    expected |= {
        name.replace("docs/", "webtable/_docs/", 1)
        for name in tracked()
        if name.endswith(".md") and str(Path(name).parent) in ("docs", "docs/api")
    }
    compare("the wheel", held, expected)


def compare(which: str, held: set[str], expected: set[str]) -> None:
    """End with the files that *which* lacks, or has without reason."""
    if held != expected:
        sys.exit(f"{which} lacks {sorted(expected - held)} and should not have {sorted(held - expected)}")


def interpreter(version: str) -> str | None:
    """Return the path of a Python of *version*, on the PATH or of pyenv; None without one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [f"python{version}", *sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)]
    question = "import sys; print(sys.executable)"
    for python in found:
        # pyenv has a command for each version, which fails for those that are not chosen.
        if shutil.which(python):
            said = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
            if not said.returncode:
                return said.stdout.strip()
    return None


def environment(python: str, name: str, *needed: str) -> Path:
    """Return the folder of commands of a fresh environment with the packages *needed*, in the pinned versions."""
    run(python, "-m", "venv", WORK / name)
    installed = WORK / name / "bin"
    run(installed / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", *needed)
    return installed


def try_out(version: str, python: str, source: Path, wheel: Path) -> None:
    """Install both with *python*, run tests beside the wheel and the demo of the source distribution."""
    tests = WORK / f"tests-{version}"
    with tarfile.open(source) as files:
        files.extractall(tests, filter="data")
    [tests] = tests.iterdir()
    shutil.rmtree(tests / "src")  # so that nothing but the installed package can be imported
    installed = environment(python, f"wheel-{version}", f"{wheel}[dev]")
    chosen = [f"tests/{name}" for name in TESTS]
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", "-k", "not hbase and not thrift"]
    without_docker = {"DOCKER_HOST": "unix:///nonexistent.sock"}
    run(installed / "python", "-m", "pytest", *options, *chosen, cwd=tests, **without_docker)

    installed = environment(python, f"sdist-{version}", str(source))
    run(installed / "python", "-W", "error", "-c", IMPORT_ALL)
    run(installed / "webtable", "demo", f"demo-{version}")


def main() -> None:
    """Check the distributions, and try them with each Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", help="versions as 3.12; without any, those that are found")
    wanted = parser.parse_args().pythons
    source, wheel = build()
    check_contents(source, wheel)
    build_again(wheel)
    found = {version: interpreter(version) for version in wanted or VERSIONS}
    missing = [version for version, python in found.items() if not python]
    if wanted and missing:
        sys.exit(f"no Python {', '.join(missing)} here")
    for version, python in found.items():
        if python:
            try_out(version, python, source, wheel)
    print(
        f"tried with Python {', '.join(version for version, python in found.items() if python)}:",
        source.name,
        wheel.name,
    )
    if missing:
        print("not tried, for lack of an interpreter: Python", ", ".join(missing))


if __name__ == "__main__":
    main()

"""The workflows for a forge are YAML, run targets of the Makefile, and try the Pythons that the package names."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHECK = runpy.run_path(str(ROOT / ".ci" / "release_check.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]


def steps(workflow):
    """Return all steps of the file *workflow*."""
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def commands(workflow):
    return [step["run"] for step in steps(workflow) if "run" in step]


def test_there_is_one_for_changes_and_one_for_releases():
    assert [workflow.name for workflow in WORKFLOWS] == ["ci.yml", "release.yml"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_each_target_is_one_of_the_makefile(workflow):
    made = {target for line in commands(workflow) for target in re.findall(r"\bmake ([a-z-]+)", line)}

    assert made
    assert made - TARGETS == set()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_each_action_is_pinned_by_its_commit_with_the_version_beside_it(workflow):
    used = re.findall(r"uses: (.*)", workflow.read_text())

    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action)] == []


def test_the_lowest_versions_are_those_of_the_package():
    lowest = runpy.run_path(str(ROOT / ".ci" / "lowest_versions.py"))["lowest"]()

    # CVE-2025-43859, CVE-2025-62727, CVE-2025-27516, CVE-2025-4565, CVE-2025-6176: the first versions without them.
    safe = {"h11": "0.16", "starlette": "0.49.1", "jinja2": "3.1.6", "protobuf": "6.31.1", "scrapy": "2.13.4"}
    assert {name: lowest[name] for name in safe} == safe


def test_the_same_pythons_are_tried_everywhere():
    jobs = yaml.safe_load(WORKFLOWS[0].read_text())["jobs"]
    classified = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    checked = {python for file in WORKFLOWS for line in commands(file) for python in re.findall(r"\b3\.\d+\b", line)}

    assert jobs["test"]["strategy"]["matrix"]["python"] == list(CHECK["VERSIONS"])
    assert classified == list(CHECK["VERSIONS"])
    assert checked == set(CHECK["VERSIONS"])


def test_each_job_of_the_makefile_has_a_marker_that_says_how_it_is_run():
    [jobs] = re.findall(r"^JOBS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    markers = "\n".join(TOOLS["pytest"]["ini_options"]["markers"])

    assert re.findall(r"^(\w+): .*, in `make test MARK=\1` alone$", markers, re.MULTILINE) == jobs.split()


def test_the_tests_beside_an_installed_package_are_there():
    assert [name for name in CHECK["TESTS"] if not (ROOT / "tests" / name).is_file()] == []

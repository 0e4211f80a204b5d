"""A million inputs for each target, or as many as `WEBTABLE_FUZZ_INPUTS` says, by hypothesis and atheris."""

from __future__ import annotations

import os

import pytest
from run import fuzz, lines
from targets import TARGETS

INPUTS = int(os.environ.get("WEBTABLE_FUZZ_INPUTS", "1000000"))
PROCESSES = int(os.environ.get("WEBTABLE_FUZZ_PROCESSES", "2"))
pytestmark = [pytest.mark.faults, pytest.mark.nightly, pytest.mark.timeout(0)]


@pytest.mark.parametrize("name", TARGETS)
def test_a_million_inputs_break_no_promise(name):
    wanted = INPUTS // TARGETS[name].fewer

    tallies = fuzz(name, wanted, processes=PROCESSES)

    print("", *lines(name, tallies), sep="\n")
    assert [tally.findings for tally in tallies.values() if tally.findings] == []
    assert sum(tally.inputs for tally in tallies.values()) >= wanted * 0.99

"""Which fuzz tests are collected: the long run only where it is asked for, as `make faults` does."""

import os

collect_ignore = [] if os.environ.get("WEBTABLE_FUZZ_INPUTS") else ["test_long_fuzzing.py"]

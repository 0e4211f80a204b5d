"""Which fault tests are collected: those that take minutes only where they are asked for, as `make faults` does."""

import os

collect_ignore = [] if os.environ.get("WEBTABLE_FAULT_LONG") else ["test_servers.py", "test_gateways_life.py"]

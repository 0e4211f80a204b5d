"""Builds the image of the tests' HBase where it is missing: that takes longer than one test may (`make test`)."""

from __future__ import annotations

import os
from contextlib import suppress

from docker.errors import DockerException

from webtable.testing.hbase import _image, _no_engine

if __name__ == "__main__" and "WEBTABLE_HBASE_URL" not in os.environ and not _no_engine():
    with suppress(DockerException):  # the tests say what is missing
        _image()

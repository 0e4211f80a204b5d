"""Functions that worker processes import, for the tests of `webtable.parallel`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def urls(answer) -> list[str]:
    return [page.url for page in answer]


def row_keys(records) -> list[bytes]:
    return [record.key for record in records]


def rows_of_frame(answer) -> int:
    return answer.to_arrow(["url", "status"]).read_all().num_rows


def fail(answer) -> None:
    raise ValueError(f"no {answer.question}")


def die(answer) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(answer) -> list[str]:
    """Kill the process that is the first to come here; the file says whether one was."""
    try:
        Path(os.environ["WEBTABLE_TEST_DIED"]).touch(exist_ok=False)
    except FileExistsError:
        return urls(answer)
    os.kill(os.getpid(), signal.SIGKILL)
    return []


def wait(answer) -> None:
    """Leave the number of the process in a file, and wait."""
    Path(os.environ["WEBTABLE_TEST_WAITING"], str(os.getpid())).touch()
    time.sleep(60)

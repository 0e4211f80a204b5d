"""Runs pieces of Python, each as `python -W error -c` would in an empty folder, in children that need not import again.

A process of its own, started as `python -W error snippets.py MODULE …` with what to import once: it reads a line of
JSON for each piece, and answers with one.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path


def run(code: str, folder: str) -> int:
    """Return the exit code of *code*, which has run in *folder*; what it wrote is in `folder.out` beside that."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    done = 1
    try:
        os.chdir(folder)
        with Path(f"{folder}.out").open("wb") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv, sys.path[0] = ["-c"], ""
        exec(compile(code, "<snippet>", "exec"), {"__name__": "__main__"})
        threading._shutdown()  # type: ignore[attr-defined]  # both are what an interpreter does at its end
        atexit._run_exitfuncs()
        done = 0
    except BaseException:  # noqa: BLE001 - it is told by the exit code
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(done)


def main() -> None:
    """Answer each line of standard input."""
    for name in sys.argv[1:]:
        import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        code = run(asked["code"], asked["folder"])
        print(json.dumps([code, Path(f"{asked['folder']}.out").read_text()]), flush=True)


if __name__ == "__main__":
    main()

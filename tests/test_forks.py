"""A child that is forked while a thread of its parent imports a module for the first time can import it too."""

from __future__ import annotations

import subprocess
import sys

FORKS = 50

# Each module takes a moment to be imported, and the fork comes at another point of it each time.
PROGRAM = f"""
import importlib, os, sys, threading, time
import webtable
webtable.open(sys.argv[1] + "/crawl.db", create=True).close()
sys.path.insert(0, sys.argv[1])
hung = 0
for number in range({FORKS}):
    name = f"slow_{{number}}"
    with open(f"{{sys.argv[1]}}/{{name}}.py", "w") as file:
        file.write("import time; time.sleep(0.02); import slow_parts_%d" % number)
    with open(f"{{sys.argv[1]}}/slow_parts_{{number}}.py", "w") as file:
        file.write("import time; time.sleep(0.02); VALUE = 1")
    thread = threading.Thread(target=importlib.import_module, args=(name,))
    thread.start()
    time.sleep(number / 1000)
    child = os.fork()
    if not child:
        importlib.import_module(name)
        os._exit(0)
    end = time.monotonic() + 20
    while not (ended := os.waitpid(child, os.WNOHANG)[0]) and time.monotonic() < end:
        time.sleep(0.002)
    if not ended:
        hung += 1
        os.kill(child, 9)
        os.waitpid(child, 0)
        break
    thread.join()
print(hung)
"""


def test_a_child_never_waits_for_an_import_that_a_thread_of_its_parent_had_begun(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_fork_within_an_import_is_possible(tmp_path):
    (tmp_path / "forking.py").write_text("import os, sys\nchild = os.fork()\nchild or os._exit(3)\n")
    program = f"""
import sys, os
import webtable
webtable.open("{tmp_path}/crawl.db", create=True).close()
sys.path.insert(0, "{tmp_path}")
import forking
print(os.waitstatus_to_exitcode(os.waitpid(forking.child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("3\n", "")

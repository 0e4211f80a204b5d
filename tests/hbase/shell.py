"""Lines for HBase's shell, run in the container of the tests' HBase: by the image's own Snapshots.java, or the shell.

The shell is a job of its own (`make test-shell`): its Ruby and a JRuby come from Maven Central. That has no shell of
the HBase in the image; the one of 2.4 speaks to it, but for one command that is gone since.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

JARS = ("org.apache.hbase:hbase-shell:2.4.17", "org.jruby:jruby-complete:9.2.13.0")
PLACE = "/tmp/hbase-shell"
GONE = "module Shell\n  module Commands\n    class Trace < Command; end\n  end\nend\n"
"""What stands for the command `trace`, whose Java class is gone."""
_OPENED = ("java.lang", "java.nio", "sun.nio.ch", "java.io", "java.util", "java.net", "jdk.internal.ref")
RUN = (
    f"cd {PLACE} && exec java -cp '/opt/hbase:{PLACE}/*:/opt/hbase/lib/*' -Xmx256m -Djava.net.preferIPv4Stack=true "
    "-Dlog4j2.configurationFile=/opt/hbase/log4j2.properties "
    + " ".join(f"--add-opens java.base/{package}=ALL-UNNAMED" for package in _OPENED)
    + " org.jruby.Main -X+O -I . jar-bootstrap.rb -n"
)


Run = Callable[[str], str]
"""Runs lines, which ends at the first error, and returns what they have written."""


def shell_in(container: Any, folder: Path) -> Run:
    """Bring HBase's shell into *container*, by way of the empty *folder*; it runs as `hbase shell -n`."""
    _fill(folder)
    _output("docker", "cp", f"{folder}/.", f"{container.id}:{PLACE}")

    def run(text: str) -> str:
        command = ["docker", "exec", "-i", container.id, "bash", "-c", RUN]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def admin_in(container: Any) -> Run:
    """Run lines about snapshots by HBase's Admin API in *container*."""

    def run(text: str) -> str:
        command = ["bash", "/opt/hbase/java.sh", "-Xmx256m", "Snapshots", text]
        code, (written, complaints) = container.exec_run(command, demux=True)
        assert code == 0, (complaints or b"").decode()
        return (written or b"").decode()

    return run


def _fill(folder: Path) -> None:
    """Put the jars of the shell into *folder*, what begins it, and what stands for the command that is gone."""
    for jar in JARS:
        _output("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={folder}")
    _output("unzip", "-q", "-d", str(folder), *map(str, folder.glob("hbase-shell-*.jar")), "jar-bootstrap.rb")
    (folder / "shell" / "commands").mkdir(parents=True)
    (folder / "shell" / "commands" / "trace.rb").write_text(GONE)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

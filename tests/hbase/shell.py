"""HBase's own shell beside the HBase of the tests: its Ruby and a JRuby from Maven Central, run in the container.

Of the HBase in the image Maven Central has no shell; that of 2.4 speaks to it, but for one command that is gone since.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

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


class HBaseShell:
    """The shell in a container."""

    def __init__(self, container: str) -> None:
        self._container = container

    def run(self, text: str) -> str:
        """Run *text* as `hbase shell -n` does, which ends at the first error, and return what it has written."""
        command = ["docker", "exec", "-i", self._container, "bash", "-c", RUN]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def hbase_shell(hbase_url: str, tmp_path_factory: pytest.TempPathFactory) -> HBaseShell:
    """The shell in the container whose port the tests use; a skip that says what is missing where there is none."""
    if missing := [tool for tool in ("docker", "mvn", "unzip") if shutil.which(tool) is None]:
        pytest.skip(f"no HBase shell: there is no {missing[0]} to get it with")
    found = _output("docker", "ps", "-q", "--filter", f"publish={urlsplit(hbase_url).port}").split()
    if not found:
        pytest.skip("no HBase shell: the HBase of WEBTABLE_HBASE_URL runs in no container here")
    folder = tmp_path_factory.mktemp("hbase-shell")
    _fill(folder)
    _output("docker", "cp", f"{folder}/.", f"{found[0]}:{PLACE}")
    return HBaseShell(found[0])


def _fill(folder: Path) -> None:
    """Put the jars of the shell into *folder*, what begins it, and what stands for the command that is gone."""
    for jar in JARS:
        copied = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={folder}"]
        if (done := subprocess.run(copied, capture_output=True, text=True, check=False)).returncode:
            pytest.skip(f"no HBase shell: Maven cannot get {jar}: {done.stdout[-300:]}")
    _output("unzip", "-q", "-d", str(folder), *map(str, folder.glob("hbase-shell-*.jar")), "jar-bootstrap.rb")
    (folder / "shell" / "commands").mkdir(parents=True)
    (folder / "shell" / "commands" / "trace.rb").write_text(GONE)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout

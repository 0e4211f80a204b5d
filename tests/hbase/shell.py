"""HBase's shell in the container of the tests' HBase, which goes on from one text of lines to the next."""

from __future__ import annotations

import uuid
from typing import Any

from docker.utils.socket import frames_iter

STDOUT = 1


class Shell:
    """`hbase shell -n` in *container*. Starting it takes seconds: the first lines do, and those after an error."""

    def __init__(self, container: Any) -> None:
        self._container = container
        self._engine = container.client.api
        self._stream: Any = None

    def run(self, lines: str) -> str:
        """Run *lines*, and return what they have written; an `AssertionError` has it if one of them fails."""
        self._started()
        # The shell repeats every line that it reads: what the last one writes must not stand in that line.
        mark = uuid.uuid4().hex
        self._stream._sock.sendall(f"{lines}\nputs '{mark}'.reverse\n".encode())
        written: dict[int, bytes] = {}
        end = b"\n%s\n" % mark[::-1].encode()
        for kind, data in self._frames:
            written[kind] = written.get(kind, b"") + data
            if end in written.get(STDOUT, b""):  # the next prompt may stand behind it
                return written[STDOUT].partition(end)[0].decode()
        self.close()
        raise AssertionError("".join(text.decode() for text in written.values()))

    def exit_code(self) -> int | None:
        """Return how it has ended; None while it runs."""
        return self._engine.exec_inspect(self._process)["ExitCode"]

    def _started(self) -> None:
        if self._stream is None:
            command = ["hbase", "shell", "-n"]
            self._process = self._engine.exec_create(self._container.id, command, stdin=True)["Id"]
            self._stream = self._engine.exec_start(self._process, socket=True)
            self._frames = frames_iter(self._stream, tty=False)

    def close(self) -> None:
        """End it, if it runs."""
        if self._stream is not None:
            self._stream._sock.close()
            self._stream.close()
            self._stream = None

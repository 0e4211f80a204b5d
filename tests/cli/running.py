"""One way to run a command of `webtable`, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from typer.testing import CliRunner

from webtable.cli import app


@dataclass(frozen=True)
class Result:
    """What a command has written, and its exit code."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def cells(self) -> list[list[str]]:
        """The lines of a pipe, taken apart at their tabs."""
        return [line.split("\t") for line in self.lines]

    @property
    def urls(self) -> list[str]:
        """The first cells of the lines."""
        return [cells[0] for cells in self.cells]

    @property
    def errors(self) -> list[str]:
        return self.err.splitlines()


Run = Callable[..., Result]


def webtable_command(*args: object, stdin: bytes | str | None = None) -> Result:
    """Run `webtable` with these arguments, as in a pipe."""
    done = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin, prog_name="webtable")
    return Result(done.exit_code, done.stdout_bytes, done.stderr)

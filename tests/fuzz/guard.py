"""One input after the other, each measured and bounded; what breaks a promise is stored as a finding, once."""

from __future__ import annotations

import hashlib
import json
import mmap
import resource
import struct
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from targets import Target

FINDINGS = Path(__file__).parent / "findings"
_LENGTH = struct.Struct(">I")
_MOST = 1 << 20
_BEYOND = 1 << 30
"""What the engine itself may take, which keeps what it has seen."""


@dataclass
class Tally:
    """What was run, and what came of it."""

    inputs: int = 0
    seconds: float = 0.0
    """Of a processor's time, with all that the engine does."""
    findings: Counter[str] = field(default_factory=Counter)
    """How often each was met: an error and the line that raised it."""
    megabytes: float = 0.0
    """How much more memory the process had at its worst than before the first input; by the engine as well."""
    slowest: float = 0.0
    """The processor's time of the slowest input in seconds."""

    def add(self, other: Tally) -> None:
        """Add what another process has run, beside this one or behind it."""
        self.inputs += other.inputs
        self.seconds += other.seconds
        self.findings.update(other.findings)
        self.megabytes = max(self.megabytes, other.megabytes)
        self.slowest = max(self.slowest, other.slowest)


class Guard:
    """Runs the inputs of one target in this process, and keeps in a file which one it is at and what was run.

    Unless it is not to be *bound*, the process gets no more memory than the target may take, and the engine.
    """

    def __init__(self, target: Target, current: Path, findings: Path = FINDINGS, *, bound: bool = True) -> None:
        self.target = target
        self.tally = Tally()
        self._folder = findings / target.name
        current.write_bytes(bytes(_MOST))
        with current.open("r+b") as file:
            self._current = mmap.mmap(file.fileno(), _MOST)
        self._stats = current.with_suffix(".json")
        for seed in target.seeds():
            target.check(seed)
        self._base = self._most = _most_memory()
        if bound:
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (_data() + (target.megabytes << 20) + _BEYOND, hard))
        self._began = time.process_time()

    def run(self, data: bytes) -> None:
        """Check one input; an error is a finding, and so is one that takes too long or too much memory."""
        self._current[: _LENGTH.size + len(data)] = _LENGTH.pack(len(data)) + data
        begin = time.process_time()
        try:
            self.target.check(data)
        except Exception as exc:  # noqa: BLE001 - that is what is looked for
            self._found(data, _named(exc))
        self._measure(data, time.process_time() - begin)
        self.tally.inputs += 1
        if self.tally.inputs % 500 == 0:
            self.save()

    def _measure(self, data: bytes, seconds: float) -> None:
        if seconds > self.tally.slowest:
            self.tally.slowest = seconds
            if seconds > self.target.seconds:
                self._found(data, f"over {self.target.seconds} s")
        most = _most_memory()
        if most > self._most:
            if most - self._most > self.target.megabytes:
                self._found(data, f"over {self.target.megabytes} MB")
            self._most, self.tally.megabytes = most, most - self._base

    def _found(self, data: bytes, name: str) -> None:
        self.tally.findings[name] += 1
        if self.tally.findings[name] == 1:
            print(f"{self.target.name}: {name}\n  {store(self._folder, data)}", file=sys.stderr, flush=True)

    def save(self) -> None:
        """Write what was run to its file, for the process that waits for this one."""
        self.tally.seconds = time.process_time() - self._began
        self._stats.write_text(json.dumps({**vars(self.tally), "findings": dict(self.tally.findings)}))


def store(folder: Path, data: bytes) -> Path:
    """Store a finding and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"new-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def last_input(current: Path) -> bytes:
    """Return the input that a process was at which has ended on its own."""
    data = current.read_bytes()
    (length,) = _LENGTH.unpack_from(data)
    return data[_LENGTH.size : _LENGTH.size + length]


def tally_of(current: Path) -> Tally:
    """Return what a process has run, as it has said last."""
    stats = current.with_suffix(".json")
    if not stats.exists():
        return Tally()
    values = json.loads(stats.read_text())
    return Tally(**{**values, "findings": Counter(values["findings"])})


def _named(exc: Exception) -> str:
    frames = traceback.extract_tb(exc.__traceback__)
    own = [frame for frame in frames if "/webtable/" in frame.filename or "/targets/" in frame.filename]
    last = (own or frames)[-1]
    return f"{type(exc).__name__} in {Path(last.filename).name}:{last.lineno} {last.name}"


def _most_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _data() -> int:
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("VmData"))

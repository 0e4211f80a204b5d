"""A TCP proxy that hurts what passes through it, as it is told. It is a process of its own and waits for no test.

    with FaultProxy(9090) as proxy:
        proxy.next(Fault("reset", "reply", at=100))
        HBaseStore("127.0.0.1", proxy.port)

As a program it prints its port, then takes one JSON object a line on its standard input and answers each with one. It
ends with its input, so none is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import struct
import subprocess
import sys
from collections import Counter, deque
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self, get_args

Kind = Literal["refuse", "mute", "cut", "reset", "half-close", "stall", "delay", "trickle", "corrupt"]
Way = Literal["request", "reply"]
KINDS: tuple[Kind, ...] = get_args(Kind)
HOST = "127.0.0.1"
_WEIGHTS = {"mute": 0.02, "half-close": 0.02, "cut": 3.0, "reset": 3.0}
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Fault:
    """What befalls one connection, once `at` bytes have passed `way`.

    "refuse" resets it when it is made; "mute" takes it and never answers, as a gateway without a free worker; "cut"
    ends it in order (FIN) and "reset" without (RST); "half-close" ends this way alone. For `seconds` "stall" passes
    nothing on, "delay" each piece later, and "trickle" one byte after another. "corrupt" changes one byte.
    """

    kind: Kind
    way: Way = "reply"
    at: int = 0
    seconds: float = 0.01


@dataclass(frozen=True)
class Weather:
    """Faults by chance: a `share` of all connections gets one of `kinds` within `within` bytes, and then another one.

    Those that leave the other side to its deadline are the rarest.
    """

    seed: int
    share: float = 1.0
    within: int = 20_000
    kinds: tuple[Kind, ...] = KINDS
    seconds: float = 0.01
    ways: tuple[Way, ...] = get_args(Way)

    def faults(self) -> Any:
        """Yield what befalls one connection after another."""
        chance = random.Random(self.seed)
        while True:
            fault = Fault(
                chance.choices(self.kinds, [_WEIGHTS.get(kind, 1.0) for kind in self.kinds])[0],
                chance.choice(self.ways),
                # As likely in the first hundred bytes as in the next thousands.
                int(self.within ** chance.random()) - 1,
                self.seconds,
            )
            yield fault if chance.random() < self.share else None


class FaultProxy:
    """The proxy in front of *port*, from the side of the test; `port` is its own."""

    def __init__(self, port: int, host: str = HOST) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, host, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port: int = self._answer()["port"]

    def next(self, *faults: Fault | None) -> None:
        """Let these befall the next connections, one each."""
        self._ask(next=[fault and asdict(fault) for fault in faults])

    def weather(self, weather: Weather | None) -> None:
        """Let faults come by chance from now on, or stop that."""
        self._ask(weather=weather and asdict(weather))

    def reset_all(self) -> None:
        """Reset all connections there are."""
        self._ask(reset_all=True)

    def injected(self) -> Counter[str]:
        """Return how many faults of each kind there were; "connections" counts all connections."""
        return Counter(self._ask(report=True))

    def close(self) -> None:
        """End the proxy."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


class _Server:
    """The proxy itself."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._planned: deque[Fault | None] = deque()
        self._weather: Any = None
        self._count: Counter[str] = Counter()
        self._open: set[asyncio.StreamWriter] = set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        listener = await asyncio.start_server(self._serve, HOST, 0)
        self._say({"port": listener.sockets[0].getsockname()[1]})
        commands = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
        while line := await commands.readline():
            self._say(self._do(json.loads(line)))
        os._exit(0)  # connections are as they are: what they were at needs no report

    @staticmethod
    def _say(answer: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    def _do(self, command: dict[str, Any]) -> dict[str, Any]:
        self._planned.extend(fault and Fault(**fault) for fault in command.get("next", ()))
        if "weather" in command:
            weather = command["weather"]
            self._weather = weather and Weather(**weather).faults()
        if "reset_all" in command:
            for writer in self._open:
                _reset(writer)
        return dict(self._count)

    def _fault(self, *, is_new: bool = False) -> Fault | None:
        """Return what befalls a connection next."""
        if is_new and self._planned:
            return self._planned.popleft()
        return next(self._weather) if self._weather is not None else None

    def _next(self, way: Way) -> Fault | None:
        """Return what befalls a connection next that has survived one fault."""
        while (fault := self._fault()) is not None:
            if fault.kind not in ("refuse", "mute"):
                return replace(fault, way=way)
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count["connections"] += 1
        fault = self._fault(is_new=True)
        if fault is not None and fault.kind in ("refuse", "mute"):
            self._count[fault.kind] += 1
            if fault.kind == "refuse":
                _reset(writer)
            else:
                with contextlib.suppress(OSError):
                    while await reader.read(65_536):
                        pass
                writer.close()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        self._open |= {writer, far_writer}
        passing = [
            asyncio.ensure_future(self._pass(reader, far_writer, writer, _only(fault, "request"))),
            asyncio.ensure_future(self._pass(far_reader, writer, far_writer, _only(fault, "reply"))),
        ]
        await asyncio.gather(*passing, return_exceptions=True)
        self._open -= {writer, far_writer}
        for one in (writer, far_writer):
            with contextlib.suppress(OSError, RuntimeError):
                one.close()

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
        fault: Fault | None,
    ) -> None:
        """Pass on what *reader* gives to *writer*; *back* leads to where it comes from."""
        passed, later = 0, 0.0
        while data := await reader.read(65_536):
            await asyncio.sleep(later)
            if fault is not None and fault.at < passed + len(data):
                here = max(fault.at - passed, 0)
                writer.write(data[:here])
                await writer.drain()
                self._count[fault.kind] += 1
                if not await self._hurt(fault, reader, writer, back, data[here:]):
                    return
                later = fault.seconds if fault.kind == "delay" else 0.0
                passed, fault = 0, self._next(fault.way)
            else:
                writer.write(data)
                await writer.drain()
                passed += len(data)
        with contextlib.suppress(OSError, RuntimeError):
            writer.write_eof()

    @staticmethod
    async def _hurt(
        fault: Fault,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
        rest: bytes,
    ) -> bool:
        """Do what *fault* says with the connection, the *rest* of what was read being still on its way.

        Returns whether this way goes on.
        """
        if fault.kind == "cut":
            writer.close()
            back.close()
            return False
        if fault.kind == "reset":
            _reset(writer)
            _reset(back)
            return False
        if fault.kind == "half-close":
            writer.write_eof()
            while await reader.read(65_536):
                pass
            return False
        if fault.kind == "stall":
            await asyncio.sleep(fault.seconds)
            writer.write(rest)
        elif fault.kind == "corrupt":
            writer.write(bytes([rest[0] ^ 0x55]) + rest[1:])
        elif fault.kind == "trickle":
            for at in range(len(rest[:1_000])):
                writer.write(rest[at : at + 1])
                await asyncio.sleep(fault.seconds / 1_000)
            writer.write(rest[1_000:])
        else:
            await asyncio.sleep(fault.seconds)
            writer.write(rest)
        await writer.drain()
        return True


def _only(fault: Fault | None, way: Way) -> Fault | None:
    return fault if fault is not None and fault.way == way else None


def _reset(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, AttributeError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()


if __name__ == "__main__":
    asyncio.run(_Server(sys.argv[1], int(sys.argv[2])).run())

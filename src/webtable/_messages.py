"""Messages whose commands each side writes in its own words: Python as they are, the command line with its store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Command(NamedTuple):
    """A command of `webtable`, by its words after the name of the store; *python* is what a program calls instead."""

    words: str
    python: str = ""

    def __str__(self) -> str:
        command = f"webtable {self.words}"
        return f"{self.python}, or on the command line with {command}" if self.python else command


class Words(NamedTuple):
    """What programs call otherwise than the command line does, as an argument and its option."""

    python: str
    command_line: str | Command

    def __str__(self) -> str:
        return self.python


class Argument(NamedTuple):
    """An argument in the middle of a message, with its value if that is told; the command line has it as an option."""

    name: str
    value: object = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class Message(str):
    """A text for Python that knows where its commands stand; it keeps them when a text is added."""

    # A str, so that whoever catches an error and prints it gets the text for Python.
    __slots__ = ("parts",)
    parts: tuple[object, ...]

    def __new__(cls, *parts: object) -> Message:
        """Return the message that is made of *parts*: texts, and commands or words that the sides write differently."""
        message = super().__new__(cls, "".join(map(str, parts)))
        message.parts = parts
        return message

    def __add__(self, text: str) -> Message:
        return Message(self, text)

    def __radd__(self, text: str) -> Message:
        return Message(text, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self.parts


def message_of(error: BaseException) -> str:
    """Return the message of *error*, which may be a `Message`."""
    first = error.args[0] if error.args else ""
    return first if isinstance(first, Message) else str(error)


def text_of(part: object, command: Callable[[str], str]) -> str:
    """Return a message, or a part of one, as the command line says it; *command* returns the line that runs some words.

    >>> text_of(Message("add it with ", Command("index add time")), lambda words: f"webtable -s crawl.db {words}")
    'add it with webtable -s crawl.db index add time'
    """
    match part:
        case Message():
            return "".join(text_of(piece, command) for piece in part.parts)
        case Command():
            return command(part.words)
        case Words():
            return text_of(part.command_line, command)
        case Argument():
            return f"--{part.name.replace('_', '-')} {part.value}".rstrip()
    return str(part)

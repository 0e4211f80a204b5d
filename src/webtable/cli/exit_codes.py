"""Errors as one line on stderr and an exit code, a traceback only with --debug; and reports of damaged rows."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from webtable._messages import message_of, text_of
from webtable.cli.commands import COMMANDS, GROUPS, no_such_command
from webtable.cli.messages import instead, options_of, suggest_option, with_option
from webtable.cli.session import CommandSession, named_session
from webtable.display import harmless
from webtable.display.text import plural
from webtable.errors import (
    DamagedRow,
    FullScanNeeded,
    IndexNeeded,
    InvalidArgument,
    InvalidURL,
    KeyFormatError,
    NotAStore,
    SchemaError,
    StoreError,
    StoreUnavailable,
    WebTableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.maintenance import Verification

# As grep has them: 1 is an answer ("not found"), 2 and above are errors. Scripts tell a wrong option from a store that
# is gone, which may be there again in a minute.
DONE, NOT_DONE, USAGE, STORE = 0, 1, 2, 3
# Shells add this to the number of the signal that ended a process.
SIGNALLED = 128
INTERRUPTED = SIGNALLED + signal.SIGINT
# At most this many damaged rows are named.
MOST_NAMED = 5


def exit_code(error: BaseException) -> int:
    """Return the exit code for *error*."""
    match error:
        case DamagedRow():
            return NOT_DONE
        case IndexNeeded() | SchemaError() | StoreError():
            return STORE
        case InvalidArgument() | InvalidURL() | KeyFormatError() | FullScanNeeded():
            return USAGE
        case _:
            return NOT_DONE


def ended_by(interrupt: KeyboardInterrupt) -> signal.Signals:
    """Return the signal that *interrupt* stands for; Python's own stands for Ctrl-C."""
    (number,) = interrupt.args or (signal.SIGINT,)
    return signal.Signals(number)


def complain(message: str) -> None:
    """Write one line to stderr, whatever is in *message*."""
    note(f"webtable: {one_line(message)}")


def not_done(message: str) -> typer.Exit:
    """Write why a command has done nothing, or not all, and return what ends it."""
    complain(message)
    return typer.Exit(NOT_DONE)


def note(message: str) -> None:
    """Write a remark, not an error, to stderr."""
    from webtable.store import without_secrets  # most commands write no remarks

    _flush()
    print(harmless(without_secrets(message)), file=sys.stderr, flush=True)


def one_line(message: str) -> str:
    """Return *message* on one line, without control characters."""
    return harmless("; ".join(line.strip() for line in message.splitlines() if line.strip()))


def report_findings(verification: Verification) -> None:
    """Report what a verification *verification* damaged, lost or missing, and name the first of each."""
    report_damage(verification.examples, verification.damaged + verification.lost, left_out=False)
    if verification.missing:
        complain(f"{plural(verification.missing, 'page')} missing")
    for host in verification.short_hosts[:MOST_NAMED]:
        complain(f"{host.host}: {plural(host.expected, 'page')} expected, {host.found:,} found")
    if len(verification.short_hosts) > MOST_NAMED:
        complain("and pages of more hosts")


def report_damage(rows: Sequence[DamagedRow], count: int, *, left_out: bool = True) -> None:
    """Report that *count* rows are damaged, with the first of *rows*; nothing if there are none."""
    if not count:
        return
    from webtable.rowkey import key_text  # few commands find damage

    complain(f"{plural(count, 'damaged row')} {'left out' if left_out else 'found'}")
    for row in rows[:MOST_NAMED]:
        complain(f"{row.url or 'row ' + key_text(row.row[:200])}: {row.reason}")
    if rows and count > min(len(rows), MOST_NAMED):
        complain(f"and {count - min(len(rows), MOST_NAMED):,} more")


def end_if_damaged(rows: Sequence[DamagedRow], count: int) -> None:
    """Report damaged rows that were left out, and end the command, if there are any."""
    if count:
        report_damage(rows, count)
        raise typer.Exit(NOT_DONE)


class CommandGroup(TyperGroup):
    """The commands, each loaded when it is run, with every error turned into one line and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002, as in the base class
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return the command of that name, None if there is none."""
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            self.commands[cmd_name] = COMMANDS[cmd_name].load(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that *args* begin with; typer would suggest only names of commands that are loaded."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(no_such_command(name))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the commands in their groups, without loading any of them."""
        width = max(map(len, COMMANDS))
        for heading, group in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), listed.help) for name, listed in group.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; with --debug the traceback of an error is shown."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt as exc:
            # A command notes how far it was.
            complain(": ".join(["interrupted", *getattr(exc, "__notes__", ())]))
            raise typer.Exit(SIGNALLED + ended_by(exc)) from None
        except Exception as exc:
            if ctx.params.get("debug") and not isinstance(exc, BrokenPipeError):
                from webtable.store import without_secrets

                print(without_secrets(traceback.format_exc()), file=sys.stderr, end="")
            # Only now: the options of a command are known once it is loaded.
            options = options_of(ctx.command, ctx.invoked_subcommand)
            raise typer.Exit(_failed(exc, named_session(ctx), options)) from exc

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Parse the arguments, run the command and exit."""
        # A lone surrogate in a title or a file name would end the command in a locale that is not UTF-8.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        # Not in click's standalone mode, which writes errors over several lines and has exit codes of its own.
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except typer.Abort:  # Ctrl-C, or the end of the input, at a question
            complain("interrupted")
            code = INTERRUPTED
        except Exception as exc:  # noqa: BLE001 - wrong options before the command
            code = _failed(exc)
        _flush()
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else DONE)
        return code


def _failed(
    error: Exception,
    session: CommandSession | None = None,
    options: Mapping[str, str] | None = None,
) -> int:
    """Report *error* in one line and return the exit code.

    Commands in the message get the *session*'s store, and the name of a wrong argument is that of its option.
    """
    if isinstance(error, BrokenPipeError):
        return _reader_is_gone()
    if hasattr(error, "format_message"):  # a usage error of typer's, whose class moved between versions
        suggest_option(error)
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "webtable"
        complain(f"{error.format_message().rstrip('.')} (see {command} --help)")
        return int(getattr(error, "exit_code", USAGE))
    message = text_of(message_of(error), "webtable {}".format if session is None else session.command)
    if isinstance(error, InvalidArgument):
        message = with_option(message, options or {})
    if isinstance(error, StoreUnavailable | NotAStore) and session is not None:
        message += f"; to see what is wrong: {session.command('doctor')}"
    elif isinstance(error, InvalidURL) and session is not None:
        message += instead(error.without_scheme, session)
    elif isinstance(error, OSError) and error.strerror:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif not isinstance(error, WebTableError | OSError):
        message = f"unexpected error: {error!r} (--debug shows where)"
    # Statements for the HBase shell are written a line each, to be pasted or piped.
    before, colon, statements = message.partition("HBase shell:\n")
    complain(before + colon)
    for line in statements.splitlines():
        typer.echo(harmless(line))
    return exit_code(error)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _reader_is_gone()


def _reader_is_gone() -> int:
    """Return 0, even under `set -o pipefail`: a reader that has seen enough (`| head`) got what it asked for."""
    # What is still in the buffer would raise again when the interpreter exits.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return DONE

"""Errors that end a command: one sentence on standard error, and an exit status.

=======  =======================================================================
status   meaning
=======  =======================================================================
0        done
1        everything that is not one of the others
2        wrong usage or settings: nothing was begun
130      stopped by Ctrl-C (143: by a termination signal); what is applied is kept
=======  =======================================================================

A traceback is printed only with ``--debug``. A reader that closed the pipe ends the command
quietly; Click does that.
"""

import os
import re
import resource
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from ..gpu_core.errors import GraphtideError, SettingsError
from ..gpu_core.printable import printable

#: An argument and its value; not a folder of a path.
_ARGUMENT = re.compile(r"(?<![^\s(])([a-z_]+)='?([-+]?\w+(?:\.\w+)?)'?(?![\w/.])")


class Failure(click.ClickException):
    """Early end of a command: one sentence for the user, and an exit status."""

    exit_code = 1

    def __init__(self, message: str, command: str = "graphtide") -> None:
        super().__init__(printable(_in_options(" ".join(message.split()))))
        self.command = command
        self._is_event = _wants_events()

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence to standard error, after the command's name, or as an event."""
        message = self.format_message()
        text = f"{self.command}: {message}"
        if self._is_event:
            from .printing.run_reports import event_text

            values = {"command": self.command, "message": message, "status": self.exit_code}
            text = event_text("error", **values)
        click.echo(text, file=file, err=file is None)


class WrongUsage(Failure):
    """The command line or the settings cannot be meant; nothing was begun."""

    exit_code = 2


class Interrupted(Failure):
    """Ctrl-C ended the command."""

    exit_code = 130


class EndedBySignal(Failure):
    """A termination signal ended the command."""

    exit_code = 143


class Terminated(KeyboardInterrupt):
    """A termination signal came: the same clean end as Ctrl-C."""


@contextmanager
def failures_reported(command: str) -> Iterator[None]:
    """Turn whatever is raised inside into a `Failure`, or let Click end the command its own way."""
    try:
        yield
    except (Failure, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        context = error.ctx
        path = context.command_path if context else command
        help_hint = f"try '{path} --help'" if context and context.help_option_names else ""
        sentence = f"{error.format_message().rstrip('.')}; {help_hint}".rstrip("; ")
        raise WrongUsage(sentence, path) from error
    except click.ClickException:
        raise
    except BaseException as error:
        if isinstance(error, (SystemExit, GeneratorExit)):
            raise
        if debugging():
            click.echo(traceback.format_exc(), err=True, nl=False)
        raise _failure(error, command) from error


def _in_options(text: str) -> str:
    """A sentence of the library, with its arguments as options: those of the command that ends.

    ``rows=0`` becomes ``--rows 0``, and ``directed=True`` ``--directed``, if there is such an
    option; ``ids='string'`` always becomes ``--ids string``.
    """
    context = click.get_current_context(silent=True)
    taken = context.command.params if context else ()
    options: dict[str | None, click.Option | None] = {
        each.name: each for each in taken if isinstance(each, click.Option)
    }
    options["num_vertices"] = options.get("vertices")

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        found = options.get(name)
        if found is None:
            return f"--ids {value}" if name == "ids" else match[0]
        if not found.is_flag:
            return f"{found.opts[0]} {value}"
        names = {"True": found.opts, "False": found.secondary_opts}.get(value)
        return names[0] if names else match[0]

    return _ARGUMENT.sub(option, text)


def _failure(error: BaseException, command: str) -> Failure:
    if isinstance(error, GraphtideError):
        gone = f"; the working folder was removed{_HOMELESS_CURE}" if _is_homeless() else ""
        kind = WrongUsage if isinstance(error, SettingsError) else Failure
        return kind(f"{error}{gone}", command)
    if isinstance(error, Terminated):
        return EndedBySignal(str(error) or "stopped", command)
    if isinstance(error, KeyboardInterrupt):
        return Interrupted(str(error) or "stopped", command)
    if isinstance(error, OSError) and _is_of_output(error):
        reason = error.strerror or error
        return Failure(f"standard output cannot be written ({reason}); write elsewhere", command)
    if isinstance(error, FileNotFoundError) and _is_homeless():
        return Failure(f"the working folder was removed{_HOMELESS_CURE}", command)
    if isinstance(error, OSError) and error.filename is not None:
        return Failure(f"{error.filename}: {error.strerror or error}", command)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    is_limited = limit != resource.RLIM_INFINITY
    # Whatever fails where address space is short: libraries, threads, arrays.
    hint = f"; address space is limited to {limit / 1e9:.3g} GB (ulimit -v)" if is_limited else ""
    if isinstance(error, MemoryError):
        cure = hint or "; end other programs, or take a larger machine"
        return Failure(f"there is not enough memory ({error or 'none is left'}){cure}", command)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        cure = hint or "; raise its limit (ulimit -u), or end other programs"
        return Failure(f"the system gives no more threads{cure}", command)
    hint += "" if debugging() else "; --debug shows where"
    return Failure(f"unexpected {type(error).__name__}: {error}{hint}", command)


_HOMELESS_CURE = ": change into one that is there, such as by cd"


def _is_homeless() -> bool:
    """Whether the folder that the command was started in is gone."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _is_of_output(error: OSError) -> bool:
    """Whether an error came as something was printed."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is click.echo.__code__ for frame, _ in frames)


_DEBUG = "graphtide.debug"
_EVENTS = "graphtide.events"


def set_log_format(context: click.Context, _parameter: click.Parameter, value: str) -> str:
    """Remember ``--log-format``, for errors have it too; Click's callback of that option."""
    context.meta[_EVENTS] = value == "json"
    return value


def _wants_events() -> bool:
    """Whether an error is to be reported as JSON."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_EVENTS))


def debugging() -> bool:
    """Whether ``--debug`` was given, before the command's name or after it."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_DEBUG))


def set_debugging(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    """Remember ``--debug`` for the whole command line; Click's callback of that option."""
    if value:
        context.meta[_DEBUG] = True

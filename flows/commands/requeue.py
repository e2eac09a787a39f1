"""``graphtide requeue``: corrected rows and files come back, at the end of the log."""

from collections.abc import Collection, Iterator

import click

from ...gpu_core.errors import StateError
from ...gpu_core.printable import counted
from ...io.state.directory import StateDirectory
from ...pipeline.requeue import Requeued, requeue
from ..printing.text import command, line


def requeue_rows(state: str, forget: Collection[str]) -> None:
    """Take in what is corrected, give ``forget`` up; end with an error where something is left."""
    directory = StateDirectory(state)
    found = requeue(directory, forget)
    for text in _lines(found):
        click.echo(text)
    if any(each.path for each in found):
        log = directory.settings().log_address
        addresses = [log] if isinstance(log, str) else log
        run = command("graphtide", "run", *addresses, "--state", state)
        click.echo(line("next", run, wrap=False))
    left = [each for each in found if each.fault]
    if left:
        again = command("graphtide", "requeue", state)
        without = command("--forget", left[0].what.removeprefix("file "))
        msg = (
            f"{counted(len(left), 'thing')} of {len(found):,} in {directory.path}/quarantine "
            f"cannot be taken in yet; correct what is there, then {again}; or, to leave "
            f"{left[0].what} out for good, {again} {without}"
        )
        raise StateError(msg)


def _lines(found: list[Requeued]) -> Iterator[str]:
    if not found:
        yield "nothing to do: no row or file is left out"
    for each in found:
        if each.fault:
            yield line("left out", f"{each.what}: {each.fault}")
        elif each.is_forgotten:
            yield line("forgotten", f"{each.what}: it stays left out")
        elif each.path is None:
            yield line("done", f"{each.what}: no row is left of it")
        else:
            rows = f", {counted(each.rows, 'row')}" if each.rows else ""
            yield line("requeued", f"{each.what}{rows}")
            yield line("", each.path, wrap=False)
            if not each.is_in_log:
                yield line("", "put this file into the log, under a name after all others; or, if")
                yield line("", "it is a table, append these rows to it")

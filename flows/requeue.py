"""``graphtide requeue``: mended rows and files come back, at the end of the log."""

from collections.abc import Iterator

import click

from ..gpu_core.errors import StateError
from ..io.state import StateDirectory, address_text
from ..pipeline.requeue import Requeued, requeue
from .text import counted, line


def requeue_rows(state: str) -> None:
    """Take in what is mended; end with an error where something is not."""
    directory = StateDirectory(state)
    found = requeue(directory)
    for text in _lines(found):
        click.echo(text)
    if any(each.path for each in found):
        log = address_text(directory.settings().log_address)
        click.echo(line("next", f"graphtide run {log} --state {state}", wrap=False))
    left = sum(bool(each.fault) for each in found)
    if left:
        msg = (
            f"{counted(left, 'thing')} of {len(found):,} in {directory.path}/quarantine cannot be "
            f"taken in as it is; mend it, then graphtide requeue {state}"
        )
        raise StateError(msg)


def _lines(found: list[Requeued]) -> Iterator[str]:
    if not found:
        yield "nothing to do: no row or file is left out"
    for each in found:
        if each.fault:
            yield line("left out", f"{each.what}: {each.fault}")
        elif each.path is None:
            yield line("done", f"{each.what}: no row is left of it")
        else:
            rows = f", {counted(each.rows, 'row')}" if each.rows else ""
            yield line("requeued", f"{each.what}{rows}")
            yield line("", each.path, wrap=False)
            if not each.is_in_log:
                yield line("", "put this file into the log, under a name after all others; or, if")
                yield line("", "it is a table, append these rows to it")

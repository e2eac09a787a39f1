"""``graphtide verify``: whether a state is what its log comes to."""

import json
from collections.abc import Iterator
from dataclasses import asdict

import click

from ...gpu_core.errors import StateError
from ...gpu_core.printable import counted
from ...io.state.directory import StateDirectory
from ...pipeline.verify import Proof, verify_state
from ..printing.activity import Activity
from ..printing.text import duration, line


def show_proof(state: str, *, engine: str | None, layout: str | None, as_json: bool) -> None:
    """Print what was compared; end with an error where not all of it was, or did not agree."""
    with Activity("reading the checkpoints …") as activity:
        proof = verify_state(
            StateDirectory(state),
            engine=engine,
            layout=layout,
            on_batch=lambda done, batches: activity.now(f"batch {done:,}/{batches:,}"),
        )
    if as_json:
        click.echo(
            json.dumps({"state": state, "is_proven": proof.is_whole, **asdict(proof)}, indent=1)
        )
    else:
        for text in _lines(state, proof):
            click.echo(text)
    if proof.first_difference is not None:
        msg = f"state {state} is not what its log comes to: {_difference_text(proof)}"
        raise StateError(msg)
    if proof.unproven:
        msg = (
            f"state {state} agrees with its log as far as that could be compared, which is not all"
        )
        raise StateError(msg)


def _lines(state: str, proof: Proof) -> Iterator[str]:
    yield line("state", state, wrap=False)
    yield line(
        "rebuilt",
        f"{counted(proof.replayed, 'batch')} of {proof.batches:,}, "
        f"{counted(proof.rows, 'row')} in {duration(proof.seconds)} "
        f"(layout {proof.layout}, engine {proof.engine})",
    )
    yield line("reports", f"{counted(proof.reports, 'batch')} as reported")
    ids = ", ".join(map(str, proof.checkpoints)) or "none"
    yield line("hashes", f"the same at the checkpoints of batches: {ids}")
    for text in proof.notes:
        yield line("note", text)
    for text in proof.unproven:
        yield line("unproven", text)
    if proof.first_difference is not None:
        yield line("differs", _difference_text(proof))
    yield line("proven", "yes" if proof.is_whole else "no")


def _difference_text(proof: Proof) -> str:
    before = f", and was right after batch {proof.checkpoints[-1]}" if proof.checkpoints else ""
    return f"the first batch that differs is {proof.first_difference}: {proof.difference}{before}"

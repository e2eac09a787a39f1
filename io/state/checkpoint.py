"""Checkpoints: the whole graph after a batch, from which a later run goes on.

::

    STATE/checkpoints/batch=<id>/…    the graph as files (``graph_folder.py``)

The manifest also has the watermark, the settings of the graph, and how the log was cut.

Half a checkpoint has no name of its own (``durable.py``). The newest whole one counts; others are
skipped with a note. Whether it is whole is checked whenever a checkpoint is looked for. When a
graph is made of it, its state hash is compared too, which takes about a third of the time of making
it. The newest two checkpoints are kept, or as many as the writer says, and older ones go after a
new one is in place.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ...gpu_core.errors import StateError
from ..durable import new_folder, remove_folder
from ..log.plan import BatchPlan
from .batch_names import padded_id
from .directory import StateDirectory
from .graph_folder import MANIFEST, check_graph, read_graph, write_graph

#: Checkpoints that are kept where the writer does not say.
KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint: its checksums have been compared."""

    #: The graph is the one after this batch.
    batch_id: int
    path: Path
    #: ``format``, ``watermark``, ``graphtide``, ``state_hash``, ``files``, what the writer added.
    manifest: dict[str, Any]

    @property
    def boundary(self) -> int:
        """First batch that is not in it."""
        return self.batch_id + 1

    @property
    def state_hash(self) -> str:
        """`DynamicGraph.state_hash` of the graph in it."""
        return str(self.manifest["state_hash"])

    def check_plan(self, plan: BatchPlan) -> None:
        """Raise `StateError` where its batches are not the first ones of ``plan``."""
        # Those of an older graphtide do not keep how their files were cut.
        cut = self.manifest.get("plan", plan.cut_hash(self.boundary))
        if self.boundary > len(plan.batches) or cut != plan.cut_hash(self.boundary):
            msg = (
                f"the plan in {self.path.parents[1] / 'plan'} is not the one that checkpoint "
                f"{self.path.name} was made by; restore it, or start over with another --state"
            )
            raise StateError(msg)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Read the arrays, by the names of ``DynamicGraph.checkpoint_arrays``."""
        return read_graph(self.path, "run again to use another one")


def write_checkpoint(
    state: StateDirectory,
    batch_id: int,
    arrays: Mapping[str, npt.NDArray[Any]],
    state_hash: Callable[[], str],
    manifest_extra: Mapping[str, Any] | None = None,
    keep: int | None = KEPT,
) -> Checkpoint:
    """Write a checkpoint, whole or not at all, then remove older ones.

    Parameters
    ----------
    state
        State that the caller has locked.
    batch_id
        The batch after which the graph was copied; the watermark.
    arrays
        From ``DynamicGraph.checkpoint_arrays``.
    state_hash
        Gives the state hash of the graph. Called in a thread of its own, while the files are
        written.
    manifest_extra
        Plain values to keep with it: settings, counts.
    keep
        Number of checkpoints that remain, this one among them; None: all.
    """
    path = state.checkpoint(batch_id)
    facts = {**(manifest_extra or {}), "watermark": batch_id}
    with new_folder(path) as folder:
        manifest = write_graph(folder, arrays, state_hash, facts)
    _remove_older(state, batch_id, keep)
    return Checkpoint(batch_id, path, manifest)


def check_state_hash(found: str, expected: str, batch_id: int) -> None:
    """Raise `StateError` where the graph made of the checkpoint of a batch is not the one written.

    Parameters
    ----------
    found
        `DynamicGraph.state_hash` of the graph that was made.
    expected
        `Checkpoint.state_hash`.
    """
    if found != expected:
        msg = (
            f"the graph in checkpoint batch={padded_id(batch_id)} has the state hash {found}, but "
            f"its {MANIFEST} says {expected}; move that folder out of the state to go on from the "
            f"checkpoint before it"
        )
        raise StateError(msg)


#: As `check_checkpoint`.
CheckpointCheck = Callable[[StateDirectory, int], tuple[Checkpoint | None, str]]


def check_checkpoint(state: StateDirectory, batch_id: int) -> tuple[Checkpoint | None, str]:
    """Read a checkpoint whole; returns it, or None and what is wrong with it.

    That is a part of a sentence, which names it; empty where it was removed meanwhile.
    """
    path = state.checkpoint(batch_id)
    manifest, fault = check_graph(
        path, {"watermark": batch_id}, must_have_hash=state.must_have_hashes
    )
    if not fault:
        return Checkpoint(batch_id, path, manifest), ""
    return None, f"checkpoint {path} is broken ({fault})" if path.exists() else ""


def newest_checkpoint(
    state: StateDirectory,
    notes: list[str] | None = None,
    *,
    at_most: int | None = None,
    check: CheckpointCheck = check_checkpoint,
) -> Checkpoint | None:
    """Find the newest whole checkpoint; None where there is none.

    Parameters
    ----------
    state
        The state; it need not be locked.
    notes
        Gets one sentence for each broken checkpoint that was skipped.
    at_most
        The newest one after this batch or an earlier one; None: of all.
    check
        What looks at each.
    """
    return next(whole_checkpoints(state, notes, at_most=at_most, check=check), None)


def whole_checkpoints(
    state: StateDirectory,
    notes: list[str] | None = None,
    *,
    at_most: int | None = None,
    check: CheckpointCheck = check_checkpoint,
) -> Iterator[Checkpoint]:
    """Find all whole checkpoints, the newest first; arguments as of `newest_checkpoint`.

    Each is looked at, which reads its files whole, when it is asked for.
    """
    skipped: set[int] = set()
    while True:
        # A reader may be overtaken by a writer that removes old checkpoints, so look again.
        ids = [
            each
            for each in state.checkpoint_ids()
            if each not in skipped and (at_most is None or each <= at_most)
        ]
        if not ids:
            return
        checkpoint, fault = check(state, ids[-1])
        if checkpoint is not None:
            at_most = ids[-1] - 1
            yield checkpoint
            continue
        skipped.add(ids[-1])
        if fault and notes is not None:
            notes.append(f"{fault} and was skipped")


def _remove_older(state: StateDirectory, newest: int, keep: int | None) -> None:
    """Remove all but the newest ``keep``, and what a broken newer one left."""
    ids = state.checkpoint_ids()
    # The graph came from the newest whole checkpoint, so any after this batch was found broken.
    older = [each for each in ids if each <= newest]
    # The oldest first: a run that is killed meanwhile leaves no gap among those that are kept.
    for each in sorted({*ids} - {*older[-(keep or len(older)) :]}):
        remove_folder(state.checkpoint(each))

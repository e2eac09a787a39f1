"""What a state holds in the end, as far as it must not depend on what happened on the way."""

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

from graphtide.gpu_core.report import BatchReport
from graphtide.io.state.batch_summary import read_summary
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import LOCK, StateDirectory
from graphtide.io.state.reports import read_reports

from .forked import Ended

#: In the sentence of an error that is none of the package's own.
NOBODY_THOUGHT_OF_IT = "--debug shows where"

#: What a report tells of rows and graph; the others tell how memory stands and how long it took.
_COUNTED = (
    "batch_id", "rows", "quarantined", "dropped", "overridden", "missing", "inserted", "updated",
    "deleted", "edges_added", "edges_removed", "vertices_created", "vertices_removed",
    "num_vertices", "num_edges", "weights_rounded", "source", "expired",
)  # fmt: skip

_UNCOUNTED = (
    "pages_used", "pages_free", "largest_free_run", "page_bytes",
    "rows_moved", "rows_appended", "rows_merged", "seconds", "effects",
)  # fmt: skip
assert {*_COUNTED, *_UNCOUNTED} == set(BatchReport._fields), "a new field: what is it?"


@dataclass(frozen=True)
class Outcome:
    """The end of a run; two are equal, or something was lost, doubled or wrong."""

    #: Batches, vertices, edges and state hash of the newest whole checkpoint.
    graph: tuple[object, ...]
    #: The counts of each report, one a batch.
    reports: tuple[object, ...]
    #: Name -> hash of each file of results, and of rows that were left out.
    results: dict[str, str]
    quarantine: dict[str, str]
    #: What is left of writers, and has no business in a state that no run is at.
    leftovers: tuple[str, ...]


def outcome_of(state: Path) -> Outcome:
    """Read a state; a damaged one raises `StateError`."""
    directory = StateDirectory(state)
    newest = newest_checkpoint(directory)
    graph: tuple[object, ...] = ()
    if newest is not None:
        newest.arrays()
        manifest = newest.manifest
        graph = (
            newest.boundary, manifest["num_vertices"], manifest["num_edges"], newest.state_hash,
        )  # fmt: skip
    reports = tuple(
        tuple(getattr(report, name) for name in _COUNTED) for report in read_reports(directory)
    )
    leftovers = [name for name in files_of(state) if ".tmp" in name or name == "running.json"]
    return Outcome(
        graph,
        reports,
        _results(directory),
        _hashes(state / "quarantine"),
        tuple(leftovers),
    )


def difference(found: Outcome, expected: Outcome) -> str:
    """In which part two outcomes differ first; nothing where they are equal."""
    for field in fields(Outcome):
        ours, theirs = (getattr(each, field.name) for each in (found, expected))
        if ours != theirs:
            return f"{field.name} differ: {_first(ours, theirs)}"
    return ""


def _first(ours: object, theirs: object) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = sorted(n for n in ours.keys() | theirs.keys() if ours.get(n) != theirs.get(n))
        missing = [name for name in names if name not in ours]
        added = [name for name in names if name not in theirs]
        return f"missing {missing}, too many {added}, all that differ {names}"
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        pairs = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
        return f"{len(ours)} and {len(theirs)}, first {pairs[:1]}"
    return f"{ours} and {theirs}"


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but the lock, which names the process that held it last."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LOCK
    }


def _results(state: StateDirectory) -> dict[str, str]:
    """Hashes of results; of their summary, without seconds, and however its rows are grouped."""
    found = _hashes(state.path / "results")
    found = {name: each for name, each in found.items() if not name.startswith("summary/")}
    for name, column in read_summary(state).columns.items():
        if not name.endswith("_seconds"):
            found[f"summary, {name}"] = hashlib.sha256(column.tobytes()).hexdigest()[:16]
    return found


def _hashes(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest()[:16] for name, data in files_of(folder).items()}


def fault_of_refusal(ended: Ended, statuses: tuple[int, ...] = (1, 2)) -> str:
    """What is wrong with the end of a command that did not do what it was asked; "": nothing."""
    if ended.status not in statuses:
        return f"status {ended.status} rather than one of {statuses}: {ended.stderr[-2000:]!r}"
    if ended.stderr.count("\n") != 1 or not ended.stderr.startswith("graphtide"):
        return f"not one sentence on standard error: {ended.stderr[-3000:]!r}"
    if "Traceback" in ended.stderr + ended.stdout or NOBODY_THOUGHT_OF_IT in ended.stderr:
        return f"an error that nobody thought of: {ended.stderr[-2000:]!r}"
    return ""

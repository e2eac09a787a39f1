"""Logs and states of every kind, and what one process does to them without a cluster.

==============  =================================================================================
step            what is done to a state of a log
==============  =================================================================================
``run``         what is new in the log is applied, with checkpoints, reports, rows left out
``requeue``     rows and a file that were left out, and are mended, are taken in
``export``      edges and vertices are written over those that are there
``save``        a graph is saved over one that is there
==============  =================================================================================

Not here: what happens to them meanwhile (``alone.py``).
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graphtide import DynamicGraph
from graphtide.io.interchange.edge_lists import export_edges, export_vertices
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.state.checkpoint import KEPT, newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.quarantine import Quarantine
from graphtide.pipeline.replay import PastGraphs
from graphtide.pipeline.requeue import requeue
from made_state import apply_log

from .logs import BATCH_ROWS, CHECKPOINT_EVERY, FILES, KINDS, ROWS
from .outcomes import files_of, outcome_of


@dataclass(frozen=True)
class Scene:
    """One kind of log and state."""

    settings: dict[str, Any]
    #: Folder of the log, number of the file -> the file is written there.
    write: Callable[[Path, int], None]
    steps: tuple[str, ...] = ("run", "run", "export", "save")
    #: Column of the quarantine -> value that mends its rows; empty: none are left out.
    mend: dict[str, Any] = field(default_factory=dict)
    #: Whether the files of the log carry checksums.
    is_checked: bool = True


def _of_kind(name: str) -> Callable[[Path, int], None]:
    return lambda log, number: _ignore(KINDS[name].write(log, number))


def _ignore(_: object) -> None:
    pass


def _write_properties(log: Path, number: int) -> None:
    draw = np.random.default_rng(number)
    is_edge = draw.random(ROWS) > 0.05
    values = draw.normal(size=ROWS)
    table = pa.table(
        {
            "op": pa.array(draw.choice([1, 1, 1, -1], ROWS), pa.int8()),
            "src": pa.array(draw.integers(0, 60, ROWS)),
            "dst": pa.array(draw.integers(0, 60, ROWS), mask=~is_edge),
            "amount": pa.array(values, mask=~is_edge),
            "channel": pa.array(draw.integers(-9, 9, ROWS), pa.int16(), mask=~is_edge),
            "score": pa.array(values, mask=is_edge),
        }
    )
    write_log_file(str(log / f"{number:04d}.parquet"), table)


def _write_names(log: Path, number: int) -> None:
    draw = np.random.default_rng(number)
    src, dst = (pa.array([f"v{each}" for each in ends]) for ends in draw.integers(0, 60, (2, ROWS)))
    op = pa.array(draw.choice([1, 1, 1, -1], ROWS), pa.int8())
    write_log_file(str(log / f"{number:04d}.parquet"), pa.table({"op": op, "src": src, "dst": dst}))


def _write_version(table: Path, number: int) -> None:
    """One more version of a Delta table, which appends a file."""
    draw = np.random.default_rng(number)
    src, dst = draw.integers(0, 60, (2, ROWS))
    (table / "_delta_log").mkdir(exist_ok=True)
    path = table / f"part-{number}.parquet"
    pq.write_table(pa.table({"src": src, "dst": dst}), path)
    columns = [
        {"name": each, "type": "long", "nullable": True, "metadata": {}} for each in ("src", "dst")
    ]
    schema = json.dumps({"type": "struct", "fields": columns})
    begin: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "0", "format": {"provider": "parquet", "options": {}},
                "schemaString": schema, "partitionColumns": [], "configuration": {},
            }
        },
    ]  # fmt: skip
    added = {
        "path": path.name, "partitionValues": {}, "size": path.stat().st_size,
        "modificationTime": 0, "dataChange": True,
    }  # fmt: skip
    actions = [*(begin if number == 0 else ()), {"add": added}]
    lines = "".join(json.dumps(each) + "\n" for each in actions)
    (table / f"_delta_log/{number:020}.json").write_text(lines)


_QUARANTINED: dict[str, Any] = {"directed": False, "bad_rows": "quarantine"}

SCENES = {
    "plain, three checkpoints": Scene({"keep_checkpoints": 3}, _of_kind("parquet")),
    "dense, all checkpoints": Scene(
        {"records": "semantic", "ids": "dense", "keep_checkpoints": "all"}, _of_kind("json"),
        is_checked=False,
    ),
    "weighted, rows left out": Scene(
        {"records": "weighted", **_QUARANTINED}, _of_kind("csv"),
        ("run", "requeue", "requeue", "requeue"), {"op": "insert"}, is_checked=False,
    ),
    "semantic, rows left out": Scene(
        {"records": "semantic", **_QUARANTINED}, _of_kind("semantic"),
        ("run", "requeue", "requeue", "requeue"), {"src": 5},
    ),
    "window": Scene(
        {"records": "semantic", "time_window": "700", **_QUARANTINED}, _of_kind("semantic"),
        ("run", "run", "requeue", "export"), {"src": 5},
    ),
    "properties": Scene(
        {
            "properties": {"amount": "float64", "channel": "int16"},
            "vertex_properties": {"score": "float32"}, "directed": False,
        },
        _write_properties,
    ),
    "maintained": Scene(
        {
            "maintain": ["clustering", "pagerank", "weakly_connected_components"],
            "directed": False,
        },
        _of_kind("parquet"),
    ),
    "maintained, directed": Scene(
        {"maintain": ["clustering"], "clustering": {"directed": "ldbc"}}, _of_kind("parquet")
    ),
    "names": Scene({"ids": "string"}, _write_names),
    "versions of a table": Scene({"directed": False}, _write_version, is_checked=False),
}  # fmt: skip


class Stage:
    """A folder with ``log``, ``state`` and ``out``, in which a step is done.

    Parameters
    ----------
    folder
        Where they are.
    scene
        Kind of log and state.
    step
        One of its steps.
    files
        Files of the log that are applied before.
    """

    def __init__(self, folder: Path, scene: Scene, step: str, files: int) -> None:
        self.folder, self.scene, self.step, self.files = folder, scene, step, files
        self.log, self.state, self.out = folder / "log", folder / "state", folder / "out"

    def begin(self) -> None:
        """Make log and state, and what the step is to write over."""
        self.log.mkdir(parents=True)
        self.out.mkdir()
        for number in range(self.files):
            self.scene.write(self.log, number)
        if self.step == "requeue":
            (self.log / "0001x.parquet").write_bytes(b"not yet")
        if self.files:
            self._apply()
        for number in range(self.files, FILES):
            self.scene.write(self.log, number)
        if self.step == "requeue":
            self._mend()
        if self.step in ("export", "save"):
            self._write(DynamicGraph.from_edges([1, 2], [2, 3]))

    def _apply(self) -> None:
        settings = {"batch_rows": BATCH_ROWS, **self.scene.settings}
        apply_log(self.log, self.state, CHECKPOINT_EVERY, **settings)

    def _mend(self) -> None:
        left_out = Quarantine(StateDirectory(self.state))
        for path in left_out.waiting().values():
            table = left_out.read(path)
            for name, value in self.scene.mend.items():
                column = pa.array([value] * table.num_rows, table.schema.field(name).type)
                table = table.set_column(table.column_names.index(name), name, column)
            pq.write_table(table, path)
        # A whole file in the place of the one that was none.
        end = next(path.suffix for path in self.log.glob("0000.*"))
        path = self.log / f"0000{end}"
        if end == ".parquet":
            shutil.copy(path, self.log / "0001x.parquet")
        else:
            (self.log / "0001x.parquet").unlink()

    def do(self) -> None:
        """Do the step."""
        match self.step:
            case "run":
                self._apply()
            case "requeue":
                requeue(StateDirectory(self.state))
            case _:
                self._write(self._past().after_newest())

    def _write(self, graph: DynamicGraph) -> None:
        out = self.out
        if self.step == "save":
            graph.save(out / "saved")
        else:
            export_edges(graph, str(out / "edges.parquet"))
            export_vertices(graph, str(out / "vertices.csv"))

    def _past(self) -> PastGraphs:
        return PastGraphs(StateDirectory(self.state))

    def look(self) -> None:
        """Readers find the old or the new, whatever there is."""
        if self.step == "save":
            DynamicGraph.load(self.out / "saved")
        elif self.step == "export":
            pq.read_table(self.out / "edges.parquet")
        else:
            state = StateDirectory(self.state)
            if state.exists() and newest_checkpoint(state) is not None:
                past = self._past()
                past.after(past.newest)

    def do_all(self) -> dict[str, Any]:
        """Do the step, then run; gives what all has come to, in plain values."""
        self.do()
        self._apply()
        return self.outcome()

    def outcome(self) -> dict[str, Any]:
        """What log, state and what was written hold, as far as it must not depend on the way."""
        outcome = outcome_of(self.state)
        past = self._past()
        graph = past.after_newest()
        if graph.maintained:
            graph.audit()
        return {
            "graph": list(outcome.graph),
            "reports": [list(each) for each in outcome.reports],
            "quarantine": outcome.quarantine,
            "leftovers": list(outcome.leftovers),
            "checkpoints": self._kept_checkpoints(),
            "graph after batch 2": past.after(2).state_hash(),
            "log": _hashes(self.log),
            "out": _hashes(self.out),
        }

    def _kept_checkpoints(self) -> list[int]:
        """Those that must be there; a writer that died may have left older ones for the next."""
        kept = self.scene.settings.get("keep_checkpoints", KEPT)
        ids = StateDirectory(self.state).checkpoint_ids()
        return ids if kept == "all" else ids[-kept:]


def _hashes(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files_of(folder).items()}

"""A small log of inserts and deletes for runs, and the graph that it comes to."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.state.batch_summary import read_summary
from graphtide.io.state.directory import StateDirectory

ROWS = 1_000
FILES = 3
BATCH_ROWS = 50
BATCHES = FILES * ROWS // BATCH_ROWS

#: Few enough edges that repeats and deletes of what is there are common.
VERTICES = 60

#: Both ways of the hand-over.
WAYS = pytest.mark.parametrize("handover", ["dask", "ring"])


def rows_of(seed: int, rows: int = ROWS) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "op": random.choice(np.array([1, 1, 1, -1], np.int8), rows),
        "src": random.integers(0, VERTICES, rows),
        "dst": random.integers(0, VERTICES, rows),
    }


def write_file(log: Path, number: int, columns: dict[str, Any] | pa.Table | None = None) -> None:
    log.mkdir(exist_ok=True)
    table = pa.table(rows_of(number) if columns is None else columns)
    write_log_file(str(log / f"{number:04d}.parquet"), table)


def expected_hash(files: int = FILES, **arguments: Any) -> str:
    """The graph of the log, by the library alone, in one batch."""
    graph = DynamicGraph(**arguments)
    columns = [rows_of(number) for number in range(files)]
    op, src, dst = (np.concatenate([each[name] for each in columns]) for name in columns[0])
    graph.apply(UpdateBatch.from_rows(op, src, dst, **arguments))
    return graph.state_hash()


def results_below(state: Path) -> dict[str, Any]:
    """Results of a state, but the seconds that its summary tells, and how its rows are grouped."""
    found: dict[str, Any] = dict(files_below(state / "results"))
    found = {name: each for name, each in found.items() if not name.startswith("summary/")}
    summary = read_summary(StateDirectory(state)).columns
    for name, column in summary.items():
        if not name.endswith("_seconds"):
            found[f"summary, {name}"] = column.tobytes()
    return found


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, to see that nothing changed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

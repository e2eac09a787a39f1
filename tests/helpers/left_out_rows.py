"""Logs with bad rows and files, and what a state has left out of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from graphtide.io.log.log_writer import write_log_file
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.quarantine import Quarantine
from graphtide.io.state.reports import read_reports

#: Settings of the graph and of its batches; the rows below are seven bad ones in three batches.
BATCH_ROWS = 4
KIND: dict[str, Any] = {"records": "semantic", "batch_rows": BATCH_ROWS}

#: (op, src, dst, weight, ts, reason): rows of one file, most of them bad, each in its own way.
ROWS = [
    ("insert", 1, 2, 1.0, 10, None),
    ("insert", None, 2, 1.0, 10, "src is null"),
    ("upsert", 3, 4, 1.0, 10, "op 'upsert' is unknown"),
    ("insert", 3, 4, float("nan"), 10, "weight nan is not a finite number"),
    ("insert", 5, 6, 1.0, None, "ts is null on a row that inserts an edge"),
    ("insert", 7, None, 2.0, 10, "weight is set on a vertex row"),
    (None, 7, 8, 1.0, 10, "op is null"),
    ("insert", 7, 8, 1e39, 10, "weight 1e+39 overflows float32"),
    ("insert", 8, 9, 1.0, 11, None),
    ("delete", 1, 2, None, None, None),
]


def write_bad_file(log: Path, name: str = "0.parquet") -> None:
    """Write `ROWS` as a file of a log."""
    log.mkdir(exist_ok=True)
    op, src, dst, weight, ts, _ = zip(*ROWS, strict=True)
    table = pa.table(
        {
            "op": pa.array(op),
            "src": pa.array(src, pa.int64()),
            "dst": pa.array(dst, pa.int64()),
            "weight": pa.array(weight, pa.float64()),
            "ts": pa.array(ts, pa.int64()),
        }
    )
    write_log_file(str(log / name), table)


def write_edges(log: Path, name: str, first: int, **arguments: Any) -> None:
    """Write a file of eight good rows, whose sources are ``first`` and the ids after it."""
    log.mkdir(exist_ok=True)
    ids = list(range(first, first + 8))
    columns = {"src": ids, "dst": [each + 1 for each in ids], "ts": ids}
    write_log_file(str(log / name), pa.table(columns), **arguments)


def quarantined(state: Path) -> list[tuple[str, int, str]]:
    """File, row and reason of each row that a state has left out."""
    found = []
    for path in Quarantine(StateDirectory(state)).waiting().values():
        table = pq.read_table(path, partitioning=None).select(["file", "row", "reason"])
        found += [tuple(row.values()) for row in table.to_pylist()]
    return found


def reports_of(state: Path) -> list[tuple[int, int]]:
    """Rows of each batch, and how many of them were left out."""
    return [(each.rows, each.quarantined) for each in read_reports(StateDirectory(state))]


def mended(state: Path, batch_id: int, change: Any) -> None:
    """Edit what was left out of a batch as a user would, with pandas."""
    path = Quarantine(StateDirectory(state)).waiting()[batch_id]
    change(pq.read_table(path, partitioning=None).to_pandas()).to_parquet(path, index=False)

"""The logs that are run: small, and between them every format, kind of record and policy.

A `Kind` writes the files of a log by number. Numbers from `MENDED` on write what stands in for the
last file once it is mended.
"""

import csv
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphtide.io.log.log_writer import write_log_file

FILES = 4
ROWS = 450
BATCH_ROWS = 150
#: Batches of the whole log.
BATCHES = FILES * ROWS // BATCH_ROWS
CHECKPOINT_EVERY = 2

#: The last file, mended: fewer, as many, or more rows.
MENDED = {FILES: 70, FILES + 1: ROWS, FILES + 2: 2 * ROWS + 7}


@dataclass(frozen=True)
class Kind:
    """One kind of log, with the settings of its runs."""

    name: str
    ending: str
    #: Words of ``graphtide run``.
    flags: tuple[str, ...]
    #: Number and rows of a file -> its columns; None stands for no value.
    columns: Callable[[int, int], dict[str, Any]]
    #: Of a file.
    rows: int = ROWS
    #: How its runs cut it; results come where a file ends.
    batch_rows: int = BATCH_ROWS
    checkpoint_every: int = CHECKPOINT_EVERY

    @property
    def results_every(self) -> int:
        """The batches of a file: a run ends with results, also where files are added afterwards."""
        return self.rows // self.batch_rows

    def write(self, log: Path, number: int, place: int | None = None) -> Path:
        """Write a file of the log, at its own place or at that of another one."""
        log.mkdir(exist_ok=True)
        path = log / f"{number if place is None else place:04d}{self.ending}"
        columns = self.columns(number, MENDED.get(number, self.rows))
        _WRITERS[self.ending](path, columns)
        return path

    @property
    def last(self) -> str:
        """Name of the last file."""
        return f"{FILES - 1:04d}{self.ending}"


def _edges(number: int, rows: int, vertices: int = 60) -> tuple[np.random.Generator, Any]:
    draw = np.random.default_rng(number + 1)
    return draw, draw.integers(0, vertices, (2, rows))


def _plain(number: int, rows: int) -> dict[str, list[Any]]:
    """Ids that no array could be indexed by."""
    draw, (src, dst) = _edges(number, rows)
    wide = 1_000_000_007
    op = draw.choice([1, 1, 1, -1], rows)
    return {"op": op.tolist(), "src": (src * wide - 5).tolist(), "dst": (dst * wide - 5).tolist()}


def _weighted(number: int, rows: int) -> dict[str, list[Any]]:
    """One row in fifty breaks the contract."""
    draw, (src, dst) = _edges(number, rows)
    op = draw.choice(["insert", "insert", "delete"], rows).tolist()
    weight: list[Any] = (draw.integers(0, 16, rows) / 4).tolist()
    for row in draw.choice(rows, rows // 50, replace=False):
        op[row] = "perhaps"
    return {"op": op, "src": src.tolist(), "dst": dst.tolist(), "weight": weight}


def _semantic(number: int, rows: int) -> dict[str, list[Any]]:
    """Vertices come and go, too."""
    draw, (src, dst) = _edges(number, rows)
    ends: list[Any] = dst.tolist()
    kinds: list[Any] = draw.integers(0, 3, rows).tolist()
    weights: list[Any] = (draw.integers(0, 16, rows) / 4).tolist()
    for row in draw.choice(rows, rows // 20, replace=False):
        ends[row] = kinds[row] = weights[row] = None
    return {
        "op": draw.choice([1, 1, 1, -1], rows).tolist(),
        "src": src.tolist(),
        "dst": ends,
        "type": kinds,
        "weight": weights,
        "ts": (1000 * number + np.arange(rows)).tolist(),
    }


def _semantic_with_bad_rows(number: int, rows: int) -> dict[str, list[Any]]:
    columns = _semantic(number, rows)
    for row in np.random.default_rng(number + 99).choice(rows, 5, replace=False):
        columns["src"][row] = None
    return columns


def _large(number: int, rows: int) -> dict[str, Any]:
    """A graph of a million edges at most, so that checkpoints do not hold up the rows."""
    draw = np.random.default_rng(number)
    src = draw.integers(0, 65_536, rows)
    dst = (src * 48_271 + draw.integers(0, 16, rows) * 7_919) % 65_521
    op = draw.choice(np.array([1, 1, -1], np.int8), rows)
    return {"op": op, "src": src, "dst": dst}


_TYPES = {
    "op": pa.int8(), "src": pa.int64(), "dst": pa.int64(), "weight": pa.float64(),
    "type": pa.int32(), "ts": pa.int64(),
}  # fmt: skip


def _write_parquet(path: Path, columns: dict[str, Any]) -> None:
    arrays = {name: pa.array(values, _TYPES[name]) for name, values in columns.items()}
    write_log_file(str(path), pa.table(arrays))


def _write_csv(path: Path, columns: dict[str, list[Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_json(path: Path, columns: dict[str, list[Any]]) -> None:
    rows = zip(*columns.values(), strict=True)
    lines = [json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows]
    # Without the time of writing: the same rows are the same bytes.
    path.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


_WRITERS = {".parquet": _write_parquet, ".csv": _write_csv, ".jsonl.gz": _write_json}

KINDS = {
    kind.name: kind
    for kind in (
        Kind("parquet", ".parquet", (), _plain),
        Kind(
            "csv",
            ".csv",
            ("--undirected", "--records", "weighted", "--bad-rows", "quarantine"),
            _weighted,
        ),
        Kind("json", ".jsonl.gz", ("--records", "semantic", "--ids", "dense"), _semantic),
        Kind(
            "semantic",
            ".parquet",
            ("--undirected", "--records", "semantic", "--bad-rows", "quarantine"),
            _semantic_with_bad_rows,
        ),
    )
}

#: As many rows as keep a GPU at work for a while; not among those that cases draw from.
LARGE = Kind(
    "large", ".parquet", (), _large, rows=4_000_000, batch_rows=400_000, checkpoint_every=3
)

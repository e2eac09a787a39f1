"""Rate of conversion: log rows a second that one core makes an `UpdateBatch` of.

    python -m graphtide.flows.bench.scripts.conversion [--rows 1M,4M] [--repeats 9] [--csv FILE]

Prints one line a case with the median and the quartiles in million rows a second of

* ``arrays``   ``UpdateBatch.from_rows``, from NumPy columns,
* ``arrow``    ``io.log.conversion.table_to_batch``, from an Arrow table,
* ``file``     reading a Parquet file (zstd, DELTA_BINARY_PACKED) and converting it,
* ``validate`` ``UpdateBatch.validate``, which is no part of the others,

and, for the first case, the sorts that the conversion could be built on. Everything runs on
one core; repeats of all cases are interleaved, so that a busy machine is unfair to none. The copy
bandwidth of the run stands at the end.
"""

import csv
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graphtide import UpdateBatch
from graphtide.gpu_core.batch import serial_sort
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.durable import new_file
from graphtide.io.log.conversion import table_to_batch
from graphtide.io.log.row_origin import RowOrigin

from .measuring import CopyBandwidth, interleaved, machine_line, numbers, parser, quartiles

LIMITS = np.iinfo(np.int64)
SETTINGS: dict[str, Any] = {
    "directed": True,
    "records": "simple",
    "self_loops": "drop",
    "create_vertices": True,
}

#: Name of a case -> (ids, share of deletes, share of vertex rows, settings).
CASES: dict[str, tuple[str, float, float, dict[str, Any]]] = {
    "inserts, ids < 2^20": ("2^20", 0.0, 0.0, {}),
    "mixed, ids < 2^20": ("2^20", 0.3, 0.0, {}),
    "mixed, ids < 2^20, undirected": ("2^20", 0.3, 0.0, {"directed": False}),
    "mixed, ids < 2^20, weighted": ("2^20", 0.3, 0.0, {"records": "weighted"}),
    "mixed, ids < 2^20, semantic": ("2^20", 0.3, 0.0, {"records": "semantic"}),
    "mixed, ids < 2^20, 1 % vertex rows": ("2^20", 0.3, 0.01, {}),
    "mixed, R-MAT-like ids < 2^20": ("skewed", 0.3, 0.0, {}),
    "mixed, ids < 2^32": ("2^32", 0.3, 0.0, {}),
    "mixed, any int64": ("int64", 0.3, 0.0, {}),
    "mixed, 2^20 of any int64": ("pool", 0.3, 0.0, {}),
    "mixed, 2^20 of any int64, skewed": ("skewed pool", 0.3, 0.0, {}),
}


def columns_of(ids: str, deletes: float, vertex_rows: float, rows: int) -> dict[str, Any]:
    """Columns of a made-up log; ``dst`` is masked where a row is a vertex row."""
    rng = np.random.default_rng(20)
    pool = rng.integers(LIMITS.min, LIMITS.max, 1 << 20)
    # The product of uniform numbers: many rows on few vertices, as in follow graphs.
    skewed = (rng.random((2, rows)) * rng.random((2, rows)) ** 3 * (1 << 20)).astype(np.int64)
    ends = {
        "2^20": lambda: rng.integers(0, 1 << 20, (2, rows)),
        "2^32": lambda: rng.integers(0, 1 << 32, (2, rows)),
        "int64": lambda: rng.integers(LIMITS.min, LIMITS.max, (2, rows)),
        "pool": lambda: pool[rng.integers(0, 1 << 20, (2, rows))],
        "skewed": lambda: skewed,
        "skewed pool": lambda: pool[skewed],
    }[ids]()
    return {
        "op": np.where(rng.random(rows) < deletes, -1, 1).astype(np.int8),
        "src": np.ascontiguousarray(ends[0]),
        "dst": np.ascontiguousarray(ends[1]),
        "is_vertex": rng.random(rows) < vertex_rows,
        "weight": rng.random(rows, dtype=np.float32),
        "type": rng.integers(0, 9, rows).astype(np.int32),
        "ts": np.arange(rows, dtype=np.int64),
    }


def table_of(columns: dict[str, Any], records: str) -> pa.Table:
    """The columns that records of this kind need, as they come from a file."""
    vertex = columns["is_vertex"] if columns["is_vertex"].any() else None
    names = {"simple": (), "weighted": ("weight",), "semantic": ("weight", "type", "ts")}[records]
    table = {"op": pa.array(columns["op"]), "src": pa.array(columns["src"])}
    table["dst"] = pa.array(columns["dst"], mask=vertex)
    return pa.table(table | {name: pa.array(columns[name]) for name in names})


def write(table: pa.Table, path: Path) -> None:
    """Write as the project's own logs are written: what reads fastest."""
    delta = {name: "DELTA_BINARY_PACKED" for name in ("src", "dst", "type", "ts")}
    pq.write_table(
        table,
        path,
        row_group_size=len(table),
        compression="zstd",
        use_dictionary=False,
        column_encoding={n: e for n, e in delta.items() if n in table.column_names},
    )


def measures(name: str, rows: int, folder: Path) -> dict[str, Callable[[], Any]]:
    """The things to time for one case."""
    ids, deletes, vertex_rows, changes = CASES[name]
    settings = SETTINGS | changes
    columns = columns_of(ids, deletes, vertex_rows, rows)
    table = table_of(columns, settings["records"])
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    write(table, path)
    arguments = {key: columns[key] for key in ("op", "src", "dst", "weight", "type", "ts")}
    if vertex_rows:
        arguments["dst_valid"] = ~columns["is_vertex"]

    def from_table(table: pa.Table) -> UpdateBatch:
        meaning = row_meaning(**settings)
        return table_to_batch(table, meaning=meaning, origin=RowOrigin("log"), batch_id=0)

    batch = from_table(table)
    return {
        "arrays": lambda: UpdateBatch.from_rows(**arguments, **settings),
        "arrow": lambda: from_table(table),
        "file": lambda: from_table(
            pq.ParquetFile(path, memory_map=True).read_row_group(0, use_threads=False)
        ),
        "validate": batch.validate,
    }


def sorts(rows: int) -> dict[str, Callable[[], Any]]:
    """Ways to order the keys of the first case; `serial_sort` uses one of the first two."""
    columns = columns_of("2^20", 0.3, 0.0, rows)
    src, dst = columns["src"].astype(np.uint64), columns["dst"].astype(np.uint64)
    bits = np.uint64((rows - 1).bit_length() + 1)
    edges = (src << np.uint64(20)) | dst
    keys = (edges << bits) | (np.arange(rows, dtype=np.uint64) << np.uint64(1))
    spare = np.empty_like(keys)
    return {
        "radix sort": lambda: serial_sort.sort_by_radix(keys.copy(), spare, int(bits), 40),
        "numpy.sort": lambda: np.sort(keys),
        "numpy.argsort": lambda: np.argsort(edges),
        "numpy.argsort stable": lambda: np.argsort(edges, kind="stable"),
        "numpy.lexsort": lambda: np.lexsort((dst, src)),
    }


def main() -> None:
    """Time every case and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--rows", type=numbers, default="1M,4M")
    options = flags.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    print(machine_line("pyarrow"))
    bandwidth = CopyBandwidth()
    lines = []
    for rows in options.rows:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            calls = {
                (case, what): call
                for case in CASES
                for what, call in measures(case, rows, Path(folder)).items()
            }
            calls |= {("sorting alone", what): call for what, call in sorts(rows).items()}
            seconds = interleaved(calls, options.repeats)
            bandwidth.measure()
        for (case, what), taken in seconds.items():
            rate = quartiles(rows / each / 1e6 for each in taken)
            lines.append((rows, case, what, rate.median, rate.low, rate.high))
            print(f"{rows:>9,}  {case:<36} {what:<20} {rate}", flush=True)
    print(f"{bandwidth}; million rows a second, median (quartiles)")
    if options.csv:
        with new_file(options.csv) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("rows", "case", "what", "median", "low", "high"))
            writer.writerows(lines)


if __name__ == "__main__":
    main()

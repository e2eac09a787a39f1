"""Results and reports: what a run leaves for others to read.

::

    STATE/results/batch=<id>/pagerank.parquet    vertex int64, pagerank float64
    STATE/results/batch=<id>/clustering.parquet  vertex, degree, triangles int64, clustering float64
    STATE/batches/<first>-<last>.parquet         one row a batch: the fields of BatchReport

A run that goes on from a checkpoint applies the batches after it again, and writes their results
and reports again, in the same places or in other groups; the later ones count.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..gpu_core.errors import StateError
from ..gpu_core.report import STAGES, BatchReport
from .durable import new_file
from .state import StateDirectory, padded_id

PAGERANK = {"vertex": "int64", "pagerank": "float64"}
CLUSTERING = {"vertex": "int64", "degree": "int64", "triangles": "int64", "clustering": "float64"}


def write_pagerank(
    state: StateDirectory, batch_id: int, vertices: npt.ArrayLike, pagerank: npt.ArrayLike
) -> Path:
    """Write the PageRank of each vertex after a batch; gives the file."""
    path = state.results(batch_id) / "pagerank.parquet"
    _write(path, {"vertex": vertices, "pagerank": pagerank}, PAGERANK)
    return path


def write_clustering(
    state: StateDirectory,
    batch_id: int,
    vertices: npt.ArrayLike,
    degree: npt.ArrayLike,
    triangles: npt.ArrayLike,
    clustering: npt.ArrayLike,
) -> Path:
    """Write degree, triangles and local clustering of each vertex after a batch; gives the file."""
    path = state.results(batch_id) / "clustering.parquet"
    values = {
        "vertex": vertices,
        "degree": degree,
        "triangles": triangles,
        "clustering": clustering,
    }
    _write(path, values, CLUSTERING)
    return path


def result_files(state: StateDirectory, batch_id: int) -> dict[str, Path]:
    """Files of the results after a batch, by name of the analytic."""
    return {path.stem: path for path in sorted(state.results(batch_id).glob("*.parquet"))}


def write_reports(state: StateDirectory, reports: Sequence[BatchReport]) -> Path | None:
    """Write the reports of consecutive batches; gives the file, or None where there is none."""
    if not reports:
        return None
    first, last = reports[0].batch_id, reports[-1].batch_id
    if [report.batch_id for report in reports] != list(range(first, last + 1)):
        msg = f"the reports of batches {first} to {last} have gaps; keep each report that is made"
        raise StateError(msg)
    path = state.batches / f"{padded_id(first)}-{padded_id(last)}.parquet"
    rows = [report.as_dict() for report in reports]
    with new_file(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=_report_schema()), temporary)
    # What begins here or later is of a run that lost these batches before its checkpoint.
    for begins, _, other in _report_files(state):
        if begins >= first and other != path:
            other.unlink(missing_ok=True)
    return path


def read_reports(state: StateDirectory, first: int = 0) -> list[BatchReport]:
    """Read the reports of all batches from ``first`` on, in order."""
    reports: dict[int, BatchReport] = {}
    for _, last, path in _report_files(state):
        if last < first:
            continue
        try:
            rows = pq.read_table(path).to_pylist()
        except FileNotFoundError:
            continue  # a run has just written it anew, in another group
        except (pa.ArrowException, OSError) as error:
            msg = f"{path} cannot be read ({error}); remove it, its batches are not needed to go on"
            raise StateError(msg) from error
        for row in rows:
            if row["batch_id"] >= first:
                reports[row["batch_id"]] = _report(row)
    return [reports[batch_id] for batch_id in sorted(reports)]


def _report_files(state: StateDirectory) -> list[tuple[int, int, Path]]:
    """``(first batch, last batch, file)``, ordered."""
    found = []
    for path in state.batches.glob("*.parquet"):
        match = re.fullmatch(r"(\d+)-(\d+)", path.stem)
        if match:
            found.append((int(match[1]), int(match[2]), path))
    return sorted(found)


_COUNTS = tuple(name for name in BatchReport._fields if name != "seconds")


def _report_schema() -> pa.Schema:
    counts = [pa.field(name, pa.int64()) for name in _COUNTS]
    return pa.schema(counts + [pa.field(f"{stage}_seconds", pa.float64()) for stage in STAGES])


def _report(row: Mapping[str, Any]) -> BatchReport:
    seconds = {stage: row[f"{stage}_seconds"] for stage in STAGES if row[f"{stage}_seconds"]}
    # What was not counted yet when the file was written is 0.
    return BatchReport(**{name: row.get(name, 0) for name in _COUNTS}, seconds=seconds)


def _write(path: Path, values: Mapping[str, npt.ArrayLike], types: Mapping[str, str]) -> None:
    table = pa.table({name: np.ascontiguousarray(values[name], types[name]) for name in types})
    with new_file(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")

"""States made in this process, without a cluster, and the rows behind them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphtide import DynamicGraph
from graphtide.config.settings import load_settings
from graphtide.io.log.log_writer import write_log_file
from graphtide.pipeline.graph_worker.batches import AppliedBatch
from graphtide.pipeline.graph_worker.pinned import Copy
from graphtide.pipeline.opening import open_files
from graphtide.pipeline.tasks import load_batch
from oracles import ModelGraph, Row


def random_rows(seed: int, count: int, vertices: int = 25) -> list[Row]:
    """Inserts and deletes of edges and vertices, self loops and repeats among them."""
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        is_insert, is_vertex = draw.random() < 0.7, draw.random() < 0.08
        src, dst = (int(each) * 1_000_000_007 - 5 for each in draw.integers(0, vertices, 2))
        rows.append(
            Row(
                1 if is_insert else -1,
                src,
                None if is_vertex else dst,
                float(draw.integers(0, 8)) / 4,
                int(draw.integers(0, 3)),
                int(draw.integers(0, 1000)),
            )
        )
    return rows


def write_rows(log: Path, name: str, rows: Sequence[Row]) -> None:
    """Write one file of a log; columns that the records do not keep are not read."""
    log.mkdir(exist_ok=True)
    is_edge = [row.dst is not None for row in rows]

    def of_edges(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([v if e else None for v, e in zip(values, is_edge, strict=True)], kind)

    table = pa.table(
        {
            "op": pa.array([row.op for row in rows], pa.int8()),
            "src": pa.array([row.src for row in rows], pa.int64()),
            "dst": pa.array([row.dst for row in rows], pa.int64()),
            "weight": of_edges([row.weight for row in rows], pa.float64()),
            "type": of_edges([row.type for row in rows], pa.int32()),
            "ts": pa.array([row.ts for row in rows], pa.int64()),
        }
    )
    write_log_file(str(log / name), table)


def apply_log(
    log: Path | tuple[str, ...],
    state: Path,
    every: int,
    spoil: Callable[[int, DynamicGraph], None] = lambda _batch, _graph: None,
    **overrides: Any,
) -> None:
    """Apply what is not applied yet, with a checkpoint after every so many batches.

    ``spoil`` is called after each batch: an engine that errs.
    """
    settings = load_settings({"engine": "host", "analytics": [], **overrides})
    batch_rows = settings.batch_rows or 1 << 20
    address = log if isinstance(log, tuple) else str(log)
    with open_files(address, str(state), settings, batch_rows) as files:
        first, arrays = files.newest_graph()
        arguments = {
            **settings.graph.graph_arguments(),
            "time_unit": files.log.update_log.time_unit,
        }
        graph = (
            DynamicGraph(**arguments)
            if arrays is None
            else DynamicGraph.from_checkpoint_arrays(arrays, **arguments)
        )
        for name in settings.maintain:
            graph.maintain(name, **settings.parameters.get(name, {}))
        batches: list[AppliedBatch] = []
        window = files.newest_window()
        for batch_id in range(first, files.log.batches):
            loaded = load_batch(files.log.rows_of(batch_id), settings.graph.row_meaning())
            report = window.slide(graph, graph.apply(loaded.payload), loaded.times)
            report = report._replace(batch_id=batch_id)
            if loaded.left_out is not None:
                quarantined = loaded.left_out.rows
                report = report._replace(rows=report.rows + quarantined, quarantined=quarantined)
            batches.append(AppliedBatch(report, "here", loaded.sums, loaded.left_out))
            spoil(batch_id, graph)
            if (batch_id + 1) % every == 0 or batch_id + 1 == files.log.batches:
                copied = graph.checkpoint_arrays()
                copy = Copy(
                    copied, batches, graph.state_hash(),
                    graph.num_vertices, graph.num_edges, {}, window.kept(),
                )  # fmt: skip
                files.write_checkpoint(batch_id, copy, copied)
                batches = []


def model_after(files: Sequence[Sequence[Row]], batch_rows: int, batch: int, **kind: Any) -> Any:
    """The graph after a batch, row by row, of files that were cut into batches of so many rows."""
    model, left = ModelGraph(**kind), batch + 1
    for rows in files:
        for start in range(0, len(rows), batch_rows):
            if left:
                model.apply(rows[start : start + batch_rows])
                left -= 1
    assert left == 0, "there are not so many batches"
    return model

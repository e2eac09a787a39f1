"""Load the compiled kernels before the first batch needs them, on all workers at once.

A fresh process takes about a second to load kernels from the cache, and half a minute to compile
them the first time. Done while the cluster starts, no batch waits for another worker's share.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from ..gpu_core.batch import UpdateBatch
from ..gpu_core.batch_rows import name_of_row
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.packed_batch import pack
from ..gpu_core.raw_rows import raw_rows
from ..io.csr import table_to_batch

#: Enough for any way to keep these few rows; a GPU's memory pool keeps what was taken once.
_ARENA_BYTES = 4 << 20


def _rows() -> dict[str, np.ndarray]:
    """Inserts and deletes, with every column that records may keep."""
    number = np.arange(8, dtype=np.int64)
    return {
        "op": np.where(number % 4 == 3, -1, 1).astype(np.int8),
        "src": number % 3,
        "dst": number % 5 + 3,
        "weight": np.ones(8, np.float32),
        "type": np.zeros(8, np.int32),
        "ts": number,
    }


def warm_conversion(batch_arguments: dict[str, Any]) -> None:
    """Convert a few rows: what a CPU worker does to every batch."""
    table = pa.table(_rows())
    batch = table_to_batch(table, file="", first_row=0, batch_id=-1, **batch_arguments)
    # For a graph on a GPU; whether it is on one is not known yet.
    pack(batch, dense=True)


def warm_graph(graph_arguments: dict[str, Any], *, raw: bool = False) -> None:
    """Apply a few rows to a graph of the same kind: what the graph worker does to every batch.

    ``raw``: also as rows that a GPU converts, if the graph is on one.
    """
    small = {"arena_bytes": _ARENA_BYTES, "max_arena_bytes": None}
    graph = DynamicGraph(**{**graph_arguments, **small})
    kind: dict[str, Any] = {"directed": graph.directed, "records": graph.records, **_rows()}
    graph.apply(UpdateBatch.from_rows(**kind))
    graph.apply(UpdateBatch.from_rows(**{**kind, "op": -kind["op"]}))
    feed = graph.feed()
    if raw and feed is not None:
        # Inserted, then deleted by the same batch: what that leaves has kernels of its own.
        kind |= {name: np.concatenate([column, column]) for name, column in _rows().items()}
        kind |= {"op": np.repeat(np.array([1, -1], np.int8), kind["src"].size // 2)}
        kind |= {"self_loops": "drop", "create_vertices": True, "batch_id": -1}
        rows = raw_rows(**kind, dense=graph.ids == "dense", row_name=name_of_row)
        graph.apply(feed.send(rows))

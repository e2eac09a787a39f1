"""Load the compiled kernels before the first batch needs them, on all workers at once.

A fresh process takes about a second to load kernels from the cache, and half a minute to compile
them the first time. Done while the cluster starts, no batch waits for another worker's share.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from ..gpu_core.batch import UpdateBatch
from ..gpu_core.graph import DynamicGraph
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
    table_to_batch(pa.table(_rows()), file="", first_row=0, batch_id=-1, **batch_arguments)


def warm_graph(graph_arguments: dict[str, Any]) -> None:
    """Apply a few rows to a graph of the same kind: what the graph worker does to every batch."""
    small = {"arena_bytes": _ARENA_BYTES, "max_arena_bytes": None}
    graph = DynamicGraph(**{**graph_arguments, **small})
    kind: dict[str, Any] = {"directed": graph.directed, "records": graph.records, **_rows()}
    graph.apply(UpdateBatch.from_rows(**kind))
    graph.apply(UpdateBatch.from_rows(**{**kind, "op": -kind["op"]}))

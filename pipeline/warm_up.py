"""Load the compiled kernels, and take memory, before the first batch needs them, on all workers.

A fresh process takes about a second to load kernels from the cache, and half a minute to compile
them the first time. Fresh memory is slow too: converting the first 4 M rows took 84 to 140 ns a row
where later ones took 55 (Sapphire Rapids, pages of a virtual machine). So CPU workers convert a
made-up batch as large as those to come, while the graph worker starts.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from ..gpu_core.batch import UpdateBatch
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.packed_batch import pack
from ..io.csr import table_to_batch

#: Enough for any way to keep these few rows; a GPU's memory pool keeps what was taken once.
_ARENA_BYTES = 4 << 20


def _rows(count: int) -> dict[str, np.ndarray]:
    """Inserts and deletes, with every column that records may keep."""
    number = np.arange(count, dtype=np.int64)
    sources = count // 4 + 1
    return {
        "op": np.where(number % 4 == 3, -1, 1).astype(np.int8),
        # Scattered, and no self loops: those may be refused.
        "src": number * 0x9E3779B1 % sources,
        "dst": number * 0x85EBCA6B % sources + sources,
        "weight": np.ones(count, np.float32),
        "type": np.zeros(count, np.int32),
        "ts": number,
    }


def warm_conversion(batch_arguments: dict[str, Any], rows: int, *, dense: bool) -> None:
    """Convert and pack so many rows: what a CPU worker does to every batch."""
    table = pa.table(_rows(rows))
    batch = table_to_batch(table, file="", first_row=0, batch_id=-1, **batch_arguments)
    pack(batch, dense=dense)


def warm_graph(graph_arguments: dict[str, Any]) -> None:
    """Apply a few rows to a graph of the same kind: what the graph worker does to every batch."""
    small = {"arena_bytes": _ARENA_BYTES, "max_arena_bytes": None}
    graph = DynamicGraph(**{**graph_arguments, **small})
    kind: dict[str, Any] = {"directed": graph.directed, "records": graph.records, **_rows(8)}
    graph.apply(UpdateBatch.from_rows(**kind))
    graph.apply(UpdateBatch.from_rows(**{**kind, "op": -kind["op"]}))

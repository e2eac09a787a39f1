"""Load the compiled kernels, and take memory, before the first batch needs them, on all workers.

A fresh process takes about a second to load kernels from the cache, and half a minute to compile
them the first time. Fresh memory is slow too: converting the first 4 M rows took 84 to 140 ns a row
where later ones took 55 (Sapphire Rapids, pages of a virtual machine). So CPU workers convert a
made-up batch as large as those to come, while the graph worker starts. That one applies batches
that meet every kernel of an update, with a hub, and too large for the arena that they come to, and
copies the graph, as the end of a run does. A kernel that is first met in mid-run holds it up, for
10 ms if it was compiled before, for up to 3 s if not. CuPy's own count: beyond 512 * 512 items it
scans with one kernel more, which took the first batch of a fresh machine 0.1 to 0.2 s.
"""

from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from ..gpu_core.batch import UpdateBatch
from ..gpu_core.batch_rows import name_of_row
from ..gpu_core.errors import ArenaFullError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.packed_batch import pack, packed_rows
from ..gpu_core.raw_rows import raw_rows
from ..io.csr import convert_table, table_to_batch

#: The graph begins in so little, and may grow to so much; a GPU's memory pool keeps what was taken.
_ARENA_BYTES, _MAX_ARENA_BYTES = 1 << 20, 1 << 28

#: Rows that load every kernel of a conversion.
_FEW_ROWS = 16
#: Ids so far apart, which int32 holds yet, need 64 bits for an edge.
_FAR_APART = 1 << 26
#: Rows that load the kernels of an update: on a GPU all of them, so that the arena has to grow and
#: runs are handed out by many blocks, and more vertices and inserts than CuPy scans without a
#: kernel for sums of sums, 512 * 512; the host engine's few others load when they are first met.
_GPU_ROWS, _HOST_ROWS = 1 << 19, 1 << 10
#: One row in so many is of the hub.
_HUB_SHARE = 32


def _rows(count: int, hub_rows: int = 0) -> dict[str, np.ndarray]:
    """Inserts and deletes, with every column that records may keep."""
    number = np.arange(count, dtype=np.int64)
    sources = count // 4 + 1
    return {
        "op": np.where(number % 4 == 3, -1, 1).astype(np.int8),
        # Scattered, and no self loops: those may be refused. The last quarter has the edges of the
        # first again.
        "src": np.where(number < hub_rows, 0, number * 0x9E3779B1 % sources),
        "dst": number * 0x85EBCA6B % (3 * sources) + sources,
        "weight": np.ones(count, np.float32),
        "type": np.zeros(count, np.int32),
        "ts": number,
    }


def warm_conversion(
    batch_arguments: dict[str, Any],
    rows: int,
    *,
    dense: bool,
    raw: bool = False,
    id_types: frozenset[tuple[str, str]] = frozenset(),
) -> None:
    """Convert so many rows for a GPU, and a few for the host: what a CPU worker does to a batch.

    ``raw``: it only checks them, and converts a few. ``id_types``: of sources and destinations of
    the log. Each pair has kernels of its own, so only those that will be met are loaded.
    """
    arguments: dict[str, Any] = {"file": "", "first_row": 0, "batch_id": -1, **batch_arguments}
    few, many = _rows(_FEW_ROWS), pa.table(_rows(rows))
    convert_table(many, partial(raw_rows if raw else packed_rows, dense=dense), **arguments)
    # Where there are rows about vertices, all ids are widened.
    for (src_type, dst_type), spread in product({("int64", "int64"), *id_types}, (1, _FAR_APART)):
        ids = {"src": few["src"].astype(src_type), "dst": few["dst"].astype(dst_type)}
        table = pa.table({**few, **{name: each * spread for name, each in ids.items()}})
        for make in (packed_rows, raw_rows) if raw else (packed_rows,):
            convert_table(table, partial(make, dense=dense), **arguments)
        pack(table_to_batch(table, **arguments), dense=dense)


def warm_graph(graph_arguments: dict[str, Any], *, raw: bool = False) -> None:
    """Apply rows to a small graph of the same kind and copy it: what the graph worker does.

    ``raw``: also as rows that a GPU converts, if the graph is on one.
    """
    # No kernel depends on the size of a page, and of large ones many vertices take a lot.
    small = {"arena_bytes": _ARENA_BYTES, "max_arena_bytes": _MAX_ARENA_BYTES, "page_bytes": None}
    # The graph itself may have left too little memory: then its batches load what is left to load.
    with suppress(ArenaFullError):
        _apply_rows(DynamicGraph(**{**graph_arguments, **small}), raw=raw)


def _apply_rows(graph: DynamicGraph, *, raw: bool) -> None:
    feed = graph.feed()
    count = _HOST_ROWS if feed is None else _GPU_ROWS
    rows = _rows(count, count // _HUB_SHARE)
    kind: dict[str, Any] = {"directed": graph.directed, "records": graph.records, **rows}
    # A few first: an arena that grows before there is a row has none to move.
    few = {name: column[:: count // _FEW_ROWS] for name, column in rows.items()}
    graph.apply(UpdateBatch.from_rows(**{**kind, **few}))
    graph.apply(UpdateBatch.from_rows(**kind))
    graph.checkpoint_arrays()
    graph.apply(UpdateBatch.from_rows(**{**kind, "op": -kind["op"]}))
    if raw and feed is not None:
        # Inserted, then deleted by the same batch: what that leaves has kernels of its own.
        kind |= {name: np.concatenate([column, column]) for name, column in rows.items()}
        kind |= {"op": np.repeat(np.array([1, -1], np.int8), count)}
        kind |= {"self_loops": "drop", "create_vertices": True, "batch_id": -1}
        doubled = raw_rows(**kind, dense=graph.ids == "dense", row_name=name_of_row)
        graph.apply(feed.send(doubled))

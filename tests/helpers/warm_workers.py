"""What a worker has compiled, or loaded, when it is warm, and what batches make it add.

In a module of its own: a new process finds it by name.
"""

import gc

import numpy as np
import pyarrow as pa
from numba.core.dispatcher import Dispatcher

from graphtide.config.settings import load_settings
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.io.log.batch_times import InsertTimes
from graphtide.io.log.row_origin import RowOrigin
from graphtide.pipeline.batch_form import BatchForm, convert_to_form
from graphtide.pipeline.workers.warm_up import warm_conversion, warm_graph


def code_of_batches(ids: str, types: tuple[str, str], *, raw: bool) -> set[str]:
    """Kernels, with the types of their arguments, that batches for a GPU need beside warm ones.

    ``types``: of sources and of destinations in the log.
    """
    is_dense = ids == "dense"
    meaning = load_settings({"ids": ids}).graph.row_meaning()
    warm_conversion(
        meaning, 1_000, dense=is_dense, on_gpu=True, raw=raw, id_types=frozenset([types])
    )
    # What the process was forked with is hidden from those who ask the collector.
    gc.unfreeze()
    before = _compiled()
    assert before, "a warm worker has no kernels: the test tests nothing"
    random = np.random.default_rng(1)
    form = BatchForm(on_gpu=True, dense=is_dense, raw=raw)
    # Of which some edges come often, close and far apart.
    for largest in (40, 2**31 - 1):
        op = random.choice(np.array([1, 1, -1], np.int8), 3_000)
        ends = random.integers(0, largest, (2, 1_000))
        src, dst = (each.astype(kind) for each, kind in zip(ends, types, strict=True))
        rows = random.integers(0, 1_000, 3_000)
        table = pa.table({"op": op, "src": src[rows], "dst": dst[rows]})
        place = {"origin": RowOrigin(""), "batch_id": 0}
        convert_to_form(table, form, InsertTimes(), meaning=meaning, **place)
    return _compiled() - before


def code_of_maintained(names: tuple[str, ...], *, directed: bool) -> set[str]:
    """Kernels of maintained analytics that batches need on the host, beside those of a warm one."""
    way = {"engine": "host", "directed": directed}
    warm_graph(way, maintain={name: {} for name in names})
    gc.unfreeze()
    before = _compiled(".maintained.")
    assert before, "nothing maintained has kernels: the test tests nothing"
    graph, random = DynamicGraph(**way), np.random.default_rng(1)
    for name in names:
        graph.maintain(name)
    for rows, vertices in ((3_000, 200), (3_000, 200), (5, 200), (3_000, 20_000), (5, 20_000)):
        src, dst = random.integers(0, vertices, (2, rows))
        graph.insert_edges(src, dst)
        graph.delete_edges(src[::3], dst[::3])
        for name in names:
            graph.compute(name)
    return _compiled(".maintained.") - before


def _compiled(module: str = "") -> set[str]:
    return {
        f"{kernel.py_func.__qualname__}{signature}"
        for kernel in gc.get_objects()
        if isinstance(kernel, Dispatcher) and module in kernel.py_func.__module__
        for signature in kernel.signatures
    }

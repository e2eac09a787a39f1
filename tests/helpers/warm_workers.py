"""What a CPU worker has compiled, or loaded, when it is warm, and what batches make it add.

In a module of its own: a new process finds it by name.
"""

import gc

import numpy as np
import pyarrow as pa
from numba.core.dispatcher import Dispatcher

from graphtide.config.settings import load_settings
from graphtide.pipeline.graph_worker.handover import Form
from graphtide.pipeline.tasks import convert
from graphtide.pipeline.workers.warm_up import warm_conversion


def code_of_batches(ids: str, types: tuple[str, str], *, raw: bool) -> set[str]:
    """Kernels, with the types of their arguments, that batches for a GPU need beside warm ones.

    ``types``: of sources and of destinations in the log.
    """
    is_dense = ids == "dense"
    meaning = load_settings({"ids": ids}).graph.row_meaning()
    warm_conversion(meaning, 1_000, dense=is_dense, raw=raw, id_types=frozenset([types]))
    # What the process was forked with is hidden from those who ask the collector.
    gc.unfreeze()
    before = _compiled()
    assert before, "a warm worker has no kernels: the test tests nothing"
    random = np.random.default_rng(1)
    form = Form(on_gpu=True, dense=is_dense, raw=raw)
    # Of which some edges come often, close and far apart.
    for largest in (40, 2**31 - 1):
        op = random.choice(np.array([1, 1, -1], np.int8), 3_000)
        ends = random.integers(0, largest, (2, 1_000))
        src, dst = (each.astype(kind) for each, kind in zip(ends, types, strict=True))
        rows = random.integers(0, 1_000, 3_000)
        table = pa.table({"op": op, "src": src[rows], "dst": dst[rows]})
        convert(table, form, file="", first_row=0, batch_id=0, meaning=meaning)
    return _compiled() - before


def _compiled() -> set[str]:
    return {
        f"{kernel.py_func.__qualname__}{signature}"
        for kernel in gc.get_objects()
        if isinstance(kernel, Dispatcher)
        for signature in kernel.signatures
    }

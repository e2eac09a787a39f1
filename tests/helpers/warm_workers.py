"""What a CPU worker has compiled, or loaded, when it is warm, and what batches make it add.

In a module of its own: a new process finds it by name.
"""

import gc
from itertools import product

import numpy as np
import pyarrow as pa
from numba.core.dispatcher import Dispatcher

from graphtide.config.settings import load_settings
from graphtide.pipeline.handover import Form
from graphtide.pipeline.tasks import convert
from graphtide.pipeline.warm_up import warm_conversion


def code_of_batches(ids: str, *, raw: bool) -> set[str]:
    """Kernels, with the types of their arguments, that batches for a GPU need beside warm ones."""
    is_dense = ids == "dense"
    arguments = load_settings({"ids": ids}).graph.batch_arguments()
    warm_conversion(arguments, 1_000, dense=is_dense, raw=raw)
    before = _compiled()
    random = np.random.default_rng(1)
    form = Form(on_gpu=True, dense=is_dense, raw=raw)
    # Narrow and wide columns of ids, of which some edges come often, close and far apart.
    for id_type, largest in product((np.int32, np.int64), (40, 2**31 - 1)):
        op = random.choice(np.array([1, 1, -1], np.int8), 3_000)
        src, dst = random.integers(0, largest, (2, 1_000)).astype(id_type)
        rows = random.integers(0, 1_000, 3_000)
        table = pa.table({"op": op, "src": src[rows], "dst": dst[rows]})
        convert(table, form, file="", first_row=0, batch_id=0, **arguments)
    return _compiled() - before


def _compiled() -> set[str]:
    return {
        f"{kernel.py_func.__qualname__}{signature}"
        for kernel in gc.get_objects()
        if isinstance(kernel, Dispatcher)
        for signature in kernel.signatures
    }

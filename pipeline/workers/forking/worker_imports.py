"""Imports nearly all that workers need, into the process that they are forked from.

What a worker imports itself takes each of them as long again, and for CPU workers it does so when
their first batch has come: 0.15 to 0.25 s of a core.
"""

import gc
import sys
from contextlib import suppress
from importlib import import_module

# All of it stays. While it comes the collector would look at it again and again, a fifth of the
# time.
gc.disable()

from .kept_bytecode import keep_bytecode  # noqa: E402

keep_bytecode()

import distributed  # noqa: E402, F401
from numba.core.registry import cpu_target  # noqa: E402

from .. import warm_up  # noqa: E402, F401
from ..steady_clock import use_steady_clock  # noqa: E402
from .unwanted_imports import hidden, use_arrow_without_pandas  # noqa: E402

# By name: `tasks` imports what is in `workers/`, and others stand in functions of libraries.
for name in (
    "graphtide.pipeline.tasks",
    "graphtide.gpu_core.host.engine",
    "graphtide.gpu_core.host.kernels_ahead",
    "graphtide.io.parquet.text_columns",
    # Dask's worker: its server of metrics, and the versions that it reports.
    "distributed.http.worker.prometheus.core",
    "distributed.http.health",
    "distributed.http.statics",
    "email.headerregistry",
    "tornado.platform.asyncio",
    "numpy.ma",
):
    import_module(name)
with suppress(ImportError):  # older fsspec have no such module, and do without it
    import_module("fsspec.implementations.chained")

# What Numba knows of Python's and NumPy's functions, which it imports with the first kernel.
with hidden("scipy"):
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
use_arrow_without_pandas()
use_steady_clock()

# A thread that computes lets others go on after this many seconds. With Python's 5 ms the thread of
# a graph worker that launches the next batch waits for those that take messages and reduce results:
# a run with results after each batch took 5 % longer.
sys.setswitchinterval(0.0005)

# The garbage collector of a worker need not look at all of that, which took it 0.1 s each time,
# nor write to it, which would copy the memory.
gc.freeze()
gc.enable()

"""Dask preload of the graph worker: imports what a graph on a GPU needs while the worker starts.

The worker makes a CUDA context as it starts, which takes longer, and not Python's lock.
"""

from contextlib import suppress
from importlib import import_module
from threading import Thread


def _import() -> None:
    # The error is raised again where the module is needed.
    with suppress(ImportError):
        import_module("cupy")
        import_module("graphtide.gpu_core.cuda.engine")


Thread(target=_import, name="graphtide-imports", daemon=True).start()

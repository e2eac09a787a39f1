"""Graphtide keeps a large, changing graph in memory and updates it from logs of Parquet files.

``graphtide.DynamicGraph`` is the graph as a library; ``graphtide.run`` and the command ``graphtide
run`` are the pipeline. Public names are imported on first use, so ``import graphtide`` imports
neither Dask nor CUDA.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: Public name -> module that defines it; `__init__.pyi` has the same for type checkers.
_PUBLIC = {
    "AdjacencyView": ".gpu_core.face.adjacency_view",
    "ArenaFullError": ".gpu_core.errors",
    "BatchError": ".gpu_core.errors",
    "BatchReport": ".gpu_core.report",
    "ClusterError": ".gpu_core.errors",
    "ConvergenceError": ".gpu_core.errors",
    "CorruptImageError": ".gpu_core.errors",
    "CsrSnapshot": ".gpu_core.copies.snapshot",
    "DynamicGraph": ".gpu_core.graph",
    "EdgeNotFoundError": ".gpu_core.errors",
    "EngineError": ".gpu_core.errors",
    "Epoch": ".gpu_core.epoch",
    "EpochClosedError": ".gpu_core.errors",
    "FailedResultWarning": ".gpu_core.errors",
    "Frontier": ".gpu_core.programs.frontier",
    "GraphtideError": ".gpu_core.errors",
    "PathNotFoundError": ".gpu_core.errors",
    "PrecisionWarning": ".gpu_core.errors",
    "Program": ".gpu_core.programs.program",
    "SettingsError": ".gpu_core.errors",
    "StaleViewError": ".gpu_core.errors",
    "StateError": ".gpu_core.errors",
    "UpdateBatch": ".gpu_core.batch.update_batch",
    "UpdateLogError": ".gpu_core.errors",
    "VertexNotFoundError": ".gpu_core.errors",
    "VertexState": ".gpu_core.programs.vertex_state",
    "batch_of_frame": ".io.interchange.frames",
    "export_edges": ".io.interchange.export",
    "from_edge_list": ".io.interchange.from_libraries",
    "from_networkx": ".io.interchange.from_libraries",
    "from_scipy": ".io.interchange.from_libraries",
    "load_graph": ".io.interchange.saved_graph",
    "open": ".flows.open_state",
    "pairs_of_frame": ".io.interchange.frames",
    "read_results": ".flows.state_results",
    "read_summary": ".flows.state_results",
    "run": ".flows.library",
    "save_graph": ".io.interchange.saved_graph",
    "to_arrow": ".io.interchange.to_libraries",
    "to_igraph": ".io.interchange.to_libraries",
    "to_networkx": ".io.interchange.to_libraries",
    "to_pandas": ".io.interchange.to_libraries",
    "to_polars": ".io.interchange.to_libraries",
    "to_scipy": ".io.interchange.to_libraries",
}

#: Public name -> its name in the module, if that differs.
_NAMES_THERE = {"open": "open_state"}

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        msg = f"module 'graphtide' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(_PUBLIC[name], __name__), _NAMES_THERE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

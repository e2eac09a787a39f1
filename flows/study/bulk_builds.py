"""Memory of graphs that were built in one batch, beside what GraphVine's paper prints.

Its table 5 (papers/001) has the megabytes by which a GPU's free memory shrinks (5.4), so what a
build takes beside the graph is in its figures; both are divided by a CSR of the same graph. Ours
are `MemoryReport.graph_bytes`, without the trees of free runs, which are as large as the arena asks
for. The last column has pages by the rule of the paper: the mean degree of the first batch, which a
bulk build is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...gpu_core.graph import DynamicGraph
from ...gpu_core.kind import FIRST_BATCH
from ...gpu_core.layouts import LAYOUTS
from ..bench.measuring.report import PrintedTable
from ..bench.measuring.workloads import WORKLOADS, unpack
from ..bench.updates import csr_bytes
from .published import memory_over_csr

_WORKLOADS: Final = ("G1", "G2", "G3")
#: GraphVine's layout.
_PAPERS: Final = "tree"


def over_csr(engine: str, name: str, scale: int) -> list[float]:
    """Bytes over those of a CSR: on each layout, and as GraphVine has its pages."""
    workload = WORKLOADS[name]
    keys = workload.keys(np, smaller=workload.scale - scale)
    src, dst = unpack(np, keys)
    settings: list[dict[str, Any]] = [{"layout": layout} for layout in LAYOUTS]
    settings.append({"layout": _PAPERS, "mean_degree": FIRST_BATCH})
    found = []
    for each in settings:
        graph = DynamicGraph(engine=engine, ids="dense", reverse=False, **each)
        graph.insert_edges(src, dst)
        memory = graph.memory()
        trees = memory.regions["free-run trees"]
        found.append((memory.graph_bytes - trees) / csr_bytes(keys))
    return found


def print_bulk_builds(engine: str, scale: int) -> None:
    """Print a table of graphs of 2**scale vertices."""
    table = PrintedTable(
        ["graph"],
        [*LAYOUTS, f"{_PAPERS}, pages by the first batch", "papers: over CSR (graph, device)"],
    )
    for name in _WORKLOADS:
        shares = (f"{each:.2f}" for each in over_csr(engine, name, scale))
        table.row(name, *shares, memory_over_csr(name))

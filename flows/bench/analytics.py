"""``graphtide bench analytics``: PageRank and triangles on the workloads, beside a sparse product.

Each call is timed as a user makes it. Triangles come to host memory; ranks stay on the device until
somebody looks at them. The product is one ``P^T x`` in float32 of the same entries as a CSR of
cupyx, or SciPy on the host engine: the least that an iteration of PageRank takes with a library.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import click
import numpy as np

from ...gpu_core.errors import SettingsError
from ...gpu_core.graph import DynamicGraph
from .arm import Arm, Row
from .clock import spread
from .report import print_conditions
from .workloads import WORKLOADS, Keys, unpack

NAMES = ("G1", "G1s", "G2", "G3", "G4")

_HEADER = (
    "| graph | PageRank to L1 1e-6 | steps | a step | sparse product | triangles | of them |",
    "|---|---:|---:|---:|---:|---:|---:|",
)


def product(arm: Arm, keys: Keys, scale: int) -> Any:
    """Callable that multiplies the CSR of these entries with a vector."""
    if arm.engine == "cuda":
        from cupyx.scipy import sparse
    else:
        from scipy import sparse
    xp = arm.xp
    firsts = xp.arange((1 << scale) + 1, dtype=xp.uint64) << xp.uint64(32)
    indptr = xp.searchsorted(keys, firsts).astype(xp.int32)
    indices = unpack(xp, keys)[1].astype(xp.int32)
    data = xp.ones(keys.size, xp.float32)
    matrix = sparse.csr_matrix((data, indices, indptr), shape=(1 << scale, 1 << scale))
    return partial(matrix.dot, xp.ones(1 << scale, xp.float32))


def measure(arm: Arm, name: str, *, repeats: int, smaller: int) -> str:
    """One line of the table."""
    xp = arm.xp
    scale = WORKLOADS[name].scale - smaller
    keys = WORKLOADS[name].keys(xp, smaller=smaller)
    src, dst = unpack(xp, keys)
    graph: DynamicGraph = arm.graph(directed=False, ids="dense")
    once = src < dst
    graph.apply(arm.batch(1, src[once], dst[once], directed=False))
    row = Row(name, "")
    calls = {
        "pagerank": partial(graph.pagerank, tol=1e-6),
        "product": product(arm, keys, scale),
        "triangles": graph.triangles,
    }
    for repeat in range(repeats + 1):
        for what, call in calls.items():
            lap = arm.clock.time(call)
            if repeat:
                row.add(what, lap)
    steps = graph.pagerank(tol=1e-6).iterations
    a_step = spread([lap.device / steps for lap in row.laps["pagerank"]])
    triangles = int(np.sum(graph.triangles())) // 3
    return (
        f"| {name} | {row.device('pagerank')} | {steps} | {a_step} | {row.device('product')} "
        f"| {row.device('triangles')} | {triangles:,} |"
    )


def bench_analytics(engine: str, names: Sequence[str], *, repeats: int, smaller: int) -> None:
    """Measure the workloads of these names (none: most) and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload.
    """
    for name in names:
        if name not in WORKLOADS:
            msg = f"workload {name!r} is unknown; use one of {', '.join(WORKLOADS)}"
            raise SettingsError(msg)
    arm = Arm(engine)
    command = f"graphtide bench analytics {' '.join(names)}".rstrip()
    print_conditions(arm, command, repeats, smaller)
    click.echo("\n".join(_HEADER))
    for name in names or NAMES:
        click.echo(measure(arm, name, repeats=repeats, smaller=smaller))

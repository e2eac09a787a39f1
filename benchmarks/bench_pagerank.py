"""One PageRank iteration against one SciPy CSR product on the same graph, side by side in one run.

An iteration here is all of it: gather, dangling term, teleport, residual, next shares. SciPy's
product is the gather alone, on one thread, with float64 values and int32 indices.

    python benchmarks/bench_pagerank.py --edges 8388608 --scale 20
"""

import argparse
import time
from collections.abc import Callable
from statistics import quantiles

import numpy as np
import scipy.sparse as sp

from graphtide import DynamicGraph
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.host.pagerank import PowerIteration, out_strengths
from graphtide.gpu_core.host.parallel import thread_count


def seconds(call: Callable[[], object]) -> float:
    """Time one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(calls: dict[str, Callable[[], object]], repeats: int) -> None:
    """Print median and quartiles in milliseconds; the calls take turns."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(1e3 * seconds(call))
    for name, values in times.items():
        low, middle, high = quantiles(values, n=4)
        print(f"    {name:<42}{middle:8.1f}  ({low:.1f} … {high:.1f})")


def main() -> None:
    """Measure both kinds of graph in both layouts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=1 << 23, help="rows inserted, with repeats")
    parser.add_argument("--scale", type=int, default=20, help="vertices: 2**scale")
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args()

    vertices = 1 << options.scale
    numbers = np.arange(options.edges, dtype=np.uint64)
    kinds = {
        "uniform": uniform_edges(numbers, vertices),
        "rmat": rmat_edges(numbers, options.scale),
    }
    print(f"{options.repeats} repeats, {thread_count()} threads; median ms (quartiles)")
    for kind, (src, dst) in kinds.items():
        for layout in ("runs", "chain"):
            graph = DynamicGraph(layout=layout, self_loops="keep")
            graph.insert_edges(src, dst)
            engine = graph._engine
            snapshot = graph.to_csr()
            count = snapshot.vertices.size
            matrix = sp.csr_array(
                (np.ones(graph.num_edges), snapshot.indices, snapshot.indptr), (count, count)
            )
            transpose = matrix.T.tocsr()
            strengths = out_strengths(engine, weighted=False)
            uniform = engine.present() / count
            iteration = PowerIteration(
                engine, strengths, uniform, uniform, uniform, alpha=0.85, weighted=False
            )
            x = np.full(count, 1 / count)
            gathered = np.empty(count)
            block = np.ones(8 << 20)

            def product(transpose=transpose, x=x, gathered=gathered) -> None:
                gathered[:] = transpose @ x

            def begin(engine=engine, strengths=strengths, uniform=uniform) -> PowerIteration:
                return PowerIteration(
                    engine, strengths, uniform, uniform, uniform, alpha=0.85, weighted=False
                )

            print(f"{kind}, {layout}: {count:,} vertices, {graph.num_edges:,} edges")
            measure(
                {
                    "SciPy CSR product": product,
                    "one iteration": iteration.step,
                    "before the first (rows copied)": begin,
                    "copy of 64 MB (for the machine)": block.copy,
                },
                options.repeats,
            )


if __name__ == "__main__":
    main()

"""One PageRank iteration against one SciPy CSR product on the same graph, side by side in one run.

An iteration here is all of it: gather, dangling term, teleport, residual, next shares. SciPy's
product is the gather alone, on one thread, with float64 values and int32 indices.

    python -m graphtide.flows.bench.scripts.pagerank_iteration --edges '2**23' --scale 20
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.shared.adjacencies import adjacencies_of
from graphtide.gpu_core.algorithms.shared.surfer import Surfer
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.host.analytics.centrality.pagerank import Iteration, out_strengths

from .measuring import CopyBandwidth, interleaved, machine_line, number, parser, quartiles


def measure(calls: dict[str, Callable[[], object]], repeats: int) -> None:
    """Print median and quartiles in milliseconds; the calls take turns."""
    for name, taken in interleaved(calls, repeats).items():
        print(f"    {name:<42}{quartiles(1e3 * each for each in taken)}", flush=True)


def main() -> None:
    """Measure both kinds of graph in both layouts."""
    flags = parser(__doc__, with_csv=False)
    flags.add_argument("--edges", type=number, default="2**23", help="rows inserted, with repeats")
    flags.add_argument("--scale", type=int, default=20, help="vertices: 2**scale")
    options = flags.parse_args()

    vertices = 1 << options.scale
    numbers = np.arange(options.edges, dtype=np.uint64)
    kinds = {
        "uniform": uniform_edges(numbers, vertices),
        "rmat": rmat_edges(numbers, options.scale),
    }
    print(f"{machine_line('scipy')}\n{options.repeats} repeats; median ms (quartiles)")
    bandwidth = CopyBandwidth()
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
            adjacencies = adjacencies_of(engine)
            strengths = out_strengths(None, adjacencies.out, weighted=False)
            uniform = engine.present() / count
            surfer = Surfer(0.85, strengths, teleport=uniform, dangling=uniform)
            iteration = Iteration(adjacencies, surfer, uniform)
            x = np.full(count, 1 / count)
            gathered = np.empty(count)

            def product(transpose=transpose, x=x, gathered=gathered) -> None:
                gathered[:] = transpose @ x

            def begin(adjacencies=adjacencies, surfer=surfer, uniform=uniform) -> Iteration:
                return Iteration(adjacencies, surfer, uniform)

            print(f"{kind}, {layout}: {count:,} vertices, {graph.num_edges:,} edges")
            measure(
                {
                    "SciPy CSR product": product,
                    "one iteration": iteration.step,
                    "before the first (rows copied)": begin,
                },
                options.repeats,
            )
            bandwidth.measure()
    print(bandwidth)


if __name__ == "__main__":
    main()

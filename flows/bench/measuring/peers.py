"""What packages of others offer for the same work.

No package for a GPU has a dynamic graph: whoever has a batch builds the graph again. A package that
is not installed is left out of the tables.
"""

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from .workloads import Keys, unpack


class Rebuild:
    """A CSR that is built anew for each batch: append, sort, drop repeats, count rows."""

    def __init__(self, xp: Any, keys: Keys, scale: int) -> None:
        self._xp, self._keys, self._scale = xp, keys, scale

    def insert(self, keys: Keys) -> tuple[Any, Any]:
        """CSR (indptr, indices) of the graph with the entries of ``keys``."""
        xp = self._xp
        grown = xp.sort(xp.concatenate([self._keys, keys]))
        first = xp.ones(grown.size, bool)
        first[1:] = grown[1:] != grown[:-1]
        return csr(xp, grown[first], self._scale)

    def delete(self, keys: Keys) -> tuple[Any, Any]:
        """CSR of the graph without the entries of ``keys``, which are sorted."""
        xp = self._xp
        at = xp.minimum(xp.searchsorted(keys, self._keys), max(keys.size - 1, 0))
        return csr(xp, self._keys[keys[at] != self._keys], self._scale)


def csr(xp: Any, keys: Keys, scale: int) -> tuple[Any, Any]:
    """CSR of sorted keys: int64[2^scale + 1] and uint32."""
    firsts = xp.arange((1 << scale) + 1, dtype=xp.uint64) << xp.uint64(32)
    return xp.searchsorted(keys, firsts), keys.astype(xp.uint32)


def sparse_products(xp: Any, keys: Keys, scale: int) -> dict[str, Callable[[], Any]]:
    """By package, a product of the CSR of these entries and a vector, both float32."""
    offsets, targets = csr(xp, keys, scale)
    indptr, indices = offsets.astype(xp.int32), targets.view(xp.int32)
    data, vector = xp.ones(keys.size, xp.float32), xp.ones(1 << scale, xp.float32)
    shape = (1 << scale, 1 << scale)
    if xp.__name__ == "cupy":
        from cupyx.scipy import sparse
    else:
        from scipy import sparse
    matrix = sparse.csr_matrix((data, indices, indptr), shape=shape)
    products: dict[str, Callable[[], Any]] = {"sparse": partial(matrix.dot, vector)}
    if find_spec("torch") is not None:
        import torch

        with warnings.catch_warnings():
            # Its CSR is said to be in beta, once a process.
            warnings.simplefilter("ignore", UserWarning)
            tensors = [torch.from_dlpack(array) for array in (indptr, indices, data)]
            tensor = torch.sparse_csr_tensor(*tensors, size=shape)
        products["torch"] = partial(torch.mv, tensor, torch.from_dlpack(vector))
    return products


class CuGraph:
    """pylibcugraph: the graph is built anew, renumbered, and asked.

    Parameters
    ----------
    xp
        CuPy.
    keys
        Entries of an undirected graph, both ways.
    weights
        float32, of each of them; None: they have none.
    """

    def __init__(self, xp: Any, keys: Keys, weights: Any = None) -> None:
        import pylibcugraph

        self._library = pylibcugraph
        self._handle = pylibcugraph.ResourceHandle()
        self._xp, self._weights = xp, weights
        self._ends = [side.astype(xp.int32) for side in unpack(xp, keys)]

    def graph(self, *, is_transposed: bool) -> Any:
        """Build it; PageRank wants it transposed."""
        library = self._library
        kind = library.GraphProperties(is_symmetric=True, is_multigraph=False)
        return library.SGGraph(
            self._handle, kind, *self._ends, weight_array=self._weights,
            store_transposed=is_transposed, renumber=True, do_expensive_check=False,
        )  # fmt: skip

    def pagerank(self, graph: Any, tolerance: float) -> Any:
        """Vertices and ranks, to the same tolerance."""
        return self._library.pagerank(
            self._handle, graph, None, None, None, None, alpha=0.85, epsilon=tolerance,
            max_iterations=500, do_expensive_check=False,
        )  # fmt: skip

    def triangles(self, graph: Any) -> Any:
        """Vertices and their triangles."""
        return self._library.triangle_count(self._handle, graph, None, do_expensive_check=False)

    def components(self, graph: Any) -> Any:
        """Vertices and labels of their components."""
        return self._library.weakly_connected_components(
            self._handle, graph, None, None, None, None, do_expensive_check=False
        )

    def bfs(self, graph: Any, source: int) -> Any:
        """Distances in hops, predecessors and vertices."""
        sources = self._xp.asarray([source], self._xp.int32)
        return self._library.bfs(
            self._handle, graph, sources, direction_optimizing=True, depth_limit=0,
            compute_predecessors=False, do_expensive_check=False,
        )  # fmt: skip

    def sssp(self, graph: Any, source: int) -> Any:
        """Vertices, distances by weight and predecessors."""
        return self._library.sssp(
            self._handle, graph, source, cutoff=float("inf"), compute_predecessors=False,
            do_expensive_check=False,
        )  # fmt: skip

    def core_number(self, graph: Any) -> Any:
        """Vertices and their core numbers."""
        return self._library.core_number(
            self._handle, graph, degree_type="bidirectional", do_expensive_check=False
        )

    def katz(self, graph: Any, alpha: float) -> Any:
        """Vertices and their Katz centrality, to networkx' default tolerance."""
        return self._library.katz_centrality(
            self._handle, graph, betas=None, alpha=alpha, beta=1.0, epsilon=1e-6,
            max_iterations=1000, do_expensive_check=False,
        )  # fmt: skip


def has_cugraph() -> bool:
    """Whether `CuGraph` can be had."""
    return find_spec("pylibcugraph") is not None

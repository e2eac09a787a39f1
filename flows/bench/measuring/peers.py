"""Other packages on the same work: rebuilds and products; cuGraph: `cugraph.py`.

No package for a GPU has a dynamic graph: for each batch the graph is built again. A package that
is not installed is left out of the tables.
"""

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from .workloads import Keys


class Rebuild:
    """A CSR that is rebuilt for each batch: append, sort, drop repeats, count rows."""

    def __init__(self, xp: Any, keys: Keys, scale: int) -> None:
        self._xp, self._keys, self._scale = xp, keys, scale

    def insert(self, keys: Keys) -> tuple[Any, Any]:
        """CSR (indptr, indices) of the graph with the entries of ``keys``."""
        xp = self._xp
        # Both parts are sorted: the stable sort of NumPy merges them, in a 25th of the time of its
        # default. CuPy has only that one, by radix.
        grown = xp.sort(xp.concatenate([self._keys, keys]), kind="stable")
        first = xp.ones(grown.size, bool)
        first[1:] = grown[1:] != grown[:-1]
        return csr(xp, grown[first], self._scale)

    def delete(self, keys: Keys) -> tuple[Any, Any]:
        """CSR of the graph without the entries of ``keys``."""
        xp = self._xp
        # The few are looked up among the many.
        at = xp.minimum(xp.searchsorted(self._keys, keys), self._keys.size - 1)
        stays = xp.ones(self._keys.size, bool)
        stays[at[self._keys[at] == keys]] = False
        return csr(xp, self._keys[stays], self._scale)


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

"""What packages offer for the same work: build the graph anew from sorted keys.

No package for a GPU has a dynamic graph: whoever has a batch builds the graph again.
"""

from typing import Any

from .workloads import Keys


class Rebuild:
    """A CSR that is built anew for each batch: append, sort, drop repeats, count rows."""

    name = "rebuild with CuPy"

    def __init__(self, xp: Any, keys: Keys, scale: int) -> None:
        self._xp, self._keys, self._scale = xp, keys, scale

    def insert(self, keys: Keys) -> tuple[Any, Any]:
        """CSR (indptr, indices) of the graph with the entries of ``keys``."""
        xp = self._xp
        grown = xp.sort(xp.concatenate([self._keys, keys]))
        first = xp.ones(grown.size, bool)
        first[1:] = grown[1:] != grown[:-1]
        return self._csr(grown[first])

    def delete(self, keys: Keys) -> tuple[Any, Any]:
        """CSR of the graph without the entries of ``keys``, which are sorted."""
        xp = self._xp
        at = xp.minimum(xp.searchsorted(keys, self._keys), max(keys.size - 1, 0))
        return self._csr(self._keys[keys[at] != self._keys])

    def _csr(self, keys: Keys) -> tuple[Any, Any]:
        xp = self._xp
        firsts = xp.arange((1 << self._scale) + 1, dtype=xp.uint64) << xp.uint64(32)
        return xp.searchsorted(keys, firsts), keys.astype(xp.uint32)

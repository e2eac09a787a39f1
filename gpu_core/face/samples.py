"""Results of random walks and neighbor sampling: tables, and arrays that tensors share.

Arrays are NumPy's, or CuPy's where a result says so, writable and of their own, so
``torch.from_dlpack`` takes them without a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from ..printable import counted
from ..table import Column, MapsKeysToIds, Table

Int64s = npt.NDArray[np.int64]


def in_host_memory(array: Any) -> npt.NDArray[Any]:
    """The array, fetched where it is CuPy's."""
    found: npt.NDArray[Any] = array if isinstance(array, np.ndarray) else array.get()
    return found


class WalksResult(Table):
    """Random walks; as a table it has a row for each vertex of each walk.

    If the ids are int64, ``torch.from_dlpack(result)`` is an int64 tensor [w, length + 1] of the
    walks, without a copy, in the memory of the engine.

    Parameters
    ----------
    walks
        int64[w, length + 1], of NumPy or CuPy: what the engine calls the vertices; -1 after the
        end of a walk.
    lengths
        int64[w], likewise: steps of each.
    ids
        What shows the vertices; None: they are the ids.
    """

    def __init__(self, walks: Any, lengths: Any, ids: MapsKeysToIds | None) -> None:
        self._walks = walks
        self._lengths = lengths
        self._ids = ids

    @cached_property
    def lengths(self) -> Int64s:
        """int64[w]: steps of each walk."""
        return in_host_memory(self._lengths)

    @cached_property
    def walks(self) -> Column:
        """[w, length + 1]: users' ids.

        After the end of a walk it has -1 (uint64: the largest number; names: ``""``).
        """
        keys = in_host_memory(self._walks)
        if self._ids is None:
            return keys
        is_there = np.arange(keys.shape[1]) <= self.lengths[:, None]
        ids = self._ids.ids_of_keys(keys[is_there])
        nothing = np.array("", object) if ids.dtype == object else np.array(-1)
        walks = np.full(keys.shape, nothing.astype(ids.dtype))
        walks[is_there] = ids
        return walks

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns by name: ``walk`` and ``step``, int64 from 0 on; ``vertex``, users' ids."""
        steps = np.arange(self.walks.shape[1])
        is_there = steps <= self.lengths[:, None]
        walk, step = np.nonzero(is_there)
        return {"walk": walk, "step": step, "vertex": self.walks[is_there]}

    def __dlpack__(self, **options: Any) -> Any:
        """Export the walks [w, length + 1], int64, where the engine has made them."""
        return self._numbers().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the walks are, as DLPack calls it."""
        device: tuple[int, int] = self._numbers().__dlpack_device__()
        return device

    def _numbers(self) -> Any:
        if self._ids is not None:
            msg = "the ids are no int64, which tensors need; use walks, and number the names"
            raise SettingsError(msg)
        return self._walks

    def __repr__(self) -> str:
        count, vertices = self._walks.shape
        steps = counted(vertices - 1, "step")
        return f"<WalksResult {counted(count, 'walk')} of up to {steps}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Names, and arrays of a device, are of this process.
        return _walks_of, (self.walks, self.lengths, self._ids is None)


def _walks_of(walks: Column, lengths: Int64s, are_numbers: bool) -> WalksResult:
    """Walks from another process."""
    result = WalksResult(walks, lengths, None if are_numbers else Shown())
    result.__dict__ |= {"walks": walks, "lengths": lengths}
    return result


class Shown:
    """Keys that are users' ids already. Its name is in pickles of samples."""

    def ids_of_keys(self, keys: Column) -> Column:
        """The same."""
        return keys


class SampleArrays(NamedTuple):
    """Arrays of a sample, of NumPy or CuPy."""

    #: int64[n]: ids of the vertices.
    vertices: Any
    #: int64[2, e]: as of `NeighborSample`.
    edge_index: Any
    #: int64[n]: likewise; None: not ``disjoint``.
    batch: Any


class NeighborSample(Table):
    """Sampled edges; as a table it has a row for each edge, hop after hop.

    Attributes are in host memory; `where_made` has the arrays that tensors share without a copy.

    Parameters
    ----------
    keys
        int64[n], of NumPy or CuPy: what the engine calls the vertices.
    batch, edge_index
        As the attributes, likewise.
    vertices_per_hop, edges_per_hop
        As the attributes.
    ids
        What shows the vertices; None: keys are the ids.

    Attributes
    ----------
    vertices_per_hop
        How many vertices were given, and found by each hop.
    edges_per_hop
        How many edges were sampled by each hop, in the order of ``edge_index``.
    """

    def __init__(
        self,
        keys: Any,
        batch: Any,
        edge_index: Any,
        vertices_per_hop: Sequence[int],
        edges_per_hop: Sequence[int],
        ids: MapsKeysToIds | None,
    ) -> None:
        self._keys = keys
        self._batch = batch
        self._edge_index = edge_index
        self.vertices_per_hop = list(vertices_per_hop)
        self.edges_per_hop = list(edges_per_hop)
        self._ids = ids

    @cached_property
    def vertices(self) -> Column:
        """[n]: users' ids of the vertices, the given ones first, then in the order found.

        It is ``n_id`` of PyTorch Geometric.
        """
        keys = in_host_memory(self._keys)
        return keys if self._ids is None else self._ids.ids_of_keys(keys)

    @cached_property
    def batch(self) -> Int64s | None:
        """int64[n]: position of the given vertex that each belongs to; None: not ``disjoint``."""
        return None if self._batch is None else in_host_memory(self._batch)

    @cached_property
    def edge_index(self) -> Int64s:
        """int64[2, e]: source and destination of each edge, as positions in ``vertices``."""
        return in_host_memory(self._edge_index)

    def where_made(self) -> SampleArrays:
        """The arrays in the memory of the engine: CuPy's on a GPU, otherwise NumPy's.

        Raises
        ------
        SettingsError
            The ids are not int64, but names for example.
        """
        if self._ids is not None:
            msg = "the ids are no int64, which tensors need; use edge_index and batch"
            raise SettingsError(msg)
        return SampleArrays(self._keys, self._edge_index, self._batch)

    @property
    def src(self) -> Column:
        """[e]: users' ids of the sources of the edges."""
        return self.vertices[self.edge_index[0]]

    @property
    def dst(self) -> Column:
        """[e]: users' ids of their destinations."""
        return self.vertices[self.edge_index[1]]

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns by name: ``hop``, from 1 on, ``src`` and ``dst``, users' ids."""
        hops = np.arange(1, len(self.edges_per_hop) + 1)
        return {"hop": np.repeat(hops, self.edges_per_hop), "src": self.src, "dst": self.dst}

    def __repr__(self) -> str:
        return (
            f"<NeighborSample {counted(self._keys.size, 'vertex')}, "
            f"{counted(self._edge_index.shape[1], 'edge')}, "
            f"{counted(len(self.edges_per_hop), 'hop')}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Names, and arrays of a device, are of this process.
        ids = None if self._ids is None else Shown()
        made = self.vertices, self.batch, self.edge_index
        return NeighborSample, (*made, self.vertices_per_hop, self.edges_per_hop, ids)

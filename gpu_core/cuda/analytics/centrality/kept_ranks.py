"""Ranks that stay on the device where they were made, until they are read."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.pushing import PushTrials
from ...device.device import Array, Device
from ...device.stream import follow_engines
from ..in_order import kept_to_host
from ..parts.reductions.largest import largest

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Vector = npt.NDArray[np.float64]


class KeptRanks:
    """Ranks by vertex index, in device memory.

    Parameters
    ----------
    device
        Whose arrays these are.
    ranks
        float64[vertex_count] on the device; negative: the vertex is absent.
    ids
        int64[vertex_count] on the device, users' ids; None: they are the indices.
    """

    def __init__(self, device: Device, ranks: Array, ids: Array | None) -> None:
        self._device = device
        self.ranks, self.ids = ranks, ids
        #: uint32[vertex_count] on the device, of the undirected graph that the ranks are of, if its
        #: edges and vertices count alike: a later start goes by what has become of them.
        self.degrees: Array | None = None
        #: L1 residual of the first step, so how far the start was from them.
        self.first_residual = np.inf
        #: What maintained ranks know of pushes.
        self.push_trials = PushTrials()
        #: How many hubs the graph has, as far as that is known, and rounds of the pushes that found
        #: these ranks that were pulled.
        self.hubs = self.pulls = 0

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        arrays = self.ranks, self.ids, self.degrees
        return sum(int(each.nbytes) for each in arrays if each is not None)

    def wait(self) -> None:
        """Wait for the work of the current stream, which makes them."""
        self._device.synchronize()

    def by_index(self) -> Vector:
        """float64[vertex_count], in host memory: ranks by vertex index, 0 of absent vertices."""
        ranks: Vector = np.maximum(kept_to_host(self._device, self.ranks), 0.0)
        return ranks

    def degrees_by_index(self) -> UInt32s | None:
        """uint32[vertex_count], in host memory, if they are known."""
        return None if self.degrees is None else kept_to_host(self._device, self.degrees)

    def by_vertex(self) -> tuple[Int64s, Vector]:
        """Users' ids in increasing order, and their ranks, in host memory."""
        return self._in_order(self.ranks)

    def degrees_by_vertex(self) -> UInt32s | None:
        """uint32[n], in host memory: degrees in the same order, if they are known."""
        return None if self.degrees is None else self._in_order(self.degrees)[1]

    def _in_order(self, values: Array) -> tuple[Int64s, npt.NDArray[Any]]:
        """Users' ids in increasing order, and values of these vertices, in host memory."""
        device = self._device
        follow_engines(device)
        with device.current(), device.errors_named("finding the vertices that are there"):
            present = device.xp.flatnonzero(self.ranks >= 0)
            chosen = present if self.ids is None else self.ids.take(present)
            of_chosen = values.take(present)
        ids: Int64s = device.to_locked_host(chosen)
        found = device.to_locked_host(of_chosen)
        if self.ids is not None and not np.all(ids[:-1] < ids[1:]):
            order = np.argsort(ids)
            ids, found = ids[order], found[order]
        return ids, found

    def largest(self, k: int) -> tuple[Int64s, Vector]:
        """The ``k`` vertices of largest rank, the largest first, and their ranks."""
        follow_engines(self._device)
        return largest(self._device, self.ranks, self.ids, k, least=0.0)

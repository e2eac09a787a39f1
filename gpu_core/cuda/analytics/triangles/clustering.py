"""Clustering coefficients in CUDA: divided and ordered on the device, copied when they are read.

A column is as long as the graph has vertices, and users look at one or two of them, or at none:
the next result comes with the next batch. So a call brings nothing to host memory, and each column
is copied when it is read.

Not here: what the coefficients mean (`algorithms/triangles/clustering.py`), and how triangles are
counted (`triangles.py`).
"""

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from ....algorithms.triangles.clustering import ClusteringTotals
from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...device.stream import follow_engines
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..in_order import ids_to_host, kept_to_host
from ..parts.reductions.sums import sum_by_halves
from .triangles import DeviceCounts

Int64s = npt.NDArray[np.int64]

_SOURCE: Final = "clustering.cu"

#: Blocks a multiprocessor that add up columns, beyond which they are read no faster.
_BLOCKS: Final = 4


class KeptColumns:
    """Columns of a `ClusteringResult` that stay on the device until they are read.

    Parameters
    ----------
    device
        Whose arrays these are; all are in increasing order of users' ids.
    vertices
        int64[n]; None: 0, 1, 2 …
    degree
        uint32[n]
    triangles
        uint64[n]
    clustering
        float64[n]
    """

    def __init__(
        self,
        device: Device,
        vertices: Array | None,
        degree: Array,
        triangles: Array,
        clustering: Array,
    ) -> None:
        self._device = device
        self._vertices, self._degree = vertices, degree
        self._triangles, self._clustering = triangles, clustering

    @cached_property
    def vertices(self) -> Int64s:
        """int64[n] in host memory."""
        return ids_to_host(self._device, self._vertices, int(self._degree.size))

    @cached_property
    def degree(self) -> Int64s:
        """int64[n] in host memory."""
        # Widened there: new memory of the host costs more than the bytes on the bus.
        follow_engines(self._device)
        with self._device.current():
            return self._device.to_locked_host(self._degree.astype(np.int64))

    @cached_property
    def triangles(self) -> Int64s:
        """int64[n] in host memory."""
        return kept_to_host(self._device, self._triangles).view(np.int64)

    @cached_property
    def clustering(self) -> npt.NDArray[np.float64]:
        """float64[n] in host memory."""
        return kept_to_host(self._device, self._clustering)

    def totals(self) -> ClusteringTotals:
        """Sums of the columns, of which three numbers come to host memory."""
        device, n = self._device, int(self._degree.size)
        follow_engines(device)
        with device.current():
            found = device.empty(3, np.uint64)
            device.fill_bytes(address(found), found.nbytes, 0)
            blocks = min(blocks_for(n), _BLOCKS * device.multiprocessors)
            device.launch(
                _SOURCE, "add_counts", blocks, THREADS, self._degree, self._triangles,
                np.int64(n), found,
            )  # fmt: skip
            sum_by_halves(device, self._clustering, found[2:].view(np.float64))
            triangles, pairs, clustering = device.read_words(found)
        return ClusteringTotals(n, int(triangles), int(pairs), float(clustering.view(np.float64)))


def columns_in_order(
    workspace: Workspace, counts: DeviceCounts, order: Array | None, vertices: Array | None
) -> KeptColumns:
    """Columns of a `ClusteringResult`; new arrays on the device, waits for nothing.

    ``order``, ``vertices``: indices in increasing order of users' ids, and those; either may be
    None: 0, 1, 2 …
    """
    device, n = workspace.device, int(counts.degree.size if order is None else order.size)
    coefficients = device.empty(n, np.float64)
    degree, triangles = counts.degree, counts.triangles
    if order is not None:
        degree, triangles = device.empty(n, np.uint32), device.empty(n, np.uint64)
    device.launch(
        _SOURCE, "write_columns", blocks_for(n), THREADS, order, np.int64(n), counts.degree,
        counts.triangles, counts.links, counts.both_ways, degree, triangles, coefficients,
    )  # fmt: skip
    return KeptColumns(device, vertices, degree, triangles, coefficients)

"""Values by vertex index put in the order of ids, on the device until they are read; and back.

A column is as long as the graph has vertices, and the next result comes with the next batch: so a
call brings nothing to host memory, and each column comes, once, when it is looked at.

Kernel: ``in_order.cu``.
"""

from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...algorithms.shared.by_vertex import HostValues
from ..device.device import Array, Device
from ..device.packed_arguments import address, pack
from ..device.stream import follow_engines
from ..grid import THREADS, blocks_for
from ..memory.workspace import Workspace
from .parts.reductions.largest import largest

_SOURCE: Final = "in_order.cu"


def ids_to_host(device: Device, vertices: Array | None, count: int) -> npt.NDArray[np.int64]:
    """int64[count] in host memory: users' ids of a result; None: they are 0, 1, 2 and so on."""
    if vertices is None:
        # Made there: new memory of the host costs more than the bytes on the bus.
        with device.current(), device.errors_named("making a column"):
            vertices = device.xp.arange(count, dtype=np.int64)
    return kept_to_host(device, vertices)


def kept_to_host(device: Device, kept: Array) -> npt.NDArray[Any]:
    """A column of a result in host memory, whichever stream is current now."""
    follow_engines(device)
    return device.to_locked_host(kept)


class KeptValues:
    """Columns of a `ValuesResult` on the device, in increasing order of users' ids.

    ``vertices``: these ids; None: 0, 1, 2 …
    """

    def __init__(self, device: Device, vertices: Array | None, values: Array) -> None:
        self._device = device
        self._vertices, self._values = vertices, values

    @cached_property
    def vertices(self) -> npt.NDArray[np.int64]:
        """int64[n] in host memory."""
        return ids_to_host(self._device, self._vertices, int(self._values.size))

    @cached_property
    def values(self) -> npt.NDArray[Any]:
        """[n] in host memory."""
        return kept_to_host(self._device, self._values)

    def largest(self, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """As of `by_vertex.Values`."""
        if self._values.dtype != np.float64:
            return HostValues(self.vertices, self.values).largest(k)
        follow_engines(self._device)
        return largest(self._device, self._values, self._vertices, k)


def values_in_order(
    workspace: Workspace, values: Array, order: Array | None, vertices: Array | None
) -> KeptValues:
    """Columns of a `ValuesResult`; new arrays on the device, waits for nothing.

    Parameters
    ----------
    values
        [vertex_count], by vertex index; not changed afterwards.
    order
        uint32[n], vertex indices in increasing order of users' ids; None: 0, 1, 2 …
    vertices
        int64[n], those ids; None: 0, 1, 2 …
    """
    device = workspace.device
    return KeptValues(device, vertices, values if order is None else _taken(device, values, order))


def _taken(device: Device, values: Array, order: Array) -> Array:
    """The values of the vertices ``order``; a new array on the device.

    CuPy's ``take`` is several times as long on the way to its launch.
    """
    taken = device.empty(order.size, values.dtype)
    device.launch_packed(
        _SOURCE, "take_values", blocks_for(order.size), THREADS,
        pack(address(order), order.size, values.itemsize, address(values), address(taken)),
    )  # fmt: skip
    return taken


def values_by_index(
    workspace: Workspace,
    values: npt.NDArray[Any],
    vertices: Array | npt.NDArray[np.uint32] | None,
    count: int,
) -> Array:
    """[count], a new array on the device, as of the host twin; waits for nothing.

    Parameters
    ----------
    values
        [n], in host memory; of 1, 4 or 8 bytes each.
    vertices
        uint32[n], indices, on the device or not; None: 0, 1, 2 …
    """
    device = workspace.device
    if vertices is None:
        return device.to_device(values)
    by_index = device.empty(count, values.dtype)
    device.fill_bytes(address(by_index), by_index.nbytes, 0)
    put_values(device, values, vertices, by_index)
    return by_index


def put_values(
    device: Device,
    values: npt.NDArray[Any],
    vertices: Array | npt.NDArray[np.uint32],
    by_index: Array,
) -> None:
    """Put values, in host memory, where the indices of their vertices say; waits for nothing."""
    given = device.to_device(values)
    if isinstance(vertices, np.ndarray):
        vertices = device.to_device(vertices)
    device.launch_packed(
        _SOURCE, "put_values", blocks_for(vertices.size), THREADS,
        pack(
            address(vertices), vertices.size, given.itemsize, address(given), address(by_index)
        ),
    )  # fmt: skip

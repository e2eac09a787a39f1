"""Labels of components in CUDA: the first vertex of each, in the order of ids.

Kernels: ``component_names.cu``.
"""

from typing import Final

import numpy as np

from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.scratch import Scratch

_SOURCE: Final = "component_names.cu"

#: Bytes of scratch that `name_components` takes for each vertex index.
NAME_BYTES: Final = 4
#: Each byte of the first vertex of a component that is not found yet.
_UNKNOWN_BYTE: Final = 0xFF


def name_components(
    device: Device, scratch: Scratch, order: Array | None, vertices: int, root: Array
) -> None:
    """Make roots positions in the order of ids, of the first vertex with the same root.

    Waits for nothing.

    Parameters
    ----------
    order
        uint32[n], vertex indices in increasing order of users' ids; None: 0, 1, 2 …
    vertices
        n, the vertices that are in the graph.
    root
        uint32[vertex_count], overwritten; of no meaning for absent vertices.
    """
    count = int(root.size)
    first = scratch.take(count, np.uint32)
    device.fill_bytes(address(first), first.nbytes, _UNKNOWN_BYTE)
    device.launch(
        _SOURCE, "find_first", blocks_for(vertices), THREADS, order, np.uint64(vertices), root,
        first,
    )  # fmt: skip
    device.launch(
        _SOURCE, "name_components", blocks_for(count), THREADS, np.uint64(count), first, root
    )

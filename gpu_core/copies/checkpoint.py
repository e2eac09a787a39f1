"""What a checkpoint keeps of a graph, as arrays by vertex index.

How they become a graph again: ``checkpoint_pieces.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..batch.mean_degree import mean_degree
from ..errors import SettingsError
from ..kind import GraphKind
from .snapshot import fold

# Not imported: who writes or shows tables need not wait for Numba.
if TYPE_CHECKING:
    from ..engine import Reader

#: Arrays that every checkpoint has.
_NAMES: Final = ("vertex_ids", "present", "out_degree", "free_indices", "dst_index")
#: What properties of the user's own begin with, among the arrays of a checkpoint.
EDGE_PREFIX, VERTEX_PREFIX = "edge property ", "vertex property "


def check_names(arrays: object) -> None:
    """Refuse what is no mapping, or lacks an array that every checkpoint has."""
    if not isinstance(arrays, Mapping):
        msg = f"arrays is a {type(arrays).__name__}; give what checkpoint_arrays() returned"
        raise SettingsError(msg)
    lacking = next((name for name in _NAMES if name not in arrays), None)
    if lacking is not None:
        msg = f"arrays has no {lacking!r}; give all that checkpoint_arrays() returned"
        raise SettingsError(msg)


def own_properties(
    arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> dict[str, npt.NDArray[Any]]:
    """Properties of the user's own among the arrays of a checkpoint, by their names."""
    own = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): array for name, array in own.items()}


def checkpoint_arrays(reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
    """Everything that a restart needs, by vertex index; see `DynamicGraph.checkpoint_arrays`."""
    everyone = np.arange(reader.vertex_count, dtype=np.int64)
    indptr, columns, properties = reader.csr(everyone)
    degrees, columns, properties = fold(indptr, columns, properties, directed=reader.kind.directed)
    present = reader.present()
    return {
        "vertex_ids": np.where(present, reader.user_ids(), 0),
        "present": present,
        "out_degree": degrees.astype(np.uint32),
        "free_indices": reader.queued_vertices(),
        "dst_index": columns,
        **properties,
    }


def kept_mean_degree(arrays: Mapping[str, npt.NDArray[Any]], kind: GraphKind) -> float | None:
    """Mean degree by which the graph of such arrays has its pages; else that of its edges.

    None where it has none.
    """
    if "mean_degree" in arrays:
        return float(arrays["mean_degree"][0])
    return mean_degree(kind, np.flatnonzero(arrays["out_degree"]), arrays["dst_index"])

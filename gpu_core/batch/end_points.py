"""End points that a batch names and that will not exist: refused where vertices are not created."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..printable import batch_shown, name_shown

UInt32s = npt.NDArray[np.uint32]


class MissingEndPointError(BatchError):
    """An edge to put names a vertex that is not there.

    It crosses process borders as its message alone, a `BatchError`.

    Parameters
    ----------
    batch_id
        The batch.
    source, target, vertex
        The edge, and which of the two it is: ids of the engine's, or of the user's.
    """

    def __init__(self, batch_id: int, source: Any, target: Any, vertex: Any) -> None:
        ends = ", ".join(map(name_shown, (source, target)))
        super().__init__(
            f"{batch_shown(batch_id)}: edge ({ends}) names vertex {name_shown(vertex)}, which is "
            f"not in the graph; insert the vertex first, or set create_vertices to true"
        )
        self.batch_id = batch_id
        self.ends = source, target, vertex

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchError, self.args


def check_end_points(
    batch_id: int,
    ids: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]],
    indices: tuple[UInt32s, UInt32s],
    is_missing: npt.NDArray[np.bool_],
) -> None:
    """Refuse a batch that puts an edge whose end point is missing.

    Parameters
    ----------
    ids
        Edges to put in users' ids, as CSR: rows, indptr, columns.
    indices
        The rows and columns as vertex indices: uint32[rows], uint32[edges].
    is_missing
        bool[vertex_count]: vertices that are not there after the batch's vertex rows.

    Raises
    ------
    BatchError
        An end point is missing; the text names the first edge and the vertex.
    """
    (sources, indptr, targets), (rows, columns) = ids, indices
    row_missing = is_missing[rows]
    missing = np.repeat(row_missing, np.diff(indptr)) | is_missing[columns]
    if not missing.any():
        return
    at = int(np.argmax(missing))
    row = int(np.searchsorted(indptr, at, "right")) - 1
    source, target = int(sources[row]), int(targets[at])
    vertex = source if row_missing[row] else target
    raise MissingEndPointError(batch_id, source, target, vertex)

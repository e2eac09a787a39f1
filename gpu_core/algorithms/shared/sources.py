"""Vertices that a search starts from: checked ids, as vertex indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...choices import as_integers
from ...errors import SettingsError, VertexNotFoundError
from ...printable import others_shown
from ...properties.masked import refuse_masked

if TYPE_CHECKING:
    from ...engine import Reader

Int64s = npt.NDArray[np.int64]


def source_indices(
    reader: Reader, name: str, sources: npt.ArrayLike, *, unknown: str
) -> npt.NDArray[np.uint32]:
    """Vertex indices of some ids.

    Parameters
    ----------
    name
        The argument's, for messages.
    sources
        Users' id of a vertex, or int64[k]: of several; the same id may come twice.
    unknown
        What becomes of ids that are not in the graph: ``"error"``, or ``"skip"``.

    Returns
    -------
    uint32[j]
        Different indices, increasing; none where all ids were skipped.

    Raises
    ------
    VertexNotFoundError
        A source is not in the graph.
    SettingsError
        ``sources`` are no ids, or there are none; ``unknown`` is neither of the two.
    """
    check_unknown(unknown)
    from ...image.fields import NONE  # brings Numba, which a declaration does without

    ids = ids_of(name, sources)
    indices = reader.indices_of(ids)
    missing = ids[indices == NONE]
    if missing.size and unknown == "error":
        more = others_shown(missing.size - 1)
        what = "source" if name in ("source", "sources") else f"{name} vertex"
        msg = f"{what} {{vertex}} is not in the graph{more}; check with has_vertices()"
        raise VertexNotFoundError.of_vertex(msg, missing[0])
    return np.unique(indices[indices != NONE])


def check_unknown(unknown: str) -> None:
    """Refuse what says neither that unknown vertices are an error nor that they are skipped."""
    if unknown not in ("error", "skip"):
        msg = f"unknown={unknown!r} is unknown; use 'error' or 'skip'"
        raise SettingsError(msg)


def ids_of(name: str, sources: npt.ArrayLike) -> Int64s:
    """Ids as int64[k]; `SettingsError` where they are none."""
    refuse_masked(name, sources)
    try:
        array = np.atleast_1d(as_integers(sources))
    except ValueError:
        msg = f"{name} has items of several kinds; give the id of a vertex, or of several"
        raise SettingsError(msg) from None
    if not array.size:
        msg = f"{name} is empty; give the id of a vertex, or of several"
        raise SettingsError(msg)
    is_whole = array.dtype.kind == "i" or (
        array.dtype.kind == "u" and array.max() <= np.iinfo(np.int64).max
    )
    if array.ndim != 1 or not is_whole:
        msg = (
            f"{name} must be an id (int64) or an array of ids; got {array.dtype}{list(array.shape)}"
        )
        raise SettingsError(msg)
    return array.astype(np.int64)

"""Values of some vertices, as a parameter of an analytic: a mapping, or a file that has them.

A file is Parquet or CSV (by its name, ``.csv`` also packed as Arrow knows it) with the columns
``vertex`` and ``value``. It is read by the client, so workers need not see it. What is told of the
values later on, in results, is the mapping itself, or the file's name, the number of its rows and a
digest of them: so that the same file with other rows is another parameter.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from ..gpu_core.errors import SettingsError

_TYPES = {"vertex": pa.int64(), "value": pa.float64()}
_INT64 = np.iinfo(np.int64)


class VertexValues(NamedTuple):
    """Values of some vertices."""

    #: int64[n] and float64[n]: vertices, and the value of each.
    arrays: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
    #: What is told of them, fit for JSON.
    shown: dict[str, Any]


def vertex_values(given: Mapping[Any, float] | str, setting: str) -> VertexValues:
    """Read values of vertices as a setting gives them.

    Parameters
    ----------
    given
        Ids (integers, or text of such) with their values, none negative; or the path of a file.
    setting
        Name of the setting, for messages.

    Raises
    ------
    SettingsError
        The file cannot be read or lacks a column; an id is no int64 or is there twice; a value is
        negative, not finite or null; or all are 0.
    """
    if isinstance(given, str):
        vertices, values = _of_file(Path(given), f"{setting}: {given}")
        _check(vertices, values, f"{setting}: {given}")
        digest = hashlib.sha256(vertices.tobytes() + values.tobytes()).hexdigest()
        shown = {"file": given, "vertices": int(vertices.size), "sha256": digest}
        return VertexValues((vertices, values), shown)
    ids = [int(each) for each in given]
    outside = [each for each in ids if not _INT64.min <= each <= _INT64.max]
    if outside:
        msg = f"{setting}: vertex {outside[0]} is not within int64; use ids that are in the graph"
        raise SettingsError(msg)
    vertices, values = np.array(ids, np.int64), np.array(list(given.values()), np.float64)
    _check(vertices, values, setting)
    pairs = zip(ids, values.tolist(), strict=True)
    return VertexValues((vertices, values), {str(each): value for each, value in pairs})


def _of_file(path: Path, shown: str) -> tuple[Any, Any]:
    try:
        table = _read(path)
        columns = [table[name].cast(kind) for name, kind in _TYPES.items()]
    except (OSError, pa.ArrowException, KeyError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        msg = (
            f"{shown} cannot be read: {reason}; give a Parquet or CSV file with a column vertex of "
            f"integers and a column value of numbers"
        )
        raise SettingsError(msg) from None
    for name, column in zip(_TYPES, columns, strict=True):
        if column.null_count:
            msg = f"{shown}: column {name} has a null; leave such rows out"
            raise SettingsError(msg)
    vertices, values = (np.ascontiguousarray(column.to_numpy()) for column in columns)
    return vertices, values


def _read(path: Path) -> pa.Table:
    if ".csv" not in path.suffixes:
        return pq.read_table(path, columns=list(_TYPES), partitioning=None)
    options = csv.ConvertOptions(column_types=_TYPES, include_columns=list(_TYPES))
    return csv.read_csv(path, convert_options=options)


def _check(vertices: npt.NDArray[np.int64], values: npt.NDArray[np.float64], shown: str) -> None:
    ids, counts = np.unique(vertices, return_counts=True)
    if (counts > 1).any():
        msg = f"{shown} names vertex {ids[counts > 1][0]} more than once; name it once"
        raise SettingsError(msg)
    wrong = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
    if wrong.size:
        msg = (
            f"{shown} gives vertex {vertices[wrong[0]]} the value {values[wrong[0]]}; values must "
            f"be finite and >= 0"
        )
        raise SettingsError(msg)
    if not 0 < values.sum() < np.inf:
        msg = f"{shown} has values that sum to {values.sum()}; at least one must be > 0"
        raise SettingsError(msg)

"""Values of some vertices, as a parameter of an analytic: a mapping, or a file that has them.

A file is Parquet or CSV (by its name, ``.csv`` also packed as Arrow knows it) with the columns
``vertex`` and ``value``. It is read by the client, so workers need not see it. Results keep the
mapping itself as the parameter, or the file's name, the number of its rows and a digest of them: so
the same file with other rows is another parameter.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from ...gpu_core.errors import BatchError, SettingsError
from ...gpu_core.id_kinds import are_names, form_of, is_whole
from ...gpu_core.names.uuid_text import uuid_of
from ..arrow_types import floats_of_decimals, is_text, plain_type
from ..error_text import one_line
from ..log.columns.column_types import cure_of_ids, id_type_of_text, is_id
from ..parquet.arrow_paths import arrow_path
from ..text.text_values import typed

#: Names of files of CSV, packed or not.
_CSV = re.compile(r"\.csv(\.(gz|bz2|zst|lz4))?$", re.IGNORECASE)


class VertexValues(NamedTuple):
    """Values of some vertices."""

    #: Ids [n] as their graph has them and float64[n]: vertices, and the value of each.
    arrays: tuple[npt.NDArray[Any], npt.NDArray[np.float64]]
    #: Their description, fit for JSON.
    shown: dict[str, Any]


def vertex_values(given: Mapping[Any, float] | str, setting: str, ids: str = "any") -> VertexValues:
    """Read values of vertices as a setting gives them.

    Parameters
    ----------
    given
        Ids (or text of such, where they are numbers) with their values, none negative; or the path
        of a file.
    setting
        Name of the setting, for messages.
    ids
        Kind of the graph's ids.

    Raises
    ------
    SettingsError
        The file cannot be read or lacks a column; an id is no int64 or is there twice; a value is
        negative, not finite or null; or all are 0.
    """
    if isinstance(given, str):
        vertices, values = _of_file(Path(given), f"{setting}: {given}", ids)
        vertices = _in_one_form(vertices, f"{setting}: {given}", ids)
        _check(vertices, values, f"{setting}: {given}")
        digest = hashlib.sha256(_bytes_of(vertices) + values.tobytes()).hexdigest()
        shown = {"file": given, "vertices": int(vertices.size), "sha256": digest}
        return VertexValues((vertices, values), shown)
    vertices = _in_one_form(_ids_of(list(given), setting, ids), setting, ids)
    values = np.array(list(given.values()), np.float64)
    _check(vertices, values, setting)
    pairs = zip(vertices.tolist(), values.tolist(), strict=True)
    return VertexValues((vertices, values), {str(each): value for each, value in pairs})


def _ids_of(given: list[Any], setting: str, ids: str) -> npt.NDArray[Any]:
    """Ids that a setting names."""
    if are_names(ids):
        return np.array([str(each) for each in given], object)
    kind = np.uint64 if ids == "uint64" else np.int64
    limits = np.iinfo(kind)
    wrong = [each for each in given if not is_whole(each)]
    if wrong:
        msg = f"{setting}: vertex {wrong[0]!r} is no whole number; ids are {np.dtype(kind)} here"
        raise SettingsError(msg)
    numbers = [int(each) for each in given]
    outside = [each for each in numbers if not limits.min <= each <= limits.max]
    if outside:
        msg = (
            f"{setting}: vertex {outside[0]} is not within {np.dtype(kind)}; use ids that are in "
            f"the graph"
        )
        raise SettingsError(msg)
    return np.array(numbers, kind)


def _in_one_form(vertices: npt.NDArray[Any], shown: str, ids: str) -> npt.NDArray[Any]:
    """Ids, UUIDs among them in one form: two of their texts may be of one vertex."""
    if form_of(ids) != "uuid":
        return vertices
    try:
        texts = [str(UUID(bytes=uuid_of(each.encode()))) for each in vertices]
    except (BatchError, UnicodeEncodeError) as error:
        msg = f"{shown}: vertex {error}"
        raise SettingsError(msg) from None
    return np.array(texts, object)


def _bytes_of(vertices: npt.NDArray[Any]) -> bytes:
    if vertices.dtype == object:
        return "\0".join(vertices.tolist()).encode()
    return vertices.tobytes()


def _of_file(path: Path, shown: str, ids: str) -> tuple[Any, Any]:
    what = "names" if are_names(ids) else "integers"
    try:
        table = _read(path, ids)
        given = table.schema.field("vertex").type
        if not _may_be_ids(given, ids):
            msg = f"{shown}: column vertex is of type {given}; {cure_of_ids(given, form_of(ids))}"
            raise SettingsError(msg)
        value = table["value"]
        columns = {
            "vertex": _ids_of_column(table["vertex"], ids),
            "value": floats_of_decimals(value)
            if pa.types.is_decimal(value.type)
            else value.cast(pa.float64()),
        }
    except SettingsError:
        raise
    except (OSError, ValueError, pa.ArrowException, KeyError) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        if isinstance(error, FileNotFoundError):  # of which Arrow names the path alone
            reason = "there is no such file"
        msg = (
            f"{shown} cannot be read: {reason}; give a Parquet or CSV file with a column vertex of "
            f"{what} and a column value of numbers"
        )
        raise SettingsError(msg) from None
    for name, column in columns.items():
        if column.null_count:
            msg = f"{shown}: column {name} has a null; leave such rows out"
            raise SettingsError(msg)
    vertices, values = (np.ascontiguousarray(each.to_numpy()) for each in columns.values())
    return vertices, values


def _may_be_ids(kind: pa.DataType, ids: str) -> bool:
    """Whether a column of this type can be ids: as in a log, text of numbers, or numbers as names.

    Arrow would make ids of truth values and times as well.
    """
    is_number = pa.types.is_integer(plain_type(kind))
    return is_text(kind) or is_number or is_id(kind, form_of(ids))


def _ids_of_column(column: pa.ChunkedArray, ids: str) -> Any:
    """Ids of any type that they may be; ArrowInvalid or ValueError where a value is none."""
    kind = id_type_of_text(ids)
    if are_names(ids) and is_id(column.type, form_of(ids)) and not is_text(column.type):
        return pa.chunked_array([[_uuid_text(each) for each in column.to_pylist()]], pa.string())
    if is_text(column.type) and not are_names(ids):
        return typed(pc.utf8_trim(column.cast(pa.string()), characters=" \t"), kind, None)
    return column.cast(kind)


def _uuid_text(value: bytes | UUID | None) -> str | None:
    return None if value is None else str(UUID(bytes=value) if isinstance(value, bytes) else value)


def _read(path: Path, ids: str) -> pa.Table:
    names = ["vertex", "value"]
    if not _CSV.search(path.name):
        return pq.read_table(arrow_path(path), columns=names, partitioning=None)
    options = csv.ConvertOptions(
        column_types={"vertex": pa.string(), "value": pa.float64()},
        include_columns=names,
        strings_can_be_null=not are_names(ids),
    )
    return csv.read_csv(arrow_path(path), convert_options=options)


def _check(vertices: npt.NDArray[Any], values: npt.NDArray[np.float64], shown: str) -> None:
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
    with np.errstate(over="ignore"):
        total = values.sum()
    if not 0 < total < np.inf:
        msg = (
            f"{shown} has values that sum to {total}; at least one must be > 0, and the sum finite"
        )
        raise SettingsError(msg)

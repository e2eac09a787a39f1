"""Hive partitioning: columns in the path of a file, such as ``date=2026-01-01/part-0.parquet``.

Each folder ``key=value`` within the log, or right around an address of it, is a column of one
value. The file's own column of that name, where it has one, is taken instead.
"""

from collections.abc import Mapping
from urllib.parse import unquote

import pyarrow as pa

from ...text.text_types import type_of_time
from ...text.text_values import typed
from ..columns.column_types import id_type_of_text, property_type_of_text
from ..file_errors import UnusableFileError

#: How writers call the folder of rows without a value.
_NULL = "__HIVE_DEFAULT_PARTITION__"

#: Arrow type of a partition by the column of a log that it is.
_TYPES = {
    "op": pa.string(),
    "weight": pa.float64(),
    "type": pa.int32(),
}


def partitions_of(name: str) -> dict[str, str | None]:
    """Key -> value of each folder ``key=value`` in a file's name; None stands for null."""
    found: dict[str, str | None] = {}
    for folder in name.split("/")[:-1]:
        if is_partition(folder):
            key, _, value = _decoded(folder).partition("=")
            found[unquote(key)] = None if value == _NULL else unquote(value)
    return found


def is_partition(folder: str) -> bool:
    """Whether the name of a folder is ``key=value``."""
    key, equals, _ = _decoded(folder).partition("=")
    return bool(key and equals)


def _decoded(folder: str) -> str:
    """As the folder is called where it lies: servers of HTTP list it as ``key%3Dvalue``."""
    return folder if "=" in folder else unquote(folder)


def hidden_note(key: str) -> str:
    """Sentence on a partition that files have a column of, too."""
    return f"partition {key}: files have a column of that name, which is taken instead"


def partition_values(
    partitions: Mapping[str, str | None],
    columns: Mapping[str, str],
    shown: str,
    own: Mapping[str, str],
    ids: str,
) -> dict[str, pa.Scalar]:
    """Partitions as Arrow scalars.

    Parameters
    ----------
    partitions
        As `partitions_of` gives them.
    columns
        Name in the files -> canonical column, for those that are columns of a log.
    shown
        Name of the file, for messages.
    own
        Type of each property of the user's own.
    ids
        Kind of the graph's ids: names are taken as they stand there.

    Raises
    ------
    UnusableFileError
        A value is not what its column needs.
    """
    types = _TYPES | dict.fromkeys(("src", "dst"), id_type_of_text(ids))
    types |= {name: property_type_of_text(kind) for name, kind in own.items()}
    return {
        key: _scalar(key, value, columns.get(key), shown, types, own)
        for key, value in partitions.items()
    }


def _scalar(
    key: str,
    value: str | None,
    canonical: str | None,
    shown: str,
    types: Mapping[str, pa.DataType],
    own: Mapping[str, str],
) -> pa.Scalar:
    kind = types.get(canonical or "", pa.string())
    if canonical == "ts":
        kind = pa.int64() if value is None else type_of_time(value) or pa.int64()
    try:
        floats = own.get(canonical or "", "")
        is_float = floats.startswith("float")
        return typed(pa.array([value], pa.string()), kind, floats if is_float else None)[0]
    except pa.ArrowInvalid:
        wanted = "a time" if canonical == "ts" else f"a value of type {kind}"
        msg = f"{shown}: the folder {key}={value} has no {canonical}: {value!r} is not {wanted}"
        raise UnusableFileError(msg) from None

"""Kinds of Arrow types, with or without a dictionary: text, bytes, UUIDs, decimals; and nulls.

For whatever holds them: logs, frames, exported files. What a column of a log may be:
``log/columns/column_types.py``.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Type of the values of a column: without a dictionary, and without a type of its own."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text, dictionary-encoded or not."""
    kind = plain_type(kind)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_bytes(kind: pa.DataType) -> bool:
    """Whether an Arrow type is bytes, as many as a value has: UUIDs, if each has 16."""
    kind = plain_type(kind)
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_uuid(kind: pa.DataType) -> bool:
    """Whether an Arrow type is 16 bytes: Arrow's own for UUIDs, or one without a meaning."""
    return bool(plain_type(kind) == pa.binary(16))


def is_whole_decimal(kind: pa.DataType) -> bool:
    """Whether all decimals of a type are whole numbers; int64 need not hold them."""
    return bool(pa.types.is_decimal(kind)) and kind.scale == 0


def valid_mask(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_] | None:
    """Which values of a column are not null; None where all are."""
    if not column.null_count:
        return None
    valid = column.is_valid()
    # A column of chunks gives a copy in any case, and takes no such argument.
    is_one = isinstance(valid, pa.Array)
    flags: npt.NDArray[np.bool_] = (
        valid.to_numpy(zero_copy_only=False) if is_one else valid.to_numpy()
    )
    return flags


def floats_of_decimals(column: Any) -> Any:
    """The nearest float64 of each decimal."""
    # By text: Arrow's own cast to float64 is off by the last bit for one in eight.
    return column.cast(pa.string()).cast(pa.float64())

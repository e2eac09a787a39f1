"""Kinds of Arrow types, with or without a dictionary: text, bytes, UUIDs, decimals.

For whatever holds them: logs, frames, exported files. What a column of a log may be:
``log/columns/column_types.py``.
"""

from typing import Any

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


def floats_of_decimals(column: Any) -> Any:
    """The nearest float64 of each decimal."""
    # By text: Arrow's own cast to float64 is off by the last bit for one in eight.
    return column.cast(pa.string()).cast(pa.float64())

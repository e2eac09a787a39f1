"""Columns of names, as Arrow has them, for `gpu_core/names/distinct.py`: without Python's strings.

Text of any of Arrow's kinds, each value for itself or through a dictionary; UUIDs as 16 bytes, of
fixed size or not, as Arrow's own type for them, or as text. An empty text is a name as any other; a
null is none.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ....gpu_core.batch.bad_rows import BadRowsError
from ....gpu_core.errors import BatchError
from ....gpu_core.names.distinct import NameColumn
from ....gpu_core.names.strings import Strings
from ....gpu_core.names.uuid_text import uuid_of
from ....gpu_core.names.uuids import SIZE, fixed, uuids_of_text
from ...arrow_types import is_bytes, is_uuid, valid_mask

#: Offsets of 32 bits reach so far.
_MOST_BYTES = (1 << 31) - 1

RowName = Callable[[int], str]


def name_column(column: pa.ChunkedArray, form: str, name: str, row_name: RowName) -> NameColumn:
    """Make a column of names of one of Arrow.

    Parameters
    ----------
    column
        Of a type that `column_types.is_id` holds for.
    form
        ``string`` or ``uuid``.
    name, row_name
        Name of the column, and of a row by its position, for messages.

    Raises
    ------
    BadRowsError
        A text is not UTF-8, or no UUID.
    """
    chunks = [_plain(chunk) for chunk in column.chunks]
    valid = valid_mask(column)
    if not chunks:
        return NameColumn(Strings.of([]))
    if not pa.types.is_dictionary(chunks[0].type):
        strings = _strings(_joined(chunks), form, name, row_name, valid)
        return NameColumn(strings, None, valid)
    # Names may stand in several dictionaries: who numbers them sees that they are the same.
    dictionaries = [chunk.dictionary for chunk in chunks]
    before = np.cumsum([0, *map(len, dictionaries)])
    parts = [chunk.indices.fill_null(0).to_numpy(zero_copy_only=False) for chunk in chunks]
    # A column of one chunk is used as it lies.
    indices = (
        np.concatenate([part + before[at] for at, part in enumerate(parts)])
        if len(parts) > 1
        else parts[0]
    )

    try:
        return NameColumn(
            _strings(_joined(dictionaries), form, name, row_name, None), indices, valid
        )
    except BadRowsError as error:
        words = error
    bad = words.bad[indices] if valid is None else words.bad[indices] & valid
    if bad.any():
        raise BadRowsError(bad, row_name, lambda row: words.reason(int(indices[row])))
    # Only words that no row has are none.
    plain = pa.chunked_array(chunks)
    return name_column(plain.cast(plain.type.value_type), form, name, row_name)


def _plain(chunk: pa.Array) -> pa.Array:
    """Values, or words of a dictionary, without Arrow's type for UUIDs, and with offsets."""
    if pa.types.is_dictionary(chunk.type):
        words = _plain(chunk.dictionary)
        if words is chunk.dictionary:
            return chunk
        return pa.DictionaryArray.from_arrays(chunk.indices, words)
    chunk = chunk.storage if isinstance(chunk.type, pa.BaseExtensionType) else chunk
    if pa.types.is_string_view(chunk.type):
        return chunk.cast(pa.large_string())
    return chunk.cast(pa.large_binary()) if pa.types.is_binary_view(chunk.type) else chunk


def _joined(chunks: list[pa.Array]) -> pa.Array:
    if len(chunks) == 1:
        return chunks[0]
    if sum(chunk.nbytes for chunk in chunks) > _MOST_BYTES and pa.types.is_string(chunks[0].type):
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    return pa.concat_arrays(chunks)


def _strings(
    values: pa.Array,
    form: str,
    name: str,
    row_name: RowName,
    valid: npt.NDArray[np.bool_] | None,
) -> Strings:
    """Bytes of the values."""
    if is_bytes(values.type):
        values = _of_fixed_size(values, name, row_name)
    if is_uuid(values.type):
        data = _bytes(values.buffers()[1])[values.offset * SIZE :]
        return fixed(data[: len(values) * SIZE])
    values.validate()
    if len(values) == 0:
        return Strings.of([])
    _, starts, content = values.buffers()
    width = np.int32 if pa.types.is_string(values.type) else np.int64
    offsets = np.frombuffer(
        starts, width, len(values) + 1, values.offset * np.dtype(width).itemsize
    )
    data = _bytes(content)
    if not _is_ascii(offsets, data):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid:
            _refuse(values, name, row_name, _decode)
            raise
    strings = Strings(offsets.astype(np.int64), data)
    if form == "string":
        return strings
    found = strings if valid is None else strings.take(np.flatnonzero(valid))
    try:
        uuids = uuids_of_text(found)
    except BatchError:
        _refuse(values, name, row_name, uuid_of)
        raise
    if valid is None:
        return uuids
    data = np.zeros((len(values), SIZE), np.uint8)
    data[valid] = uuids.data.reshape(-1, SIZE)
    return fixed(data.reshape(-1))


def _of_fixed_size(values: pa.Array, name: str, row_name: RowName) -> pa.Array:
    """Bytes as UUIDs; what stands for a null is of no meaning."""
    wrong = pc.fill_null(pc.binary_length(values), SIZE).to_numpy() != SIZE
    if wrong.any():
        raise BadRowsError(
            wrong,
            row_name,
            lambda row: (
                f"{name} is {values[row].as_py()!r}, which is no UUID: that has {SIZE} bytes; "
                f"correct the row, or leave it out"
            ),
        )
    return pc.fill_null(values, bytes(SIZE)).cast(pa.binary(SIZE))


def _is_ascii(offsets: npt.NDArray[Any], data: npt.NDArray[np.uint8]) -> bool:
    """Whether all texts are certainly UTF-8: they lie in order, and no byte has its upper bit.

    Most names are so: 2 M texts of 12 bytes take 5 ms where Arrow's check of each took 13, with the
    copy of their offsets.
    """
    if (offsets[1:] < offsets[:-1]).any():
        return False
    return int(data[offsets[0] : offsets[-1]].max(initial=0)) < 128


def _refuse(
    values: pa.Array, name: str, row_name: RowName, check: Callable[[bytes], object]
) -> None:
    """Raise for the rows whose value fails a check."""
    bad = np.zeros(len(values), np.bool_)
    kind = pa.large_binary() if pa.types.is_large_string(values.type) else pa.binary()
    texts = values.view(kind).to_pylist()
    for row, text in enumerate(texts):
        try:
            if text is not None:
                check(text)
        except (UnicodeDecodeError, BatchError):
            bad[row] = True
    if bad.any():

        def reason(row: int) -> str:
            is_text = check is not _decode
            shown, what = (texts[row].decode(), "no UUID") if is_text else (texts[row], "no UTF-8")
            return f"{name} is {shown!r}, which is {what}; correct the row, or leave it out"

        raise BadRowsError(bad, row_name, reason)


def _decode(text: bytes) -> str:
    return text.decode()


def _bytes(buffer: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    return np.frombuffer(buffer, np.uint8) if buffer is not None else np.empty(0, np.uint8)

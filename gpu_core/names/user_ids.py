"""Conversion between users' ids and the int64 ids of engines.

=========  =======================  ==============================================================
``ids``    users see                an engine sees
=========  =======================  ==============================================================
``any``    int64                    the same, through its dictionary
``dense``  int64                    the same: the vertex index
``uint64`` uint64                   the number less 2^63, in the same order
``string`` str                      the key of its UTF-8 bytes (``hashing.py``, ``table.py``)
``uuid``   str, such as ``0123…``   the key of its 16 bytes
=========  =======================  ==============================================================

A `UserIds` is made with a graph and shared by its epochs. Every call that takes ids asks it for
their keys, and every one that gives ids for what to show (`face/graph_calls.py`). Results come in
the order of the keys: that of the numbers, and of names an order which is always the same, and not
that of the alphabet.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..choices import as_integers, is_integer
from ..errors import BatchError, SettingsError
from ..id_kinds import are_names, form_of, hash_bits, number_of_key
from ..printable import counted, name_shown
from .distinct import BatchNames, NameColumn
from .strings import Strings
from .table import Mark, Names
from .uuids import SIZE, text_of_uuids, uuids_of_text

Int64s = npt.NDArray[np.int64]
Column = npt.NDArray[Any]
Arrays = Mapping[str, npt.NDArray[Any]]

_SIGN = np.uint64(1 << 63)

# -- columns of rows -------------------------------------------------------------------------


def id_column(ids: str, name: str, values: Any) -> Any:
    """A column of users' ids as rows of a batch have it: numbers, or a `NameColumn`.

    Parameters
    ----------
    ids
        Kind of the ids.
    name
        Of the column, for messages.
    values
        Array or list of ids; or a `NameColumn`, which is what it is.

    Raises
    ------
    BatchError
        They are no ids of this kind.
    """
    if isinstance(values, NameColumn):
        return values
    if are_names(ids):
        return NameColumn(names_of(ids, name, values))
    return signed(unsigned_ids(name, values)) if form_of(ids) == "uint64" else as_ids(name, values)


def given_ids(ids: str, name: str, values: Any) -> Any:
    """A column of ids of a call, checked: int64 or uint64 of the user's own, or a `NameColumn`."""
    return unsigned_ids(name, values) if form_of(ids) == "uint64" else id_column(ids, name, values)


def as_ids(name: str, values: npt.ArrayLike) -> Int64s:
    """Return values as int64[n]; `BatchError` where they are not whole numbers in range."""
    return np.ascontiguousarray(_whole_numbers(name, values, "int64"), np.int64)


def unsigned_ids(name: str, values: npt.ArrayLike) -> Column:
    """Return values as uint64[n]; `BatchError` where they are not whole numbers in range."""
    return _whole_numbers(name, values, "uint64").astype(np.uint64)


def _whole_numbers(name: str, values: npt.ArrayLike, kind: str) -> Column:
    """Values as an array of integers, of which each fits into a type."""
    array = _of_numbers(name, values)
    if array.shape == (0,):
        return np.empty(0, kind)
    _check_numbers(name, array, kind, values)
    if not np.can_cast(array.dtype, kind):
        _check_range(name, int(array.min()), int(array.max()), kind)
    return array


def signed(numbers: Column) -> Int64s:
    """Keys of unsigned ids: less by 2^63, so that they keep their order."""
    return (numbers ^ _SIGN).view(np.int64)


def _of_numbers(name: str, values: npt.ArrayLike) -> Column:
    """As `as_integers`; `BatchError` where items are of several kinds."""
    try:
        return as_integers(values)
    except ValueError:
        msg = f"{name} has items of several kinds; give whole numbers"
        raise BatchError(msg) from None


def _check_numbers(name: str, array: Column, kind: str, values: Any) -> None:
    """Refuse what is no array of numbers; ``values``: what it was before NumPy took it."""
    _check_dimensions(name, array, values)
    nulls = 0 if array.dtype.kind in "iu" else _null_count(values)
    if isinstance(values, np.ma.MaskedArray):
        # NumPy gives what stands under the mask.
        nulls = np.ma.count_masked(values)
    if array.dtype.kind in "iu" and not nulls:
        return
    if nulls:
        msg = f"{name} has {counted(nulls, 'null')}, and each row needs an id; leave those rows out"
        raise BatchError(msg)
    wrong = []
    if array.dtype.kind == "O":
        wrong = list(islice((each for each in array.flat if not is_integer(each)), 1))
        if not wrong:
            return
    is_text = array.dtype.kind in "UT" or any(isinstance(each, str) for each in wrong)
    cure = "; a graph with ids='string' takes names" if is_text else ""
    found = f"{wrong[0]!r} among its values" if wrong else f"dtype {array.dtype}"
    msg = f"{name} has {found}; vertex ids are whole numbers ({kind}){cure}"
    raise BatchError(msg)


def _check_range(name: str, least: int, most: int, kind: str) -> None:
    """Refuse whole numbers, the least and the largest of which are these, beyond a type."""
    limits = np.iinfo(kind)
    if limits.min <= least and most <= limits.max:
        return
    if kind == "uint64" and least < 0:
        msg = f"{name} has {least}, but ids='uint64' are whole numbers from 0 on"
        raise BatchError(msg)
    room = "uint64" if 0 <= least and most < 2**64 else "string"
    wrong = most if most > limits.max else least
    msg = f"{name} has {wrong}, which does not fit into {kind}; ids={room!r} has room"
    raise BatchError(msg)


def _check_dimensions(name: str, array: Column, values: Any) -> None:
    if array.ndim == 1:
        return
    found = f"has {array.ndim} dimensions" if array.ndim else f"is one {type(values).__name__}"
    cure = "give one array or list of ids"
    if hasattr(values, "columns"):
        found = "is a frame"
        cure = "give its column of ids, and further columns by their names"
    msg = f"{name} {found}; {cure}"
    raise BatchError(msg)


def _null_count(values: Any) -> int:
    """Nulls of a column of Arrow, Polars or pandas; NumPy makes floats or objects of them."""
    if hasattr(values, "null_count"):
        count = values.null_count
        return int(count() if callable(count) else count)
    return int(values.isna().sum()) if hasattr(values, "isna") else 0


def text_of_name(ids: str, name: bytes) -> str:
    """A name for people."""
    return str(uuid.UUID(bytes=name)) if form_of(ids) == "uuid" else name_shown(name.decode())


def text_of_key(ids: str, names: BatchNames | None, key: int) -> str:
    """An id of a batch for people."""
    if names is not None:
        return text_of_name(ids, names.strings[int(np.searchsorted(names.keys, key))])
    return str(number_of_key(ids, key))


def names_of(ids: str, name: str, values: Any) -> Strings:
    """Bytes of names that Python or NumPy has.

    Raises
    ------
    BatchError
        One is no text, or no UUID.
    """
    if np.ma.is_masked(values):
        nulls = counted(int(np.ma.count_masked(values)), "null")
        msg = f"{name} has {nulls}, and each row needs an id; leave those rows out"
        raise BatchError(msg)
    array = values if isinstance(values, list) else np.asarray(values, object)
    if not isinstance(array, list):
        _check_dimensions(name, array, values)
        array = array.tolist()
    form = form_of(ids)
    if form == "uuid":
        array = [_uuid_text(value) for value in array]
    wrong = next((value for value in array if not isinstance(value, str)), None)
    if not all(isinstance(value, str) for value in array):
        msg = f"{name} has {wrong!r} of type {type(wrong).__name__}; ids are {_SHOWN[form]} here"
        raise BatchError(msg)
    try:
        strings = _encoded(array)
    except UnicodeEncodeError as error:
        msg = f"{name} has {error.object!r}, which is no text: {error.reason}"
        raise BatchError(msg) from None
    return uuids_of_text(strings) if form == "uuid" else strings


def _uuid_text(value: object) -> object:
    """A UUID of Python, or its 16 bytes, as text; all else as it is."""
    if isinstance(value, bytes) and len(value) == SIZE:
        value = uuid.UUID(bytes=value)
    return str(value) if isinstance(value, uuid.UUID) else value


_SHOWN = {"string": "strings", "uuid": "UUIDs (ids='uuid')"}


def _encoded(texts: list[str]) -> Strings:
    joined = "".join(texts)
    if not joined.isascii():
        return Strings.of([text.encode() for text in texts])
    starts = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=starts[1:])
    return Strings(starts, np.frombuffer(joined.encode(), np.uint8))


# -- ids of a graph --------------------------------------------------------------------------


class UserIds:
    """Ids that are the int64 of the engine.

    Parameters
    ----------
    kind
        Of the ids, as `DynamicGraph` has it.
    """

    #: What has the names, where ids are such.
    names: Names | None = None

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def keys(self, name: str, values: Any) -> Int64s:
        """int64[n]: what the engine calls these ids; of a name that it does not know `NO_KEY`."""
        return as_ids(name, values)

    def ids_of_keys(self, keys: Int64s) -> Column:
        """Ids of some keys, as users have them."""
        return keys

    def take(self, names: BatchNames | None) -> dict[int, int]:
        """Enter the names of the next batch; see `Names.take`."""
        return {}

    def arrays(self, mark: Mark | None = None) -> dict[str, npt.NDArray[Any]]:
        """Arrays of the ids in a checkpoint."""
        return {}

    def arrays_of(self, keys: Int64s) -> dict[str, npt.NDArray[Any]]:
        """The same of these vertices alone."""
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Take what `arrays` gave; `SettingsError` where that is of other ids."""
        if (self.names is not None) != ("name_keys" in arrays):
            kept = "names" if "name_keys" in arrays else "no names"
            msg = f"ids={self.kind!r}, but the checkpoint has {kept}; give the ids of its graph"
            raise SettingsError(msg)


class UnsignedIds(UserIds):
    """Unsigned numbers of 64 bits."""

    def keys(self, name: str, values: Any) -> Int64s:
        """int64[n]: what the engine calls these ids."""
        return signed(unsigned_ids(name, values))

    def ids_of_keys(self, keys: Int64s) -> Column:
        """uint64[n]."""
        return keys.view(np.uint64) ^ _SIGN


class NamedIds(UserIds):
    """Texts, or UUIDs, through a table of names."""

    names: Names

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.names = Names(hash_bits(kind))

    def keys(self, name: str, values: Any) -> Int64s:
        """int64[n]: what the engine calls these names; `NO_KEY` where it does not know one."""
        return self.names.keys(names_of(self.kind, name, values))

    def ids_of_keys(self, keys: Int64s) -> Column:
        """object[n]: Python's strings."""
        return objects_of(self.texts(keys))

    def texts(self, keys: Int64s) -> Strings:
        """Names of some keys, as UTF-8."""
        strings = self.names.strings(keys)
        return text_of_uuids(strings) if form_of(self.kind) == "uuid" else strings

    def take(self, names: BatchNames | None) -> dict[int, int]:
        """Enter the names of the next batch; see `Names.take`."""
        return {} if names is None else self.names.take(names)

    def arrays(self, mark: Mark | None = None) -> dict[str, npt.NDArray[Any]]:
        """Names and their keys; see `Names.arrays`."""
        return self.names.arrays(mark)

    def arrays_of(self, keys: Int64s) -> dict[str, npt.NDArray[Any]]:
        """The same of these vertices alone."""
        strings = self.names.strings(keys)
        return {"name_keys": keys, "name_starts": strings.starts, "name_bytes": strings.data}

    def restore(self, arrays: Arrays) -> None:
        """Take what `arrays` gave; `SettingsError` where that is of other ids."""
        super().restore(arrays)
        self.names = Names.of(arrays, self.names.bits)


def ids_of_kind(kind: str) -> UserIds:
    """Make the ids of a new graph."""
    if are_names(kind):
        return NamedIds(kind)
    makers: dict[str, Callable[[str], UserIds]] = {"uint64": UnsignedIds}
    return makers.get(form_of(kind), UserIds)(kind)


def objects_of(texts: Strings) -> Column:
    """object[n]: Python's strings."""
    found = np.empty(len(texts), object)
    content = texts.data[texts.starts[0] : texts.starts[-1]].tobytes()
    bounds = (texts.starts - texts.starts[0]).tolist()
    if content.isascii():
        text = content.decode("ascii")
        found[:] = [text[begin:end] for begin, end in pairwise(bounds)]
    else:
        found[:] = [content[begin:end].decode() for begin, end in pairwise(bounds)]
    return found


def is_one(value: object) -> bool:
    """Whether a value is one id, and no array of them."""
    return isinstance(value, str | uuid.UUID) or np.ndim(value) == 0  # type: ignore[arg-type]


def unwrapped(value: Any) -> Any:
    """The one value of an array, or a tensor, without dimensions; others as they are."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def listed(value: Any) -> Any:
    """One id as an array of one; arrays as they are."""
    return [value] if is_one(value) else value


def nth(values: Any, at: int) -> str:
    """One of the ids of a call, for people."""
    return name_shown((values if isinstance(values, list) else np.asarray(values))[at])

"""Kinds of users' own properties: their names, their types, and columns of them.

A property is a number or a truth value of fixed width. What is not given is *missing*: NaN, which
only floats have; rows must give all others. A vertex that no row inserted, since an edge created
it, has 0 and False there. Floats are rounded to the type that was asked for; an integer that does
not fit is refused, with the first row that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BatchError, GraphtideError, SettingsError
from .masked import WHOLE, refuse_masked

Column = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]

#: Name and type of each property, in the order in which they were given.
Kinds = tuple[tuple[str, str], ...]

TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64",
)  # fmt: skip

#: Columns that logs, exports and results have already.
RESERVED = ("op", "src", "dst", "weight", "type", "ts", "first", "last", "vertex")
#: Other parameters of the methods that take properties by their names, such as `insert_edges`.
_PARAMETERS = ("self", "cls", "vertices")


def checked_kinds(setting: str, given: Any) -> Kinds:
    """Names and types of properties, by an argument such as ``{"amount": "float64"}``.

    Raises
    ------
    SettingsError
        A name is that of a column that there is already, or no method could be given it, or a type
        cannot be kept.
    """
    pairs = given.items() if isinstance(given, Mapping) else () if given is None else given
    try:
        kinds = tuple((str(name), _type_name(kind)) for name, kind in pairs)
    except (TypeError, ValueError):
        msg = f"{setting}={given!r} is not a mapping of names to types; use {{'amount': 'float64'}}"
        raise SettingsError(msg) from None
    for name, kind in kinds:
        if not name.isidentifier():
            msg = f"{setting}: {name!r} is no name; use letters, digits and _"
            raise SettingsError(msg)
        if name in RESERVED:
            msg = f"{setting}: {name!r} is a column of every log or export; use another name"
            raise SettingsError(msg)
        if name in _PARAMETERS:
            msg = (
                f"{setting}: {name!r} is a parameter of methods that take properties by their "
                f"names, such as insert_vertices; use another name"
            )
            raise SettingsError(msg)
        if kind not in TYPES:
            msg = f"{setting}: {name} is of type {kind!r}; use one of {', '.join(TYPES)}"
            raise SettingsError(msg)
    names = [name for name, _ in kinds]
    if len(set(names)) < len(names):
        msg = f"{setting}: a name stands there twice; give each property a name of its own"
        raise SettingsError(msg)
    return kinds


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else np.dtype(kind).name


def column_kinds(properties: Kinds, vertex_properties: Kinds) -> dict[str, str]:
    """Types of the columns of a log that are properties: of edges, of vertices, or of both."""
    kinds: dict[str, str] = {}
    for name, kind in (*properties, *vertex_properties):
        kinds[name] = str(np.result_type(_WIDEST[kind], kinds.get(name, _WIDEST[kind])))
    return kinds


#: Type of a property -> that in which its column is read where the file does not say it.
_WIDEST = {
    kind: {"b": "bool", "i": "int64", "u": "int64", "f": "float64"}[np.dtype(kind).kind]
    for kind in TYPES
} | {"uint64": "uint64"}


def value_bytes(kinds: Kinds) -> int:
    """Bytes that the values of one edge, or vertex, take."""
    return sum(np.dtype(kind).itemsize for _, kind in kinds)


def table_bytes(kinds: Kinds, items: int) -> int:
    """Bytes that a table of ``items`` edges, or vertices, takes at most (`table.py`)."""
    return items * (_TABLE_BYTES + value_bytes(kinds)) if kinds else 0


#: Bytes of two keys, and of slots of which a little more than three eighths are taken.
_TABLE_BYTES = 16 + 22


def has_missing(kind: str) -> bool:
    """Whether a missing value can be told from others, so that rows may have it."""
    return kind.startswith("float")


def missing_of(kind: str) -> Any:
    """Value of a property that was never given."""
    return np.dtype(kind).type(np.nan if has_missing(kind) else 0)


def missing_column(kind: str, size: int) -> Column:
    """A column of nothing but missing values."""
    return np.full(size, missing_of(kind))


#: From here on float64 does not have all whole numbers.
_LARGE_WHOLE = np.float64(2**53)


def array_of(name: str, values: Any, error: type[GraphtideError] = BatchError) -> Column:
    """Values as an array, whole numbers as such: a list of large and small ones is of uint64.

    NumPy makes floats of these, which are other numbers.

    Raises
    ------
    ``error``
        In a list with fractions, or NaN, is a whole number that float64 does not have; or a column
        of whole numbers has nulls.
    """
    if not isinstance(values, np.ndarray | list | tuple):
        # Where a float may be missing it is NaN.
        refuse_masked(name, values, error, kinds=WHOLE)
    array = np.asarray(values)
    is_list = array.dtype.kind == "f" and isinstance(values, list | tuple)
    if not (is_list and (np.abs(array) >= _LARGE_WHOLE).any()):
        return array
    whole = [each for each in values if isinstance(each, int | np.integer)]
    if len(whole) < len(values):
        wrong = next((each for each in whole if int(float(each)) != each), None)
        if wrong is not None:
            msg = (
                f"{name} has {wrong} beside fractions or NaN, where it becomes {float(wrong):.0f}; "
                f"give floats, or whole numbers alone"
            )
            raise error(msg)
        return array
    # Numbers that fit no type of whole numbers stay objects; a caller that needs one refuses them.
    is_unsigned = all(0 <= each < 2**64 for each in values)
    return np.array(values, object).astype(np.uint64) if is_unsigned else array


def as_kind(
    name: str,
    kind: str,
    values: Any,
    counts: Flags | None,
    refuse: Callable[[Flags, Callable[[int], str]], BatchError],
) -> Column:
    """Values of a property in its own type.

    Parameters
    ----------
    name, kind
        Of the property.
    values
        One a row; masked where there is none.
    counts
        bool: the rows whose values are kept; None: all are.
    refuse
        Makes the error of the rows of a mask, by what is wrong with the row at a position.

    Raises
    ------
    BatchError
        They are of another type, or one of them does not fit, or is missing and must not be.
    """
    array, dtype = array_of(name, values), np.dtype(kind)
    missing = np.ma.getmaskarray(values) if np.ma.is_masked(values) else None
    if array.ndim != 1:
        msg = f"{name} has {array.ndim} dimensions; give one value per row"
        raise BatchError(msg)
    allowed = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}[dtype.kind]
    if array.dtype.kind not in allowed and array.size:
        msg = f"{name} is of type {array.dtype}, but the graph keeps it as {kind}; give {kind}"
        raise BatchError(msg)
    with np.errstate(over="ignore", invalid="ignore"):
        column = np.ascontiguousarray(array, dtype=dtype)
    bad = _unfit(array, column)
    if bad is not None:
        bad = bad if missing is None else bad & ~missing
        bad = bad if counts is None else bad & counts
        if bad.any():
            raise refuse(bad, lambda at: f"{name} {array[at]} does not fit into {kind}")
    if missing is not None:
        column = np.where(missing, missing_of(kind), column)
        gone = missing if counts is None else missing & counts
        if gone.any() and not has_missing(kind):
            raise refuse(gone, lambda _: f"{name} is null, which {kind} cannot be; fill it in")
    return column


def _unfit(array: Column, column: Column) -> Flags | None:
    """Rows whose value changed in conversion, but for rounded fractions; None: none can have."""
    # NumPy calls that of whole numbers of 64 bits to float64 safe.
    is_rounded = column.dtype.kind == "f" and array.dtype.kind in "iu" and array.itemsize == 8
    if column.dtype.kind == "b" or (np.can_cast(array.dtype, column.dtype) and not is_rounded):
        return None
    if column.dtype.kind == "f":
        bad = np.isinf(column) & np.isfinite(array)
        if array.dtype.kind in "iu":
            # The largest of a type are rounded to what is beyond it, and cannot be cast back.
            is_beyond = column >= 2.0 ** np.iinfo(array.dtype).max.bit_length()
            bad = is_beyond | (np.where(is_beyond, 0, column).astype(array.dtype) != array)
    else:
        limits = np.iinfo(column.dtype)
        bad = (array < limits.min) | (array > limits.max)
    return bad if bad.any() else None

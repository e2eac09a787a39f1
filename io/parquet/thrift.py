"""Thrift compact protocol, in which Parquet's page headers and footers are encoded.

A structure becomes a dict from the numbers of its fields to values: whole numbers, booleans, text
as views of the data, lists, structures. The caller knows the type of a field. A structure with
other numbers in it is made by a copy of its bytes (`changed`), which keeps what nobody knows.

Source: "Thrift compact protocol encoding" of the Thrift project's specification.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: Structures and lists within each other; a footer has up to eight.
_MOST_DEPTH = 16

_TRUE, _FALSE, _BYTE, _INT16, _INT32, _INT64, _FLOAT64, _TEXT, _LIST, _SET = range(1, 11)
_STRUCTURE = 12
#: Stands for the length of a list that is as long or longer; that follows.
_LONG_LIST = 15


class ThriftError(ValueError):
    """Bytes are not of the form that they should have."""


def read_structure(data: memoryview) -> tuple[dict[int, Any], int]:
    """Read the structure that begins at byte 0; its fields, and its length in bytes."""
    try:
        return _structure(data, 0, _MOST_DEPTH)
    except IndexError:
        msg = "it ends in the middle of a structure"
        raise ThriftError(msg) from None


def field_spans(data: memoryview) -> dict[int, tuple[int, int]]:
    """Where the value of each field of the structure at byte 0 begins and ends."""
    spans = {}
    number = at = 0
    while data[at]:
        kind, number, begin = _head(data, at, number)
        at = begin if kind in (_TRUE, _FALSE) else _value(data, begin, kind, _MOST_DEPTH)[1]
        spans[number] = begin, at
    return spans


def changed(data: memoryview, changes: Mapping[tuple[int, ...], Callable[[int], int]]) -> bytes:
    """A copy of the structure that fills the data, with other numbers in it.

    ``changes``: the fields that lead to a number, of which lists count as their values -> the
    number instead, of the one that is there.
    """
    copy = bytearray()
    _copy(data, 0, (), changes, copy)
    return bytes(copy)


def number_bytes(number: int) -> bytes:
    """A whole number of a field."""
    return _varint_bytes(number << 1 ^ number >> 63)


def structures_bytes(structures: Sequence[bytes]) -> bytes:
    """A list of structures."""
    length = len(structures)
    if length < _LONG_LIST:
        head = bytes([length << 4 | _STRUCTURE])
    else:
        head = bytes([_LONG_LIST << 4 | _STRUCTURE]) + _varint_bytes(length)
    return head + b"".join(structures)


def _copy(
    data: memoryview,
    at: int,
    path: tuple[int, ...],
    changes: Mapping[tuple[int, ...], Callable[[int], int]],
    copy: bytearray,
) -> int:
    """Copy the structure at a byte, to which the fields of ``path`` lead; where it ends."""
    number = 0
    while data[at]:
        kind, number, begin = _head(data, at, number)
        copy += data[at:begin]
        at = begin
        field = *path, number
        if kind in (_TRUE, _FALSE):
            continue
        if kind == _STRUCTURE:
            at = _copy(data, at, field, changes, copy)
        elif kind == _LIST and data[at] & 0x0F == _STRUCTURE:
            length, _, first = _list_head(data, at)
            copy += data[at:first]
            at = first
            for _ in range(length):
                at = _copy(data, at, field, changes, copy)
        else:
            value, end = _value(data, at, kind, _MOST_DEPTH)
            copy += number_bytes(changes[field](value)) if field in changes else data[at:end]
            at = end
    copy.append(0)
    return at + 1


def _structure(data: memoryview, at: int, depth: int) -> tuple[dict[int, Any], int]:
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        kind, number, at = _head(data, at, number)
        if _INT16 <= kind <= _INT64:
            # Most fields are whole numbers, and small: a page's header takes a third less time so.
            value = data[at]
            if value < 0x80:
                at += 1
            else:
                value, at = _varint(data, at)
            fields[number] = value >> 1 ^ -(value & 1)
        elif kind in (_TRUE, _FALSE):
            fields[number] = kind == _TRUE
        else:
            fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: memoryview, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth == 0:
        msg = "its structures lie too deep within each other"
        raise ThriftError(msg)
    if kind in (_INT16, _INT32, _INT64):
        return _number(data, at)
    if kind == _TEXT:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise IndexError
        return data[at : at + length], at + length
    if kind == _STRUCTURE:
        return _structure(data, at, depth - 1)
    if kind in (_LIST, _SET):
        return _list(data, at, depth - 1)
    if kind in (_BYTE, _TRUE, _FALSE):
        # Within lists, booleans are bytes.
        return data[at], at + 1
    if kind == _FLOAT64:
        return data[at : at + 8], at + 8
    msg = f"there is no type {kind}"
    raise ThriftError(msg)


def _list(data: memoryview, at: int, depth: int) -> tuple[list[Any], int]:
    length, kind, at = _list_head(data, at)
    values = []
    for _ in range(length):
        value, at = _value(data, at, kind, depth)
        values.append(value)
        if at > len(data):
            raise IndexError
    return values, at


def _head(data: memoryview, at: int, before: int) -> tuple[int, int, int]:
    """Type and number of a field, behind that of the number ``before``, and where its value is."""
    head, at = data[at], at + 1
    if head >> 4:
        return head & 0x0F, before + (head >> 4), at
    return head & 0x0F, *_number(data, at)


def _list_head(data: memoryview, at: int) -> tuple[int, int, int]:
    """Length and type of the values of a list, and where they begin."""
    head, at = data[at], at + 1
    length, kind = head >> 4, head & 0x0F
    if length == _LONG_LIST:
        length, at = _varint(data, at)
    return length, kind, at


def _number(data: memoryview, at: int) -> tuple[int, int]:
    """A whole number, whose sign is its lowest bit, and where it ends."""
    number, at = _varint(data, at)
    return number >> 1 ^ -(number & 1), at


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number in bytes of 7 bits, the lowest first, and where it ends."""
    number = shift = 0
    while (byte := data[at]) >= 0x80:
        number |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            msg = "a number has more than 64 bits"
            raise ThriftError(msg)
    return number | byte << shift, at + 1


def _varint_bytes(number: int) -> bytes:
    """A number that is not negative."""
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(digits) + bytes([number])

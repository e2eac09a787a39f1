"""Thrift compact protocol, in which Parquet's page headers and footers are encoded.

A structure becomes a dict from the numbers of its fields to values: whole numbers, booleans, text
as views of the data, lists, structures. The caller knows the type of a field.

Source: "Thrift compact protocol encoding" of the Thrift project's specification.
"""

from typing import Any

#: Structures and lists within each other; a footer has up to eight.
_MOST_DEPTH = 16

_TRUE, _FALSE, _BYTE, _INT16, _INT32, _INT64, _FLOAT64, _TEXT, _LIST, _SET = range(1, 11)
_STRUCTURE = 12


class ThriftError(ValueError):
    """Bytes are not of the form that they should have."""


def read_structure(data: memoryview) -> tuple[dict[int, Any], int]:
    """Read the structure that begins at byte 0; its fields, and its length in bytes."""
    try:
        return _structure(data, 0, _MOST_DEPTH)
    except IndexError:
        msg = "it ends in the middle of a structure"
        raise ThriftError(msg) from None


def _structure(data: memoryview, at: int, depth: int) -> tuple[dict[int, Any], int]:
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        kind = head & 0x0F
        if head >> 4:
            number += head >> 4
        else:
            number, at = _number(data, at)
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
    head, at = data[at], at + 1
    length, kind = head >> 4, head & 0x0F
    if length == 15:  # it follows
        length, at = _varint(data, at)
    values = []
    for _ in range(length):
        value, at = _value(data, at, kind, depth)
        values.append(value)
        if at > len(data):
            raise IndexError
    return values, at


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

"""Thrift compact protocol, in which Parquet's page headers and footers are encoded.

A structure becomes a dict from the numbers of its fields to values: whole numbers, booleans, text
as views of the data, lists, structures. The caller knows the type of a field.

What is written is a structure that was read, with other numbers in it (`moved`), or pieces of such
(`field_spans`).

Source: "Thrift compact protocol encoding" of the Thrift project's specification.
"""

from collections.abc import Mapping
from typing import Any

#: Numbers to be added to fields, by number of the field: within a structure, or all structures of a
#: list, a mapping of its own.
Moves = Mapping[int, "int | Moves"]

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
    length, kind, at = _list_head(data, at)
    values = []
    for _ in range(length):
        value, at = _value(data, at, kind, depth)
        values.append(value)
        if at > len(data):
            raise IndexError
    return values, at


def _list_head(data: memoryview, at: int) -> tuple[int, int, int]:
    """Length of a list, type of its values, and where the first of them begins."""
    head, at = data[at], at + 1
    length = head >> 4
    if length == 15:  # it follows
        length, at = _varint(data, at)
    return length, head & 0x0F, at


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


def moved(data: memoryview, by: Moves) -> memoryview:
    """The structure that begins at byte 0, with numbers added to some of its fields."""
    written = bytearray()
    _move(data, 0, by, written)
    return memoryview(written)


def _move(data: memoryview, at: int, by: Moves, written: bytearray) -> int:
    """Write a structure as `moved`; gives where it ends."""
    number = 0
    while data[at]:
        start = at
        number, kind, at = _field_head(data, at, number)
        move = by.get(number)
        if move is None:
            at = _value_end(data, at, kind)
            written += data[start:at]
        elif isinstance(move, int):
            written += data[start:at]
            value, at = _number(data, at)
            written += number_bytes(value + move)
        else:
            count = 1
            if kind == _LIST:
                count, _, at = _list_head(data, at)
            written += data[start:at]
            for _ in range(count):
                at = _move(data, at, move, written)
    written.append(0)
    return at + 1


def field_spans(data: memoryview) -> dict[int, tuple[int, int]]:
    """Bytes at which the values of the fields of a structure begin and end, by number."""
    spans = {}
    at = number = 0
    while data[at]:
        number, kind, start = _field_head(data, at, number)
        at = _value_end(data, start, kind)
        spans[number] = start, at
    return spans


def list_items(data: memoryview) -> tuple[int, memoryview]:
    """Length of the list that is all of ``data``, and the bytes of its values."""
    length, _, at = _list_head(data, 0)
    return length, data[at:]


def structures_bytes(items: list[memoryview], count: int) -> bytes:
    """A list of structures: ``count`` in all, in the bytes of ``items``."""
    length = _varint_bytes(count) if count >= 15 else b""
    head = bytes([min(count, 15) << 4 | _STRUCTURE]) + length
    return b"".join([head, *items])


def number_bytes(number: int) -> bytes:
    """A whole number of up to 64 bits, as the value of a field."""
    return _varint_bytes(number << 1 ^ number >> 63)


def _varint_bytes(number: int) -> bytes:
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _field_head(data: memoryview, at: int, before: int) -> tuple[int, int, int]:
    """Number and type of a field, and where its value begins; ``before``: number of the last."""
    head, at = data[at], at + 1
    if head >> 4:
        return before + (head >> 4), head & 0x0F, at
    number, at = _number(data, at)
    return number, head & 0x0F, at


def _value_end(data: memoryview, at: int, kind: int) -> int:
    # A field that is a boolean has no bytes beside its head.
    return at if kind in (_TRUE, _FALSE) else _value(data, at, kind, _MOST_DEPTH)[1]

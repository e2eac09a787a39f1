"""What is wrong with a line or a field that cannot be read, as the end of a sentence."""

import re

import pyarrow as pa

from .line_fields import fields_of
from .line_form import Form
from .text_values import is_rounded, times_of, unfit

_DECIMAL_COMMA = re.compile(r"[-+]?[\d.]*\d,\d+")


def fault_of_line(line: bytes, form: Form) -> str:
    """What is wrong with a line that cannot be taken apart, as the end of a sentence."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return " is not in UTF-8; save the file as UTF-8"
    if b"\r" in line:
        return " has a carriage return within it; end lines with \\n, or with \\r\\n"
    try:
        count = len(fields_of(text, form.delimiter))
    except ValueError as error:
        return f" {error}; correct the line, or leave it out"
    if count != len(form.columns):
        return (
            f" has {count} of the {len(form.columns)} fields that are expected; correct the line, "
            f"or leave it out"
        )
    return " cannot be read; correct the line, or leave it out"


def fault_of_field(name: str, text: str | None, form: Form) -> str:
    """Why a field is not a value of its column, as the end of a sentence."""
    text = text if name in form.as_written else (text or "").strip(" \t")
    return f": {name} is {text!r}, {_fault_of_value(name, text or '', form)}"


def _fault_of_value(name: str, text: str, form: Form) -> str:
    kind = form.types[name]
    if pa.types.is_string(kind):
        return "which is no name; correct the line, or leave it out"
    if name == "op" and form.has_operations:
        return "which is no operation; write insert and delete, or 1 and -1"
    if pa.types.is_timestamp(kind) and name not in form.floats and not form.has_decimal_times:
        return _fault_of_time(text, kind)
    if pa.types.is_boolean(kind):
        return "which is neither true nor false; correct the line, or leave it out"
    if pa.types.is_floating(form.parsed[name]):
        if is_rounded(text, form.floats.get(name)):
            return f"which does not fit into {form.floats[name]}; write fewer digits"
        if form.has_nulls and _DECIMAL_COMMA.fullmatch(text):
            # It may as well be between thousands: `graphtide import` shows what it made of them.
            return "which is no number in a log; write a point, or use graphtide import"
        return "which is no number; correct the line, or leave it out"
    if re.fullmatch(r"-?[0-9]+", text):
        return unfit(text, kind)
    cure = "give --ids string if ids are names" if name in form.ids else "say what the columns are"
    cure = "write times as 2026-01-31T10:00:00Z" if name == "ts" else cure
    return f"which is no integer; correct the line, or {cure}"


def _fault_of_time(text: str, kind: pa.DataType) -> str:
    try:
        times_of(pa.array([text]), pa.timestamp(kind.unit, None if kind.tz else "UTC"))
    except pa.ArrowInvalid:
        return "which is no time; correct the line, or leave it out"
    odd, usual = ("no", "one") if kind.tz else ("a", "none")
    return f"which has {odd} zone, where times of this file have {usual}; write all of them alike"

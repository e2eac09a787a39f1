"""Constants and structures that a kernel file declares, read from its text.

What only the kernels of one file and the module that launches them share is written in CUDA alone,
beside the kernels, and read here. What several modules share is written in Python, from which CUDA
is generated: `structs.py`.
"""

import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np

from .compile import COMMENT, GENERATED, INCLUDE, kernel_file

#: Types of fields that are neither pointers nor structures.
_KINDS: Final = {
    "u8": np.uint8, "u32": np.uint32, "u64": np.uint64, "i32": np.int32, "i64": np.int64,
    "f32": np.float32, "float": np.float32, "f64": np.float64, "double": np.float64,
}  # fmt: skip

_FIELD = re.compile(r"(?:const )?(?P<kind>\w+)(?P<star>\*?) (?P<name>\w+)(?:\[(?P<length>\w+)\])?")
_NUMBER = re.compile(r"(0x[0-9A-Fa-f]+|\d+)(?:u|\.0)?")


@cache
def constant(file: str, name: str) -> int:
    """Value of a ``constexpr`` that is a whole number, a name, or a product of these.

    Raises
    ------
    LookupError
        The file and its headers declare no such constant.
    """
    for text in _texts(file, set()):
        found = re.search(rf"\bconstexpr [^;]*?\b{name} = ([^,;]+)[,;]", text)
        if found:
            return math.prod(_value(file, factor.strip()) for factor in found[1].split("*"))
    msg = f"{file} declares no constant {name}"
    raise LookupError(msg)


@cache
def structure(file: str, name: str) -> np.dtype[np.void]:
    """Dtype of a ``struct``, laid out as C does; pointers are uint64.

    Raises
    ------
    LookupError
        The file and its headers declare no such structure.
    """
    for text in _texts(file, set()):
        found = re.search(rf"^struct {name} \{{\n(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
        if found:
            fields = re.split(r"__device__|static", found[1])[0].split(";")
            return np.dtype([_field(file, field.strip()) for field in fields[:-1]], align=True)
    msg = f"{file} declares no structure {name}"
    raise LookupError(msg)


def words_of(dtype: np.dtype[np.void]) -> int:
    """Size of a structure in words of 8 bytes."""
    return dtype.itemsize // 8


def word_of(dtype: np.dtype[np.void], field: str) -> int:
    """The word of 8 bytes of a structure that a field begins at."""
    assert dtype.fields is not None
    return int(dtype.fields[field][1]) // 8


def _texts(file: str, seen: set[str]) -> Iterator[str]:
    """Texts of a kernel file and of all its headers, without comments.

    But for those that are generated from Python.
    """
    if file in seen or file in GENERATED:
        return
    seen.add(file)
    text = _text(file)
    yield text
    for header in INCLUDE.findall(text):
        yield from _texts(header, seen)


@cache
def _text(file: str) -> str:
    return COMMENT.sub("", kernel_file(file).read_text(encoding="utf-8"))


def _value(file: str, text: str) -> int:
    number = _NUMBER.fullmatch(text)
    return int(number[1], 0) if number else constant(file, text)


def _field(file: str, text: str) -> tuple[str, np.dtype[np.generic], tuple[int, ...]]:
    """Name, type and shape of a field."""
    declared = _FIELD.fullmatch(text)
    assert declared, f"{file}: {text}"
    kind = np.uint64 if declared["star"] else _KINDS.get(declared["kind"])
    dtype = np.dtype(kind) if kind else structure(file, declared["kind"])
    shape = (_value(file, declared["length"]),) if declared["length"] else ()
    return declared["name"], dtype, shape

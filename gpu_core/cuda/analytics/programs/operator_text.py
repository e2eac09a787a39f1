"""CUDA C++ text of an operator: the user's function, then the kernels that call it.

As `program_text.py` makes of a program. The function: ``programs/operators.py``; the kernels:
``for_edges.cuh``, ``for_vertices.cuh``. ``for_edges.cu`` and ``for_vertices.cu`` hold the text of
one operator each, for the check of the kernels (`check.py`).
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import numpy as np

from ....programs.operations import C_TYPES, FLAG, REAL, WHOLE, constant
from ....programs.operators import Operator
from ...device.compile import add_text
from .program_text import function_text

#: Whether a message changes what is there. A NaN wins over a number.
_IMPROVES: Final = {
    "min": "other < one || (other != other && one == one)",
    "max": "other > one || (other != other && one == one)",
    "sum": "other != 0",
}


@lru_cache(maxsize=256)
def source_of(operator: Operator) -> str:
    """Name of the kernel file of an operator, which kernels are launched by."""
    name = f"operator-{operator.key}.cu"
    add_text(name, text_of(operator))
    return name


@lru_cache(maxsize=256)
def arguments_dtype(operator: Operator) -> np.dtype[np.void]:
    """Twin of ``Arguments``: addresses of arrays read, numbers, addresses of arrays written."""
    sizes = {WHOLE: np.int64, REAL: np.float64}
    return np.dtype(
        [
            *((f"a{at}", np.uint64) for at in range(len(operator.arrays))),
            *((f"n{at}", sizes[kind]) for at, (_, kind) in enumerate(operator.numbers)),
            *((f"w{at}", np.uint64) for at in range(_written_arrays(operator))),
            ("num_vertices", np.int64),
        ]
    )


def _written_arrays(operator: Operator) -> int:
    """Arrays that the function writes itself: messages are taken by another kernel."""
    return 0 if operator.combine else len(operator.into)


def text_of(operator: Operator) -> str:
    """Text of that file."""
    name = "edge_of" if operator.combine else "vertex_of"
    kinds = [kind for _, kind in operator.into] or [FLAG]
    result = C_TYPES[kinds[0]] if len(kinds) == 1 else "Made"
    made = [f"{C_TYPES[kind]} m{at};" for at, kind in enumerate(kinds)] if len(kinds) > 1 else []
    names = (each.removeprefix("v_") for each in operator.written.parameters)
    parameters = dict(zip(names, (each.kind for each in operator.arguments), strict=True))
    call = f"{name}({', '.join(_arguments(operator))})"
    return "\n".join(
        [
            '#include "program_operations.cuh"',
            "",
            *([f"struct Made {{ {' '.join(made)} }};"] if made else ()),
            "struct Arguments {",
            *(f"    {line}" for line in _fields(operator)),
            "};",
            "",
            function_text(name, result, operator.written, (), parameters),
            *(_edge_lines if operator.combine else _vertex_lines)(operator, call),
            "",
        ]
    )


def _fields(operator: Operator) -> Iterable[str]:
    """Fields of ``Arguments``."""
    for at, (name, kind) in enumerate(operator.arrays):
        yield f"const {C_TYPES[kind]}* a{at};  // {name}"
    for at, (name, kind) in enumerate(operator.numbers):
        yield f"{C_TYPES[kind]} n{at};  // {name}"
    for at, (name, kind) in enumerate(operator.into[: _written_arrays(operator)]):
        yield f"{C_TYPES[kind]}* w{at};  // {name}"
    yield "i64 num_vertices;"


def _arguments(operator: Operator) -> Iterable[str]:
    """What the function is called with."""
    for each in operator.arguments:
        if each.of == "number":
            yield f"arguments.n{operator.numbers.index((each.name, each.kind))}"
        elif each.of == "context":
            yield "arguments.num_vertices" if each.name == "num_vertices" else each.name
        else:
            yield f"arguments.a{operator.arrays.index((each.name, each.kind))}[{each.of}]"


def _stored(value: str, kind: str) -> str:
    return f"stored_real({value})" if kind == REAL else value


def _edge_lines(operator: Operator, call: str) -> Iterable[str]:
    neutral = constant(operator.neutral)
    assert neutral is not None
    yield f"typedef {C_TYPES[operator.into[0][1]]} Message;"
    yield "typedef u64 Word;"
    yield f"constexpr bool WEIGHTED = {str(operator.looks_at_weights).lower()};"
    yield f"constexpr bool IS_SUM_OF_WHOLES = {str(operator.combine == 'sum').lower()};"
    yield ""
    yield "__device__ __forceinline__ Message message_of("
    yield "        const Arguments& arguments, u32 source, u32 target, f64 weight, i64 degree) {"
    yield f"    return {_stored(call, operator.into[0][1])};"
    yield "}"
    yield "__device__ __forceinline__ bool improves(Message one, Message other) {"
    yield f"    return {_IMPROVES[str(operator.combine)]};"
    yield "}"
    yield "__device__ __forceinline__ Message both(Message one, Message other) {"
    yield "    return improves(one, other) ? other : one;"
    yield "}"
    yield f"__device__ __forceinline__ Message neutral() {{ return {neutral.c}; }}"
    yield ""
    yield '#include "for_edges.cuh"'


def _vertex_lines(operator: Operator, call: str) -> Iterable[str]:
    count = len(operator.into)
    yield f"constexpr bool FILTERS = {str(not count).lower()};"
    yield ""
    yield "__device__ __forceinline__ bool visit("
    yield "        const Arguments& arguments, u32 vertex, i64 degree) {"
    if count:
        yield f"    const auto made = {call};"
        for at, (_, kind) in enumerate(operator.into):
            part = f"made.m{at}" if count > 1 else "made"
            yield f"    arguments.w{at}[vertex] = {_stored(part, kind)};"
        yield "    return true;"
    else:
        yield f"    return {call};"
    yield "}"
    yield ""
    yield '#include "for_vertices.cuh"'

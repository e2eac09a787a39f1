"""CUDA C++ text of a program: the user's functions, then the kernels that call them.

The text is compiled as any kernel file, by its own name, so that a program is compiled once. What
the functions are made of: ``programs/language.py``; the kernels: ``programs.cuh``. ``programs.cu``
holds the text of one program, for the check of the kernels (`check.py`).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ....programs.language import CONTEXT, FunctionText
from ....programs.operations import C_TYPES, constant
from ....programs.program import Program
from ....programs.run import PIECE, SHORT_ROW
from ...device.compile import add_text

_NAMES = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32"}

#: What makes one message of two, which have the kind of a message.
_BOTH = {
    # A NaN wins over a number.
    "min": "other < one || other != other ? other : one",
    "max": "other > one || other != other ? other : one",
    "any": "one",
}
_SUMS = {"f64": "one + other", "i64": "add_whole(one, other)"}


@lru_cache(maxsize=256)
def source_of(program: Program) -> str:
    """Name of the kernel file of a program, which kernels are launched by."""
    name = f"program-{program.key}.cu"
    add_text(name, text_of(program))
    return name


def text_of(program: Program) -> str:
    """Text of that file."""
    value, message = _NAMES[program.value.name], _NAMES[program.message.name]
    wide_value = "f64" if program.value.kind == "f" else "i64"
    wide = "f64" if program.message.kind == "f" else "i64"
    flags = {
        "WEIGHTED": program.looks_at_weights,
        "OF_ALL": program.all_vertices,
        "STOPS": program.rule == "any",
        "IS_SUM_OF_WHOLES": program.rule == "sum" and wide == "i64",
    }
    if program.combined is None:
        rule = _SUMS[wide] if program.rule == "sum" else _BOTH[str(program.rule)]
        combined = FunctionText(f"    return {rule};", "", ("one", "other"), frozenset())
    else:
        combined = program.combined
    change = "change_real" if wide_value == "f64" else "change_whole"
    changed = FunctionText(
        f"    return {change}(before, after);", "", ("before", "after"), frozenset()
    )
    pieces = [
        '#include "program_operations.cuh"',
        "",
        f"typedef {value} Value;",
        f"typedef {message} Message;",
        f"typedef u{8 * program.message.itemsize} Word;",
        *(f"constexpr bool {name} = {str(flag).lower()};" for name, flag in flags.items()),
        f"constexpr u32 SHORT_ROW = {SHORT_ROW};",
        f"constexpr u32 PIECE = {PIECE};",
        f"struct Changed {{ {wide_value} value; bool is_active; }};",
        "",
        function_text("edge_of", wide, program.edge, (wide_value, "f64")),
        function_text("vertex_of", "Changed", program.vertex, (wide_value, wide)),
        function_text("wants_value", "bool", program.wants or _ALWAYS, (wide_value,), {}),
        function_text("total_of", "f64", program.total or _NOTHING, (wide_value,)),
        function_text("change_of", "f64", changed, (wide_value, wide_value), {}),
        function_text("combined_of", wide, combined, (wide, wide), {}),
        "__device__ __forceinline__ Message both(Message one, Message other) {",
        "    return static_cast<Message>(combined_of(one, other));",
        "}",
        f"__device__ __forceinline__ Message neutral() {{ return {_literal(program.neutral)}; }}",
        f"__device__ __forceinline__ Message identity() {{ return {_literal(program.identity)}; }}",
        "",
        '#include "programs.cuh"',
        "",
    ]
    return "\n".join(pieces)


#: Functions that a program does without.
_ALWAYS = FunctionText("    return true;", "", ("v_value",), frozenset())
_NOTHING = FunctionText("    return 0.0;", "", ("v_value",), frozenset())


def function_text(
    name: str,
    result: str,
    given: FunctionText,
    own: Sequence[str],
    context: Mapping[str, str] = CONTEXT,
) -> str:
    """A function with parameters of its own, of C types, and with all of ``context``, by kind."""
    parameters = [f"{kind} {each}" for kind, each in zip(own, given.parameters, strict=False)]
    asked = given.parameters[len(own) :]
    for each, kind in context.items():
        shown = f" v_{each}" if f"v_{each}" in asked else ""
        parameters.append(f"{C_TYPES[kind]}{shown}")
    head = f"__device__ __forceinline__ {result} {name}({', '.join(parameters)}) {{"
    return f"{head}\n{given.c}\n}}\n"


def _literal(number: Any) -> str:
    """A message in C; 0 for one that is not needed."""
    found = constant(0 if number is None else number)
    assert found is not None
    return f"static_cast<Message>({found.c})"

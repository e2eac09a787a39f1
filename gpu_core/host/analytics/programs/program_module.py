"""Python module of a program: the user's functions, then the kernels that call them.

The module is written beside the compiled kernels of the host, by the hash of its text, so that
Numba keeps what it makes of it for the next process. What the functions are made of:
``programs/language.py``; the kernels: those of `program_kernels.py`, which is such a module.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ....jit.compile import module_of_text
from ....programs.language import CONTEXT, FunctionText
from ....programs.program import Program
from ....programs.run import BLOCK, LANES, PIECE, SHORT_ROW
from . import program_arrays, program_operations

_BEGIN, _END = "# -- the program --\n", "# -- its kernels --\n"

#: What makes one message of two.
_RULES = {
    # A NaN wins over a number.
    "min": "other if other < one or other != other else one",
    "max": "other if other > one or other != other else one",
    "any": "one",
}
_SUMS = {"float64": "one + other", "int64": "add_whole(one, other)"}


class ProgramKernels(NamedTuple):
    """Kernels of one program, compiled when they are first called."""

    push: Any
    send: Any
    pull: Any
    take: Any
    add_up: Any
    add_blocks: Any


@lru_cache(maxsize=256)
def kernels_of(program: Program) -> ProgramKernels:
    """Kernels of a program."""
    module = module_of("program", header_of(program), "program_kernels.py")
    pull = module.pull_in_any_order if program.is_exact else module.pull_in_order
    return ProgramKernels(
        module.push, module.send, pull, module.take, module.add_up, module.add_blocks
    )


def module_of(kind: str, header: str, template: str) -> ModuleType:
    """Module of the kernels in a file here, with another header between its marks.

    ``kind``: what its name begins with.
    """
    before, after = _template(template)
    text = f"{before}{header}{after}"
    return module_of_text(f"{kind}_{hashlib.sha256(text.encode()).hexdigest()[:24]}", text)


@cache
def _template(name: str) -> tuple[str, str]:
    """The text around the header."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    return before + _BEGIN, _END + after


def header_of(program: Program) -> str:
    """The part of a module that is of a program."""
    wide_value, wide_message = (
        "float64" if dtype.kind == "f" else "int64" for dtype in (program.value, program.message)
    )
    identity = program.identity.item()
    shown = repr(identity) if wide_message == "int64" else f"float({str(identity)!r})"
    constants = {
        "_VALUE": f"np.{program.value.name}",
        "_MESSAGE": f"np.{program.message.name}",
        "_WIDE_VALUE": f"np.{wide_value}",
        "_WIDE_MESSAGE": f"np.{wide_message}",
        "_IDENTITY": f"_MESSAGE({shown})",
        "_WEIGHTED": program.looks_at_weights,
        "_OF_ALL": program.all_vertices,
        "_STOPS": program.rule == "any",
        "_BLOCK": BLOCK,
        "_LANES": LANES,
        "_PIECE": PIECE,
        "_SHORT_ROW": SHORT_ROW,
    }
    if program.combined is None:
        rule = _SUMS[wide_message] if program.rule == "sum" else _RULES[str(program.rule)]
        combined = FunctionText("", f"    return {rule}", ("one", "other"), frozenset())
    else:
        combined = program.combined
    change = "change_real" if wide_value == "float64" else "change_whole"
    changed = FunctionText(
        "", f"    return {change}(before, after)", ("before", "after"), frozenset()
    )
    functions = [
        function_text("_edge", program.edge, 2),
        function_text("_vertex", program.vertex, 2),
        function_text("_combine", combined, 2, ()),
        function_text("_wants", program.wants or _ALWAYS, 1, ()),
        function_text("_total", program.total or _NOTHING, 1),
        function_text("_change", changed, 2, ()),
    ]
    return "\n".join(
        [
            "import numpy as np",
            "",
            f"from {program_arrays.__name__} import Now",
            *imports_of(functions),
            "from graphtide.gpu_core.jit.compile import compiled, inlined",
            "",
            *(f"{name} = {value}" for name, value in constants.items()),
            "",
            *functions,
            "",
        ]
    )


def imports_of(functions: Iterable[str]) -> list[str]:
    """The line that imports what the texts of functions call; none where they call nothing."""
    there, known = program_operations.__name__, vars(program_operations).keys()
    words = set(re.findall(r"\w+", "".join(functions))) - {"inlined"}
    names = sorted(words & known)
    return [f"from {there} import {', '.join(names)}"] if names else []


#: Functions that a program does without.
_ALWAYS = FunctionText("", "    return True", ("v_value",), frozenset())
_NOTHING = FunctionText("", "    return 0.0", ("v_value",), frozenset())


def function_text(
    name: str, given: FunctionText, own: int, context: Iterable[str] = CONTEXT
) -> str:
    """A function of its ``own`` parameters, and of all of ``context``."""
    asked: Sequence[str] = given.parameters[own:]
    others = [f"v_{each}" if f"v_{each}" in asked else f"_{each}" for each in context]
    parameters = [*given.parameters[:own], *others]
    return f"@inlined\ndef {name}({', '.join(parameters)}):\n{given.python}\n"

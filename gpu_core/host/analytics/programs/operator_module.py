"""Python module of an operator: the user's function, then the kernels that call it.

As `program_module.py` makes of a program. The function: ``programs/operators.py``; the kernels:
those of `edge_kernels.py` and `vertex_kernels.py`, which are such modules.
"""

from collections.abc import Iterable
from functools import lru_cache
from types import ModuleType
from typing import Final

from ....programs.operations import REAL, WHOLE
from ....programs.operators import Operator
from .program_module import function_text, imports_of, module_of

#: Whether a message changes what is there. A NaN wins over a number.
_IMPROVES: Final = {
    "min": "other < one or (other != other and one == one)",
    "max": "other > one or (other != other and one == one)",
    "sum": "other != 0",
}


@lru_cache(maxsize=256)
def kernels_of(operator: Operator) -> ModuleType:
    """Module of the kernels of an operator, compiled when they are first called."""
    template = "edge_kernels.py" if operator.combine else "vertex_kernels.py"
    return module_of("operator", header_of(operator), template)


def header_of(operator: Operator) -> str:
    """The part of a module that is of an operator."""
    names = [each.removeprefix("v_") for each in operator.written.parameters]
    name = "_edge" if operator.combine else "_vertex"
    function = function_text(name, operator.written, 0, names)
    call = f"{name}({', '.join(_arguments(operator))})"
    lines = list((_edge_lines if operator.combine else _vertex_lines)(operator, call))
    atomics = ["from graphtide.gpu_core.jit.atomics import compare_and_swap"]
    return "\n".join(
        [
            "import numpy as np",
            "",
            *imports_of([function, *lines]),
            *(atomics if operator.combine else ()),
            "from graphtide.gpu_core.jit.compile import compiled, inlined",
            "",
            "",
            function,
            *lines,
            "",
        ]
    )


def _arguments(operator: Operator) -> Iterable[str]:
    """Parameters of the call; ``arguments`` has arrays, then numbers, then the vertices."""
    count = len(operator.arrays)
    for each in operator.arguments:
        if each.of == "number":
            yield f"arguments[{count + operator.numbers.index((each.name, each.kind))}]"
        elif each.of == "context":
            is_count = each.name == "num_vertices"
            yield f"arguments[{count + len(operator.numbers)}]" if is_count else each.name
        else:
            yield f"arguments[{operator.arrays.index((each.name, each.kind))}][{each.of}]"


def _stored(value: str, kind: str) -> str:
    return f"stored_real({value})" if kind == REAL else value


def _edge_lines(operator: Operator, call: str) -> Iterable[str]:
    ((_, kind),), neutral = operator.into, operator.neutral.item()
    shown = f"np.int64({neutral})" if isinstance(neutral, int) else f"float({str(neutral)!r})"
    yield f"_WEIGHTED = {operator.looks_at_weights}"
    yield f"_IS_SUM = {operator.combine == 'sum'}"
    yield f"_NEUTRAL = {shown}"
    yield ""
    yield "@inlined"
    yield "def _message_of(arguments, source, target, weight, degree):"
    yield f"    return {_stored(call, kind)}"
    yield ""
    yield "@inlined"
    yield "def _improves(one, other):"
    yield f"    return {_IMPROVES[str(operator.combine)]}"
    yield ""
    yield "@inlined"
    yield "def _sum_of(one, other):"
    yield "    return add_whole(one, other)" if kind == WHOLE else "    return one + other"
    yield ""


def _vertex_lines(operator: Operator, call: str) -> Iterable[str]:
    count = len(operator.into)
    yield "@inlined"
    yield "def _visit(arguments, into, vertex, degree):"
    if count:
        yield f"    made = {call}"
        for at, (_, kind) in enumerate(operator.into):
            part = f"made[{at}]" if count > 1 else "made"
            yield f"    into[{at}][vertex] = {_stored(part, kind)}"
        yield "    return True"
    else:
        yield f"    return {call}"
    yield ""

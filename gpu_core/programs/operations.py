"""What a program's functions may call and compute with, in both languages they are written in.

Every expression is of one of three kinds: `FLAG` (bool), `WHOLE` (int64, which wraps around) and
`REAL` (float64). Names in lower case that are not Python's own, such as ``div_whole``, are defined
for both engines: ``host/analytics/programs/program_operations.py``,
``cuda/analytics/programs/program_operations.cuh``.

What Python and C disagree about, or what Python refuses at run time, means here:

=================================  ===============================================================
``a // 0``, ``a % 0``              0 of whole numbers, nan of others
``a / 0``                          inf, -inf or nan
``int(x)``, ``floor(x)``           of what is no int64 the nearest one, of nan 0
``min(a, b)``                      ``b if b < a else a``, as Python has it
``sqrt(-1)``, ``log(0)``           nan, -inf
``copysign(x, nan)``               ``abs(x)``, as processors differ in the sign of a nan
=================================  ===============================================================
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

FLAG, WHOLE, REAL = "flag", "whole", "real"

#: How a kind is called in messages.
KIND_NAMES: Final = {FLAG: "a bool", WHOLE: "an int", REAL: "a float"}

#: Types in C.
C_TYPES: Final = {FLAG: "bool", WHOLE: "i64", REAL: "f64"}


class Term(NamedTuple):
    """An expression: its kind, and its text in C and in Python, whole in parentheses."""

    kind: str
    c: str
    python: str


def as_kind(term: Term, kind: str) -> Term:
    """A term of a kind that has room for its own, or as a condition."""
    if term.kind == kind:
        return term
    if kind == FLAG:
        return Term(FLAG, f"({term.c} != 0)", f"({term.python} != 0)")
    name = {WHOLE: "int64", REAL: "float64"}[kind]
    return Term(kind, f"static_cast<{C_TYPES[kind]}>({term.c})", f"{name}({term.python})")


def common(*kinds: str) -> str:
    """The smallest kind that has room for others; flags among numbers are whole numbers."""
    order = (FLAG, WHOLE, REAL)
    return max(kinds, key=order.index)


#: Operators of numbers: how each is written of two whole and of two real numbers, in C and Python.
_ARITHMETIC: Final[dict[type[ast.operator], dict[str, tuple[str, str]]]] = {
    ast.Add: {
        WHOLE: ("add_whole({}, {})", "add_whole({}, {})"),
        REAL: ("({} + {})", "({} + {})"),
    },
    ast.Sub: {
        WHOLE: ("sub_whole({}, {})", "sub_whole({}, {})"),
        REAL: ("({} - {})", "({} - {})"),
    },
    ast.Mult: {
        WHOLE: ("mul_whole({}, {})", "mul_whole({}, {})"),
        REAL: ("({} * {})", "({} * {})"),
    },
    ast.FloorDiv: {
        WHOLE: ("div_whole({}, {})", "div_whole({}, {})"),
        REAL: ("div_real({}, {})", "div_real({}, {})"),
    },
    ast.Mod: {
        WHOLE: ("mod_whole({}, {})", "mod_whole({}, {})"),
        REAL: ("mod_real({}, {})", "mod_real({}, {})"),
    },
    ast.Div: {REAL: ("({} / {})", "({} / {})")},
    ast.BitAnd: {WHOLE: ("({} & {})", "({} & {})")},
    ast.BitOr: {WHOLE: ("({} | {})", "({} | {})")},
    ast.BitXor: {WHOLE: ("({} ^ {})", "({} ^ {})")},
}

COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def arithmetic(operator: ast.operator, left: Term, right: Term) -> Term | None:
    """Two numbers by an operator; None where programs have no such one for them."""
    forms = _ARITHMETIC.get(type(operator), {})
    kind = common(left.kind, right.kind, WHOLE)
    if isinstance(operator, ast.Div):
        kind = REAL
    if kind not in forms:
        return None
    is_of_flags = isinstance(operator, ast.BitAnd | ast.BitOr | ast.BitXor) and (
        left.kind == right.kind == FLAG
    )
    left, right = as_kind(left, kind), as_kind(right, kind)
    c, python = forms[kind]
    term = Term(kind, c.format(left.c, right.c), python.format(left.python, right.python))
    return as_kind(term, FLAG) if is_of_flags else term


def _chosen(sign: str, terms: list[Term]) -> Term:
    kind = common(WHOLE, *(term.kind for term in terms))
    found, *others = (as_kind(term, kind) for term in terms)
    for other in others:
        name = f"{'least' if sign == '<' else 'largest'}_{kind}"
        found = Term(
            kind, f"{name}({found.c}, {other.c})", f"{name}({found.python}, {other.python})"
        )
    return found


def _absolute(term: Term) -> Term:
    term = as_kind(term, common(term.kind, WHOLE))
    return Term(term.kind, f"abs_{term.kind}({term.c})", f"abs_{term.kind}({term.python})")


def _whole(name: str, term: Term) -> Term:
    """A number cut to a whole one; ``name``: of what rounds it before, if anything does."""
    if term.kind != REAL:
        return as_kind(term, WHOLE)
    rounded = (f"{name}({term.c})", f"round_{name}({term.python})") if name else term[1:]
    return Term(WHOLE, f"to_whole({rounded[0]})", f"to_whole({rounded[1]})")


#: Functions of real numbers, by the object that a name stands for.
_REAL_FUNCTIONS: Final[dict[Any, str]] = {
    **{
        getattr(math, name): name
        for name in (
            "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "atan",
            "tanh", "hypot", "atan2", "copysign",
        )
    },
    **{
        getattr(np, name): name
        for name in ("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan",
                     "tanh", "hypot", "copysign")
    },
}  # fmt: skip
_TWO: Final = ("hypot", "atan2", "copysign")
#: Those that differ from the functions of their name in C and NumPy: what they are called there.
_OWN: Final = {"copysign": "signed_real"}
_TESTS: Final[dict[Any, str]] = {
    math.isnan: "is_nan", np.isnan: "is_nan", math.isinf: "is_inf", np.isinf: "is_inf",
    math.isfinite: "is_finite", np.isfinite: "is_finite",
}  # fmt: skip

#: What may be called, for messages.
CALLABLE: Final = "abs, min, max, int, float, bool, and of math: " + ", ".join(
    sorted({*_REAL_FUNCTIONS.values(), "isnan", "isinf", "isfinite", "floor", "ceil", "fabs"})
)


#: Functions of one number that are no method of C.
_OF_ONE: Final[dict[Any, Callable[[Term], Term]]] = {
    abs: _absolute,
    int: lambda term: _whole("", term),
    float: lambda term: as_kind(term, REAL),
    bool: lambda term: as_kind(term, FLAG),
    math.floor: lambda term: _whole("floor", term),
    math.ceil: lambda term: _whole("ceil", term),
    math.fabs: lambda term: _absolute(as_kind(term, REAL)),
}


def is_callable(function: Any) -> bool:
    """Whether programs call it, with the right arguments."""
    known = (min, max, *_OF_ONE, *_TESTS, *_REAL_FUNCTIONS)
    return any(function is each for each in known)


def called(function: Any, terms: list[Term]) -> Term | None:
    """A call of a function that is no part of the program; None where there is no such one."""
    count = len(terms)
    if function in (min, max) and count > 1:
        return _chosen("<" if function is min else ">", terms)
    if function in _OF_ONE:
        return _OF_ONE[function](terms[0]) if count == 1 else None
    if function in _TESTS and count == 1:
        name, term = _TESTS[function], as_kind(terms[0], REAL)
        return Term(FLAG, f"{name}({term.c})", f"{name}({term.python})")
    if function not in _REAL_FUNCTIONS:
        return None
    name = _REAL_FUNCTIONS[function]
    if count != (2 if name in _TWO else 1):
        return None
    reals = [as_kind(term, REAL) for term in terms]
    c_name, python_name = _OWN.get(name, name), _OWN.get(name, f"math_{name}")
    return Term(
        REAL,
        f"{c_name}({', '.join(term.c for term in reals)})",
        f"{python_name}({', '.join(term.python for term in reals)})",
    )


def constant(value: Any) -> Term | None:
    """A number that stands in the source, or that a name there stands for; None: it is none."""
    if isinstance(value, bool | np.bool_):
        return Term(FLAG, "true" if value else "false", str(bool(value)))
    if isinstance(value, int | np.integer) and -(2**63) <= int(value) < 2**63:
        # C has no literal of the smallest one.
        text = "(-9223372036854775807ll - 1)" if int(value) == -(2**63) else f"{int(value)}ll"
        return Term(WHOLE, f"i64({text})", f"int64({int(value)})")
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return Term(REAL, "not_a_number()", "not_a_number")
        size = "infinity" if math.isinf(number) else repr(abs(number))
        call = "()" if math.isinf(number) else ""
        is_negative = math.copysign(1.0, number) < 0
        texts = size + call, size
        return Term(REAL, *(f"(-{text})" if is_negative else text for text in texts))
    return None

"""Operators of a frontier: a function of the user's over edges or vertices, checked and translated.

A function names what it takes by its parameters: values of arrays of the state, numbers of the
call, ``weight``, ``degree``, ``num_vertices``. What it makes of them it returns; it writes nothing.

What was translated is kept by the code of the function and the numbers that it finds outside, so
the operators of a loop are translated once, whether or not a ``lambda`` of it is made again, and a
number outside that has changed makes another operator.

Source of the vocabulary: Wang, Davidson, Pan, Wu, Riffel, Owens, "Gunrock: A High-Performance Graph
Processing Library on the GPU", PPoPP 2016 (advance, filter, compute). What runs them:
`frontier.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from ..choices import one_of
from ..errors import SettingsError
from ..rows import Rows
from .language import FunctionText, written
from .operations import FLAG, REAL, WHOLE

Function = Callable[..., Any]

#: How messages to a vertex are combined.
COMBINES: Final = ("min", "max", "sum")

#: What functions may take besides: of an edge, and of a vertex.
OF_EDGES: Final = {"weight": REAL, "degree": WHOLE, "num_vertices": WHOLE}
OF_VERTICES: Final = {"degree": WHOLE, "num_vertices": WHOLE}

#: Types of arrays by the kind of their values.
DTYPES: Final = {FLAG: np.bool_, WHOLE: np.int64, REAL: np.float64}


class Argument(NamedTuple):
    """Meaning of one parameter of the function."""

    #: Whose value of an array: ``source``, ``target`` or ``vertex``; ``number``: a number of the
    #: call; ``context``: something of `OF_EDGES`.
    of: str
    #: Name of the array, of the number, or of the context.
    name: str
    kind: str


@dataclass(frozen=True)
class Operator:
    """A function over edges or vertices."""

    written: FunctionText
    #: What its parameters are, in their order.
    arguments: tuple[Argument, ...]
    #: Arrays that it writes, and their kinds; none where it tells whether a vertex stays.
    into: tuple[tuple[str, str], ...]
    #: How messages are combined; None: it is of vertices.
    combine: str | None = None

    @property
    def arrays(self) -> tuple[tuple[str, str], ...]:
        """Names and kinds of the arrays that it reads, each once."""
        read = (each for each in self.arguments if each.of in ("source", "target", "vertex"))
        return tuple(dict.fromkeys((each.name, each.kind) for each in read))

    @property
    def numbers(self) -> tuple[tuple[str, str], ...]:
        """Names and kinds of the numbers that it takes."""
        return tuple((each.name, each.kind) for each in self.arguments if each.of == "number")

    @property
    def looks_at_weights(self) -> bool:
        """Whether it takes weights."""
        return any(each.of == "context" and each.name == "weight" for each in self.arguments)

    @property
    def neutral(self) -> Any:
        """Of edges: the message that changes no other, a NumPy scalar."""
        ((_, kind),) = self.into
        if self.combine == "sum":
            return np.int64(0)
        is_least = self.combine == "min"
        if kind == REAL:
            return np.float64(np.inf if is_least else -np.inf)
        limits = np.iinfo(np.int64)
        return np.int64(limits.max if is_least else limits.min)

    @cached_property
    def key(self) -> str:
        """Hash by which operators are equal that compute the same."""
        text = self.written.c, self.written.python, self.written.parameters
        parts = text, self.arguments, self.into, self.combine
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class Call(NamedTuple):
    """Call of an operator, as an engine runs it: the operator and its arguments."""

    operator: Operator
    #: Rows that the frontier goes along, in one direction or two.
    rows: tuple[Rows, ...]
    #: Arrays that it reads, as `Operator.arrays`, and numbers, as `Operator.numbers`.
    arrays: tuple[Any, ...]
    numbers: tuple[Any, ...]
    #: Arrays that are written, as `Operator.into`.
    into: tuple[Any, ...]


class Inbox(NamedTuple):
    """Messages to each vertex, combined: `Operator.neutral` and 0 wherever no call is under way."""

    combined: Any
    #: uint32 or int32: whether a vertex was sent something.
    has: Any


def edge_operator(
    function: Function,
    kinds: Mapping[str, str],
    numbers: Mapping[str, str],
    into: str,
    combine: str,
) -> Operator:
    """An operator over edges.

    Parameters
    ----------
    function
        Takes parameters ``source_NAME`` and ``target_NAME``, of arrays, numbers, and `OF_EDGES`, by
        their names; returns a message to the target.
    kinds, numbers
        Kinds of the arrays and of the numbers, by their names.
    into
        Array that messages are combined into.
    combine
        One of `COMBINES`.

    Raises
    ------
    SettingsError
        The function is not of the language, takes or returns other things, or writes to the state,
        with the line at fault; or messages cannot be combined so.
    """
    one_of("combine", combine, COMBINES)
    if kinds[into] == FLAG:
        msg = f"into={into!r} is an array of bool; messages are combined into one of int64 or "
        msg += "float64, where 0 and 1 say as much"
        raise SettingsError(msg)
    if combine == "sum" and kinds[into] == REAL:
        msg = f"combine='sum' into {into!r}, of float64: along edges messages are added in any "
        msg += "order, which floats round by; use an int64 array, or a Program, which adds floats "
        msg += "in a fixed order"
        raise SettingsError(msg)
    arrays = {
        f"{of}_{name}": Argument(of, name, kind)
        for of in ("source", "target")
        for name, kind in kinds.items()
    }
    written_to = ((into, kinds[into]),)
    return _operator(
        _Function(function), "for_edges", _items(arrays), _items(numbers), written_to, combine
    )


def vertex_operator(
    function: Function,
    kinds: Mapping[str, str],
    numbers: Mapping[str, str],
    into: tuple[str, ...],
) -> Operator:
    """An operator over vertices.

    Parameters
    ----------
    function
        Takes arrays, numbers and `OF_VERTICES`, by their names; returns a value for each of
        ``into``.
    kinds, numbers
        As of `edge_operator`.
    into
        Arrays that are written; none: the function tells whether a vertex stays.

    Raises
    ------
    SettingsError
        As of `edge_operator`.
    """
    arrays = {name: Argument("vertex", name, kind) for name, kind in kinds.items()}
    written_to = tuple((name, kinds[name]) for name in into)
    role = "for_vertices" if into else "filter"
    return _operator(_Function(function), role, _items(arrays), _items(numbers), written_to, None)


def _items(mapping: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(mapping.items())


class _Function:
    """A function; another is the same that has its code and finds the same numbers outside."""

    def __init__(self, function: Function) -> None:
        self.function = function
        code = getattr(function, "__code__", None)
        # What is no function may have no hash either, and is refused.
        self._key: tuple[Any, ...] = (id(function),)
        if isinstance(code, CodeType):
            self._key = code, code.co_filename, tuple(_outside(function, code))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Function) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)


def _outside(function: Function, code: CodeType) -> list[tuple[str, Any]]:
    """Names of a function that mean something outside, and what they mean."""
    names = {name: function.__globals__.get(name) for name in code.co_names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            names[name] = None  # not assigned yet
    found, modules = [], [("", names)]
    for path, there in modules:
        for name, value in there.items():
            is_number = isinstance(value, int | float | np.generic)
            found.append((path + name, (type(value), repr(value)) if is_number else id(value)))
            if isinstance(value, ModuleType) and len(modules) < _MOST_MODULES:
                inner = {each: getattr(value, each, None) for each in code.co_names}
                modules.append((f"{path}{name}.", inner))
    return found


#: Modules that are looked into for numbers, of one function.
_MOST_MODULES: Final = 32


@lru_cache(maxsize=256)
def _operator(
    function: _Function,
    role: str,
    arrays: tuple[tuple[str, Argument], ...],
    numbers: tuple[tuple[str, str], ...],
    into: tuple[tuple[str, str], ...],
    combine: str | None,
) -> Operator:
    context = OF_VERTICES if combine is None else OF_EDGES
    known = {name: Argument("context", name, kind) for name, kind in context.items()}
    known |= {name: Argument("number", name, kind) for name, kind in numbers}
    known |= arrays
    results = {"message": into[0][1]} if combine else dict(into) or {"what it returns": FLAG}
    text = written(
        role, function.function, {}, results, {name: each.kind for name, each in known.items()},
        fixed=dict(arrays),
    )  # fmt: skip
    names = (parameter.removeprefix("v_") for parameter in text.parameters)
    return Operator(text, tuple(known[name] for name in names), into, combine)

"""A program: the functions for messages, their combination, and vertices; checked and translated.

One *superstep*: every active vertex sends a message along each of its edges, ``edge``; the messages
to a vertex are combined to one, ``combine``; every vertex that was sent one takes it, ``vertex``,
and says whether it is active in the next superstep. All of a superstep see the values before it.
It ends when no vertex is active. How this is run: `run.py`.

Source: Zhong, Sun, Chen, Xiao, Chen, Cheng, Shi, "Optimizing Graph Processing on GPUs", IEEE TPDS
28(4), 2017: the Edge-Vertex model, without its buffer of messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..choices import one_of
from ..errors import SettingsError
from .combining import check_combine, is_neutral_of
from .language import CONTEXT, FunctionText, written
from .operations import FLAG, REAL, WHOLE

#: Types of values and messages.
DTYPES: Final = ("float64", "float32", "int64", "int32")

#: Edges that messages go along: to out-neighbors, to in-neighbors, or to both.
ALONG: Final = ("out", "in", "both")

COMBINES: Final = ("min", "max", "sum", "any")

Function = Callable[..., Any]


class Program:
    """An edge-vertex program, checked and translated; `DynamicGraph.run_program` runs it.

    The functions are in a subset of Python: numbers, arithmetic, comparisons, conditions, local
    variables, and functions of ``math``; see ``docs/programs.md``. Beside its own parameters each
    may have ``degree`` (edges along which the vertex sends), ``superstep`` (from 0),
    ``num_vertices``, and ``total``, if there is one.

    Parameters
    ----------
    edge
        ``edge(source_value, weight) -> message``. The weight is 1.0 without weights.
    combine
        ``"min"`` or ``"max"`` (nan wins), ``"sum"``, ``"any"`` (one of the messages, which must all
        be equal), or a function ``combine(one, other) -> message`` whose result does not depend on
        the order of messages.
    vertex
        ``vertex(old, message) -> (new, active)``.
    value, message
        Types of values and messages: float64, float32, int64 or int32; ``message`` is as ``value``
        by default. Functions compute with float64 and int64.
    wants
        ``wants(value) -> bool``: whether a vertex receives messages; others keep their values, and
        messages to them are not computed. None: all do.
    total
        ``total(value) -> number``: its sum over all vertices is passed to ``edge`` and ``vertex``
        in each superstep, as ``total``. Only with ``all_vertices``.
    all_vertices
        Every vertex sends and receives in each superstep, as long as any is active; a vertex
        without messages receives ``identity``. Those that ``wants`` excludes only send.
    along
        ``"out"``: messages go to out-neighbors; ``"in"``: to in-neighbors; ``"both"``: to both. On
        undirected graphs all three are the same.
    identity
        Message of a vertex that receives none, with ``all_vertices``. By default the neutral
        element: 0 for sums, the largest or smallest number for ``"min"`` and ``"max"``. A function
        ``combine`` whose messages may be pushed needs it, too.

    Raises
    ------
    SettingsError
        A function is not in the language, has other parameters or results, or ``combine`` depends
        on the order of messages; the message has the line.

    Notes
    -----
    Source: Zhong et al., "Optimizing Graph Processing on GPUs", IEEE TPDS 2017 (papers/002).

    Examples
    --------
    >>> import graphtide
    >>> def edge(source_value, weight):
    ...     return source_value + weight
    >>> def vertex(old, message):
    ...     return (message, True) if message < old else (old, False)
    >>> nearest = graphtide.Program(edge, "min", vertex)
    >>> graph = graphtide.DynamicGraph.from_edges([1, 1, 2], [2, 3, 3], weight=[1, 5, 1],
    ...                                           records="weighted")
    >>> graph.run_program(nearest, {1: 0.0}, default=float("inf"), active=[1]).value
    array([0., 1., 2.])
    """

    def __init__(
        self,
        edge: Function,
        combine: str | Function,
        vertex: Function,
        *,
        value: npt.DTypeLike = np.float64,
        message: npt.DTypeLike | None = None,
        wants: Function | None = None,
        total: Function | None = None,
        all_vertices: bool = False,
        along: str = "out",
        identity: float | None = None,
    ) -> None:
        #: Types of values and of messages.
        self.value = _dtype("value", value)
        self.message = self.value if message is None else _dtype("message", message)
        _check_options(combine, total, all_vertices=all_vertices, along=along)
        #: Edges that messages go along.
        self.along = along
        #: Whether every vertex sends and takes in each superstep.
        self.all_vertices = bool(all_vertices)
        #: ``min``, ``max``, ``sum``, ``any``; None: `combined`.
        self.rule = combine if isinstance(combine, str) else None
        self._translate(edge, combine, vertex, wants, total)
        #: Whether the order of messages makes no difference to the last bit.
        self.is_exact = (
            self.rule in ("min", "max", "any")
            or (self.rule == "sum" and _kind(self.message) == WHOLE)
            if isinstance(combine, str)
            else check_combine(combine, self.message)
        )
        #: What a message is combined with at first, where they are pushed; None: there is no such.
        self.neutral = self._neutral(combine, identity)
        #: Message of a vertex that is sent none.
        self.identity = self._identity(identity)

    def _translate(
        self,
        edge: Function,
        combine: str | Function,
        vertex: Function,
        wants: Function | None,
        total: Function | None,
    ) -> None:
        """Write the functions in both languages."""
        of_value, of_message = _kind(self.value), _kind(self.message)
        of_vertex = {name: CONTEXT[name] for name in ("degree", "superstep", "num_vertices")}
        context = {**of_vertex, "total": REAL} if total else of_vertex
        sent = {"message": of_message}
        self.edge = written("edge", edge, {"source_value": of_value, "weight": REAL}, sent, context)
        self.vertex = written(
            "vertex", vertex, {"old": of_value, **sent}, {"new": of_value, "active": FLAG}, context
        )
        self.wants = wants and written("wants", wants, {"value": of_value}, {"wants": FLAG}, {})
        self.total = total and written(
            "total", total, {"value": of_value}, {"total": REAL}, of_vertex
        )
        self.combined: FunctionText | None = None
        if not isinstance(combine, str):
            self.combined = written(
                "combine", combine, {"one": of_message, "other": of_message}, sent, {}
            )

    @property
    def may_push(self) -> bool:
        """Whether messages may be pushed: they are combined in whatever order they come."""
        return self.is_exact and self.neutral is not None and not self.all_vertices

    @property
    def looks_at_weights(self) -> bool:
        """Whether what is sent depends on the weight of the edge."""
        return "weight" in self.edge.used

    @cached_property
    def key(self) -> str:
        """Hash by which programs are equal that compute the same."""
        parts = (self.value, self.message, self.rule, self.all_vertices, self.along, self.identity)
        functions = (self.edge, self.vertex, self.wants, self.total, self.combined)
        return hashlib.sha256(repr((parts, functions)).encode()).hexdigest()[:16]

    def _identity(self, given: float | None) -> Any:
        """The message of a vertex that is sent none, as a NumPy scalar."""
        if given is not None:
            return self._message("identity", given)
        if self.all_vertices and (self.neutral is None or self.rule == "any"):
            msg = (
                "a vertex that is sent nothing takes the identity in a program of all vertices, "
                "and for this combine there is none by itself; give identity="
            )
            raise SettingsError(msg)
        return self.message.type(0) if self.neutral is None else self.neutral

    def _neutral(self, combine: str | Function, given: float | None) -> Any:
        """The message that changes no other, as a NumPy scalar; None: none is known."""
        kind = self.message.type
        if not isinstance(combine, str):
            is_neutral = given is not None and is_neutral_of(combine, given, self.message)
            return self._message("identity", given) if is_neutral else None
        if combine in ("sum", "any"):
            return kind(0)
        if self.message.kind == "f":
            return kind(np.inf if combine == "min" else -np.inf)
        limits = np.iinfo(self.message)
        return kind(limits.max if combine == "min" else limits.min)

    def _message(self, name: str, given: Any) -> Any:
        """A number as a message; refused where that changes it."""
        try:
            found = self.message.type(given)
        except (TypeError, ValueError, OverflowError):
            found = None
        # Of a list NumPy makes an array.
        if np.ndim(found) or found is None or not (found == given or given != given):
            msg = f"{name}={given!r} is no {self.message}"
            raise SettingsError(msg)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        combine = self.rule or "a function"
        of = " of all vertices" if self.all_vertices else ""
        return f"<Program{of}: {self.value} values, {combine} of {self.message} messages>"


def _check_options(combine: object, total: object, *, all_vertices: object, along: str) -> None:
    """Refuse options that are none, or do not go together."""
    one_of("along", along, ALONG)
    if total is not None and not all_vertices:
        msg = "total is passed to programs of all vertices; give all_vertices=True, too"
        raise SettingsError(msg)
    if not isinstance(all_vertices, bool | np.bool_):
        msg = f"all_vertices={all_vertices!r} is neither True nor False"
        raise SettingsError(msg)
    if isinstance(combine, str) and combine not in COMBINES:
        msg = f"combine={combine!r} is unknown; use {', '.join(COMBINES)} or a function"
        raise SettingsError(msg)


def _dtype(name: str, given: npt.DTypeLike) -> np.dtype[Any]:
    try:
        found = np.dtype(given)
    except TypeError:
        found = None
    if found is None or found.name not in DTYPES:
        msg = f"{name}={given!r} is no type of programs; use one of {', '.join(DTYPES)}"
        raise SettingsError(msg)
    return found


def _kind(dtype: np.dtype[Any]) -> str:
    return REAL if dtype.kind == "f" else WHOLE

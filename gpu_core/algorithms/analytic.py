"""What an analytic declares of itself: parameters, result columns, summary, needs.

Each file below this folder that is an analytic ends with ``ANALYTIC``, one `Analytic`. All that
offers analytics reads it there, through `registry.py`: settings and their schema, the command line,
the graph worker, result files, summaries, ``graphtide status``, and the tables of
``docs/analytics.md``. None of them names an analytic, so a new one is a file in the folder of its
subject and its twins below ``host/analytics`` and ``cuda/analytics``.

Light: no engine and no Numba is imported for a declaration.
"""

from __future__ import annotations

import math
import numbers
import reprlib
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from ..printable import counted

if TYPE_CHECKING:
    from ..engine import Maintained

#: Columns of a result file, by name.
ColumnValues = Mapping[str, npt.NDArray[Any]]

#: Parameters of an analytic by name: plain values, fit for JSON.
Parameters = Mapping[str, Any]

#: What a summary has: plain values, fit for JSON.
Summary = Mapping[str, Any]


#: Values that a parameter of values by vertex may have: ``{17: 1.0, 4: 0.5}``, or a file of them.
BY_VERTEX: Mapping[str, Any] = {
    "type": ["object", "string", "null"],
    "minLength": 1,
    "minProperties": 1,
    "propertyNames": {
        "description": "ids of vertices with a value each, such as {17: 1, 4: 0.5}, or a file",
    },
    "additionalProperties": {"type": "number", "minimum": 0},
}


@dataclass(frozen=True)
class Parameter:
    """A keyword argument of `Analytic.compute`, and the setting ``<analytic>.<name>``."""

    name: str
    #: One line: what it means, and its unit if it has one.
    about: str
    #: Values that are allowed, as keywords of JSON Schema: ``{"type": "number", "minimum": 0}``.
    allowed: Mapping[str, Any]
    #: Value where none is given.
    default: Any = None
    #: Whether a run that computes the analytic must be given a value; the default is `None` then.
    is_required: bool = False
    #: Whether it makes no difference to an undirected graph.
    is_of_directed: bool = False
    #: Value of results that do not keep one, as the parameter is younger; None: the default.
    earlier: Any = None
    #: Whether a value other than None asks for edges with weights.
    needs_weights: bool = False
    #: Whether it is the id of a vertex, or a list of such.
    has_vertices: bool = False
    #: A value for tests of what is required, on graphs whose ids are small integers.
    example: Any = None

    def plain(self, value: Any) -> Any:
        """The value as Python's own, of a parameter that is a number or a yes or no; others as is.

        A number of another type would be computed with as such: ``n * np.float16(0.001)`` is inf.
        Ranges are checked by the code that computes with the value.

        Raises
        ------
        SettingsError
            The value is of none of the parameter's types.
        """
        kinds = self._scalar_types
        if not kinds:
            return value
        try:
            for is_such, plain in map(_SCALARS.__getitem__, kinds):
                if is_such(value):
                    return plain(value)
        except OverflowError:
            msg = f"{self.name} is beyond {sys.float_info.max:.1e}, the largest number that counts"
            raise SettingsError(msg) from None
        shown = _shown(self.name, value)
        none = ", nor None" if "null" in kinds else ""
        if "boolean" in kinds:
            msg = f"{shown} is neither True nor False{none}"
        elif "number" in kinds:
            msg = f"{shown} is not a number{none}"
        else:
            msg = f"{shown} is not a whole number, {self.allowed['minimum']} or more{none}"
        raise SettingsError(msg)

    @cached_property
    def _scalar_types(self) -> tuple[str, ...]:
        """Its types of JSON Schema, where each is one plain value; else none."""
        kinds = self.allowed.get("type", ())
        kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        return kinds if _SCALARS.keys() >= set(kinds) else ()

    @property
    def is_by_vertex(self) -> bool:
        """Whether it is a mapping of vertices to values, or the name of a file that has them."""
        return self.allowed is BY_VERTEX


def _shown(name: str, value: object) -> str:
    """``name=value`` on one line, of a value of any size."""
    return f"{name}={' '.join(reprlib.repr(value).split())}"


def _is_number(value: object) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    # A duration of NumPy's is an integer to it.
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64)


def _number(value: Any) -> float:
    """A number as Python's own; `OverflowError` if it is beyond float64."""
    as_float = float(value)
    return int(value) if isinstance(value, numbers.Integral) else as_float


#: Types of JSON Schema that are one plain value -> whether a value is such, and that as Python's.
_SCALARS: Mapping[str, tuple[Callable[[object], bool], Callable[[Any], Any]]] = {
    "null": (lambda value: value is None, lambda value: value),
    "boolean": (lambda value: isinstance(value, bool | np.bool_), bool),
    "integer": (lambda value: _is_number(value) and isinstance(value, numbers.Integral), _number),
    "number": (_is_number, _number),
}


def parameters_text(parameters: Parameters) -> str:
    """Parameters in words; of values by vertex how many there are, unless they are few."""
    return ", ".join(f"{name}: {_text(value)}" for name, value in parameters.items()) or "none"


#: Items of a value that are shown.
_SHOWN = 5


def _text(value: Any) -> str:
    if isinstance(value, Mapping) and "file" in value:
        return f"{value['file']} ({counted(value['vertices'], 'vertex')})"
    if isinstance(value, Mapping) and len(value) > _SHOWN:
        return f"{len(value):,} vertices"
    if isinstance(value, Mapping):
        return ", ".join(f"{vertex} ({amount:g})" for vertex, amount in value.items())
    if isinstance(value, list | tuple) and len(value) > _SHOWN:
        return f"{len(value):,} values"
    return "null" if value is None else str(value)


@dataclass(frozen=True)
class Column:
    """A column of a result file: an attribute of the result, one item a vertex."""

    name: str
    #: Type in the file, as NumPy names it; ``id``: that of users' ids.
    dtype: str
    #: One line: what it means, and its unit if it has one.
    about: str
    #: Attribute of the result, where it has another name.
    attribute: str = ""
    #: Parameter that must be true for the column to be there; the attribute is None otherwise.
    asked_by: str | None = None
    #: What an integer is where there is no value; of floats it is what is not finite.
    nothing: int | None = None

    def values(self, result: Any) -> npt.NDArray[Any]:
        """The column of a result, with the type of the file."""
        return np.ascontiguousarray(self.of(result), self.dtype if self.dtype != "id" else None)

    def of(self, result: Any) -> Any:
        """The attribute of a result."""
        return getattr(result, self.attribute or self.name)


#: The first column of every result.
VERTEX = Column("vertex", "id", "id of the vertex, increasing; names in a fixed order", "vertices")


@dataclass(frozen=True)
class Metric:
    """A value of a result for which the summary of a run's batches has a column."""

    #: Key of the values that `Analytic.summary` returns, or one of `Analytic.figures`.
    name: str
    #: One line: what it means.
    about: str
    #: Type of the column, as NumPy names it: ``int64`` or ``float64``.
    dtype: str = "float64"
    #: Whether its column is called as it is, where the result is called as its analytic.
    is_plain: bool = False


@dataclass(frozen=True)
class Needs:
    """What an analytic requires of a graph."""

    #: Directions whose rows are read, for the documentation. Where one is not stored, the twins
    #: make it from the other (``in_rows``), or do without.
    rows: tuple[str, ...] = ("out",)
    #: Whether edges must have weights.
    weights: bool = False
    #: Whether edges must have no direction.
    undirected: bool = False

    def unmet(self, *, directed: bool, has_weights: bool) -> str | None:
        """Why a graph of this kind will not do, and what would; None where it will."""
        if self.weights and not has_weights:
            return "needs weights; use records weighted or semantic"
        if self.undirected and directed:
            return "is for undirected graphs; use directed=False (for a run --undirected)"
        return None


@dataclass(frozen=True)
class Analytic:
    """A result by vertex that runs compute between batches and write as ``<name>.parquet``.

    A run may compute several of one analytic, under names of their own.
    """

    #: Of the setting, the file, and the twins in ``host/analytics`` and ``cuda/analytics``.
    name: str
    #: Its name in prose.
    title: str
    #: One sentence: what is computed.
    about: str
    #: ``compute(reader, **parameters)`` returns the result, which can be pickled. The reader's lock
    #: is held.
    compute: Callable[..., Any]
    #: Columns of the result after ``vertex``.
    results: tuple[Column, ...]
    #: The few values that tell a person or a program what came out, from the columns of a file and
    #: the parameters that it keeps: those of `parameters_for`, or none by an older graphtide.
    summary: Callable[[ColumnValues, Parameters], Summary]
    #: A sentence of what `summary` returned.
    text: Callable[[Summary], str]
    parameters: tuple[Parameter, ...] = ()
    needs: Needs = Needs()
    #: What `summary` returns, of a result of `compute` and the same parameters, made where the
    #: columns are; None: they are fetched for it. The graph's lock is held.
    brief: Callable[[Any, Parameters], Summary] | None = None
    #: Word before the sentence in the terminal, of ten letters at most; `None`: the name.
    label: str | None = None
    #: Attributes of a result that say how it was found and how exact it is: numbers, which its file
    #: keeps beside the rows, and `text` finds in the summary too.
    figures: tuple[str, ...] = ()
    #: Values that the summary of batches keeps of each result.
    metrics: tuple[Metric, ...] = ()
    #: Two values that are worth a plot over batches: of `summary`, or `figures`.
    plotted: tuple[str, str] | None = None
    #: Make what keeps the result up with batches in place of `compute`, stale at first, of
    #: parameters that it goes by (`maintained_by`). An engine takes the first whose twin it has.
    maintained: tuple[type[Maintained], ...] = ()
    maintained_by: tuple[str, ...] = ()
    #: Whether a run on a GPU maintains it, unless told otherwise, where it is computed after every
    #: batch: that takes less time there, and results have the same bits.
    maintained_on_gpu: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns that the result file may have."""
        return VERTEX, *self.results

    def columns_for(self, parameters: Parameters | None) -> tuple[Column, ...]:
        """Columns of a result file with these parameters."""
        kept = parameters or {}
        return tuple(
            each for each in self.columns if each.asked_by is None or kept.get(each.asked_by)
        )

    @property
    def defaults(self) -> dict[str, Any]:
        """Parameter -> value where none is given."""
        return {each.name: each.default for each in self.parameters}

    @property
    def example(self) -> dict[str, Any]:
        """Values for what is required, with which tests compute it on any graph."""
        return {each.name: each.example for each in self.parameters if each.is_required}

    def check_names(self, given: Collection[str]) -> None:
        """Refuse parameters that there are not, and the lack of those that are required.

        Raises
        ------
        SettingsError
            Such a one.
        """
        names = [each.name for each in self.parameters]
        for name in given:
            if name not in names:
                msg = f"{self.name} has no parameter {name!r}; it has {', '.join(names) or 'none'}"
                raise SettingsError(msg)
        for each in self.parameters:
            if each.is_required and each.name not in given:
                msg = f"{self.name} needs {each.name}: {each.about}"
                raise SettingsError(msg)

    def plain(self, given: Parameters) -> dict[str, Any]:
        """Values as Python's own; those of the wrong type are refused: `Parameter.plain`."""
        found = dict(given)
        for each in self.parameters:
            if each.name in found:
                found[each.name] = each.plain(found[each.name])
        return found

    def maintainable(self, given: Parameters) -> dict[str, Any]:
        """As `plain`; refuses parameters by which nothing can be maintained, unless as by default.

        Raises
        ------
        SettingsError
            Such a one.
        """
        self.check_names(given)
        given = self.plain(given)
        reason = self.why_not_maintained(given)
        if reason is not None:
            msg = f"{reason}; leave it out, or compute({self.name!r}) after a batch"
            raise SettingsError(msg)
        return given

    def why_not_maintained(self, given: Parameters) -> str | None:
        """Name the first of the parameters, as of `plain`, by which nothing can be maintained."""
        for name, value in given.items():
            default = self.defaults[name]
            # Arrays and series are compared item by item.
            is_other = value is not None if default is None else value != default
            if name not in self.maintained_by and is_other:
                can = ", ".join(self.maintained_by) or "no parameter"
                return f"{self.name} cannot be maintained with {_shown(name, value)}, only by {can}"
        return None

    def completed(self, kept: Parameters) -> dict[str, Any]:
        """Parameters that a result keeps, and those that it lacks as they were then."""
        lacking = {each.name: each.earlier or each.default for each in self.parameters}
        return {**lacking, **kept}

    def parameters_for(self, given: Parameters, *, directed: bool) -> dict[str, Any]:
        """Those of the parameters given that make a difference to a graph of this kind."""
        moot = () if directed else [each.name for each in self.parameters if each.is_of_directed]
        return {name: value for name, value in given.items() if name not in moot}

    def changed(self, parameters: Parameters | None) -> dict[str, Any]:
        """Those of the parameters that are not the defaults."""
        defaults = self.defaults
        return {
            name: value
            for name, value in (parameters or {}).items()
            if name not in defaults or defaults[name] != value
        }

    def figures_of(self, result: Any) -> dict[str, float | None]:
        """Figures of a result, fit for JSON; None: infinite."""
        found = {name: getattr(result, name) for name in self.figures}
        return {name: value if math.isfinite(value) else None for name, value in found.items()}

    def brief_of(self, result: Any, parameters: Parameters) -> Summary:
        """`summary` of the columns of a result, without copying them to the host if possible."""
        if self.brief is None:
            return self.summary(self.values(result), parameters)
        return self.brief(result, parameters)

    def metric_columns(self, name: str) -> dict[str, Metric]:
        """Columns that the summary of batches has of a result called ``name``, by their names."""
        return {
            each.name if each.is_plain and name == self.name else f"{name}_{each.name}": each
            for each in self.metrics
        }

    def values(self, result: Any) -> dict[str, npt.NDArray[Any]]:
        """Columns of a result by name, with the types of the file."""
        return {
            column.name: column.values(result)
            for column in self.columns
            if column.asked_by is None or column.of(result) is not None
        }

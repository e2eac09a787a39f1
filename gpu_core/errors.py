"""Every error that this package raises on purpose, and its warnings.

::

    GraphtideError
    ├── SettingsError         (ValueError)   a setting or argument is wrong or contradicts another
    ├── UpdateLogError        (ValueError)   a log file cannot be read, or breaks the log's contract
    ├── BatchError            (ValueError)   a batch breaks its own rules or the graph's
    ├── StateError            (RuntimeError) a state directory is damaged, in use, or made otherwise
    ├── ArenaFullError        (MemoryError)  a batch does not fit; the graph is as before
    ├── StaleViewError        (RuntimeError) a view without a copy is used after a change
    ├── EpochClosedError      (RuntimeError) an epoch is used after it was closed
    ├── VertexNotFoundError   (KeyError)     a query names a vertex that is not in the graph
    ├── EdgeNotFoundError     (KeyError)     a query names an edge that is not in the graph
    ├── PathNotFoundError     (LookupError)  no path leads from one vertex to another
    ├── ConvergenceError      (ArithmeticError) an iteration did not reach its tolerance
    ├── CorruptImageError     (RuntimeError) an invariant of the arena image does not hold
    ├── EngineError           (RuntimeError) the engine asked for cannot be had, or broke
    └── ClusterError          (RuntimeError) the Dask cluster cannot do what the run needs

    PrecisionWarning          (UserWarning)  values were rounded to what the graph keeps
    FailedResultWarning       (UserWarning)  a run has not computed all results that it was to

Each message says what was found, where, and what to do. All take the message alone, so they pickle
and cross process borders through Dask unchanged.
"""

from typing import Self

from .printable import printable

#: Why nothing works where Numba is told to compile nothing.
NOT_COMPILED = (
    "NUMBA_DISABLE_JIT is set, so Numba compiles nothing, and graphtide consists of compiled code; "
    "unset it"
)


class GraphtideError(Exception):
    """Base of all errors of this package: ``except graphtide.GraphtideError`` catches each."""

    def __new__(cls, *arguments: object) -> Self:
        """Make the error: Dask calls this by name, which MemoryError's own refuses."""
        return Exception.__new__(cls, *arguments)

    #: The message with ``{vertex}`` in it, and what an engine calls that vertex; None: it has none.
    about: tuple[str, int] | None = None

    @classmethod
    def of_vertex(cls, message: str, vertex: int) -> Self:
        """Make an error whose message names a vertex of an engine as ``{vertex}``.

        A graph says it again with the id that its users know.
        """
        error = cls(message.replace("{vertex}", str(vertex)))
        error.about = message, int(vertex)
        return error

    def __str__(self) -> str:
        # KeyError would print the repr of its argument. What users give may hold anything.
        lines = str(self.args[0]).split("\n") if self.args else []
        return "\n".join(map(printable, lines))


class SettingsError(GraphtideError, ValueError):
    """A setting or argument is unknown, wrong, or contradicts another one."""


class UpdateLogError(GraphtideError, ValueError):
    """A log file cannot be read, or one of its rows breaks the log's contract."""


class BatchError(GraphtideError, ValueError):
    """A batch breaks its own rules, or the rules of the graph that it is applied to."""


class StateError(GraphtideError, RuntimeError):
    """A state directory is damaged, in use by another run, or was made with other settings."""


class ArenaFullError(GraphtideError, MemoryError):
    """The graph plus the demand of a batch does not fit; the graph is as before the call."""


class StaleViewError(GraphtideError, RuntimeError):
    """A view without a copy was used after the graph had changed."""


class EpochClosedError(GraphtideError, RuntimeError):
    """An epoch was used after it had been closed."""


class VertexNotFoundError(GraphtideError, KeyError):
    """A query names a vertex that is not in the graph."""


class EdgeNotFoundError(GraphtideError, KeyError):
    """A query names an edge that is not in the graph."""


class PathNotFoundError(GraphtideError, LookupError):
    """No path leads from one vertex to another."""


class ConvergenceError(GraphtideError, ArithmeticError):
    """An iteration ended at ``max_iter`` before it reached its tolerance."""


class CorruptImageError(GraphtideError, RuntimeError):
    """An invariant of the arena image does not hold: a bug, or memory that was overwritten."""


class EngineError(GraphtideError, RuntimeError):
    """The engine asked for cannot be had on this machine, or broke in the middle of a batch."""


class ClusterError(GraphtideError, RuntimeError):
    """The Dask cluster is unreachable, too small, or lost a worker that cannot be replaced."""


class PrecisionWarning(UserWarning):
    """Weights were rounded to the type that the graph keeps them in."""


class FailedResultWarning(UserWarning):
    """Some results of a run could not be computed; its batches and all other results are kept."""

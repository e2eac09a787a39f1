"""What kernels of programs take in one argument: rows, vertices, messages, the state of a run."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class VertexStates(NamedTuple):
    """State of the vertices of a run."""

    values: npt.NDArray[Any]
    #: Whether it sends in this superstep.
    active: npt.NDArray[np.bool_]
    #: Edges that it sends along.
    degrees: npt.NDArray[np.int64]


class SuperstepInbox(NamedTuple):
    """Messages to each vertex in a superstep: all of them combined, and whether there were any."""

    combined: npt.NDArray[Any]
    has: npt.NDArray[np.bool_]


class Now(NamedTuple):
    """Arguments of the functions of a program besides the values of a vertex or an edge."""

    superstep: np.int64
    num_vertices: np.int64
    total: float


class SuperstepLimits(NamedTuple):
    """When pushing ends, though vertices are active."""

    #: Supersteps, at most; -1: however many.
    most: int
    #: A superstep is to be pulled where active vertices send along more edges than ``entries`` over
    #: ``share``; share 0: none is.
    entries: int
    share: int
    #: Edges along which messages are sent, at most, and those of one more superstep: only Python
    #: sees Ctrl-C, and a program may be one that never ends.
    budget: int

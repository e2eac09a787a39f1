"""Modes of applying a batch, and what follows each status: a state machine without a device.

::

    COMMON     every id that the batch puts is there, every edge delete names vertices with a
               record, and no vertex is deleted. Kernels map the batch, check that this is so, and
               set the status to UNKNOWN_IDS where it is not
    ENTERING   dense ids that may be new, in a batch whose vertex rows need not report what they
               found: kernels enter them, once the batch has its runs
    ASSISTED   everything else. The host learns how many vertices are new or go, grows the tables,
               and has the batch allocated

A batch in the first two modes is one list of launches, for which the host waits once. What follows
is returned by `next_step`::

    status          common, entering             assisted
    OK              done                         done
    NEEDS_SCRATCH   again, with more scratch     again, with more scratch
    OVERFULL        again, without buckets       again, without buckets
    NEEDS_HOST      the host makes room, and     -
                    commits what was planned
    UNKNOWN_IDS     assisted                     -

The decisions are compiled, as all batches ask.
"""

from enum import Enum, IntEnum
from typing import Final

import numpy as np

from ...image.fields import BatchStatus, Field
from ...jit.compile import inlined


class Mode(IntEnum):
    """Mode of applying a batch."""

    COMMON = 1
    ENTERING = 2
    ASSISTED = 3


class NextStep(Enum):
    """Next step after the launches of a batch."""

    DONE = "done"
    #: The same again, with the scratch that it needs, or without buckets.
    AGAIN = "again"
    #: The host makes room, and the batch is committed as it was planned.
    COMMIT = "commit"
    #: It is started again in the mode ``ASSISTED``.
    ASSIST = "assist"


_NEXT_STEPS: Final = {
    BatchStatus.OK: NextStep.DONE,
    BatchStatus.NEEDS_SCRATCH: NextStep.AGAIN,
    BatchStatus.NEEDS_HOST: NextStep.COMMIT,
    BatchStatus.UNKNOWN_IDS: NextStep.ASSIST,
    BatchStatus.OVERFULL: NextStep.AGAIN,
}


def next_step(mode: Mode, status: int) -> NextStep:
    """Next step after a status that the launches of a batch have left."""
    answer = _NEXT_STEPS[BatchStatus(status)]
    if mode is Mode.ASSISTED and answer in (NextStep.COMMIT, NextStep.ASSIST):
        msg = f"the kernels left status {BatchStatus(status).name} although the host assisted"
        raise AssertionError(msg)
    return answer


#: Extent of a batch, which decides its first mode, int64 each: whether its ids are vertex indices;
#: the largest index to put and to delete (-1: there is none, or ids are users' own); numbers of
#: edges, of rows about vertices, and of deleted vertices.
EXTENT_FIELDS: Final = (
    "dense", "put_top", "delete_top", "puts", "deletes", "put_vertex_rows", "delete_vertices",
    "delete_vertex_rows",
)  # fmt: skip
EXTENT: Final = np.dtype([(name, np.int64) for name in EXTENT_FIELDS])

COMMON: Final = int(Mode.COMMON)
ENTERING: Final = int(Mode.ENTERING)
ASSISTED: Final = int(Mode.ASSISTED)

_VERTEX_COUNT: Final = int(Field.VERTEX_COUNT)
_NUM_VERTICES: Final = int(Field.NUM_VERTICES)
_DENSE_IDS: Final = int(Field.DENSE_IDS)


@inlined
def first_mode(header, extent, create_vertices):
    """First mode that is not known to fail.

    Parameters
    ----------
    header
        int64[]: fields of the image.
    extent
        A record of `EXTENT`.
    """
    before = header[_VERTEX_COUNT]
    if not extent.dense:
        return ASSISTED if before == 0 or extent.delete_vertices > 0 else COMMON
    if extent.delete_top >= before or extent.delete_vertices > 0:
        return ASSISTED
    if extent.put_top < before and header[_NUM_VERTICES] == before:
        return COMMON
    if create_vertices and extent.puts > 0 and extent.put_vertex_rows == 0:
        return ENTERING
    return ASSISTED if extent.put_top >= before else COMMON


@inlined
def vertices_after(header, extent):
    """Vertex records after a batch whose mode is not ``ASSISTED``."""
    return max(header[_VERTEX_COUNT], extent.put_top + 1)


@inlined
def takes_ids(header, extent):
    """Whether the graph has ids of the batch's kind."""
    return extent.dense == header[_DENSE_IDS]

"""The two compiled calls that apply a batch in the modes ``COMMON`` and ``ENTERING``.

`start_batch` chooses the mode, writes all launches and starts them; `finish_batch` waits for them
and reads the report. They are compiled because after other work Python's own code and data are out
of the processor's caches, and what it does step by step costs more than the kernels of a small
batch. Each takes the address of a `context.LaunchContext` in place of arrays, which Numba would
unpack one by one.
"""

from typing import Final

import numpy as np
from numba import carray

from ...image.accounts import VertexChanges, numbers_of_batch
from ...image.fields import CLASSES, HEADER_FIELDS, BatchField, Field
from ...jit.compile import compiled, inlined
from ...jit.pointers import int64s_at
from ..device.launches import LIST_WORDS, start_launches, synchronize_stream
from .batch_launches import write_launches
from .context import (
    CONTEXT_WORDS,
    FACTS_AT,
    HEADER,
    LAUNCH,
    LAUNCHES,
    OFFSETS,
    OVERLAPS,
    REPORT,
    STREAM,
    SYNCHRONIZE,
)
from .facts import BATCH, FACTS
from .modes import ASSISTED, ENTERING, first_mode, takes_ids, vertices_after
from .pages.page_launches import queue_is_short
from .steps import ENTER

#: Instead of a code of the driver: nothing was started, as the host has to assist, or because so
#: many bytes of scratch are needed.
NEEDS_ASSISTANCE: Final = -1
SHORT_OF_SCRATCH: Final = -2

_BATCH_AT: Final = OFFSETS["batch"]
_BATCH_WORDS: Final = BATCH.itemsize // 8
_VERTEX_COUNT: Final = int(Field.VERTEX_COUNT)
_HEADER_FIELDS: Final = HEADER_FIELDS
_REPORT_WORDS: Final = HEADER_FIELDS + CLASSES
_STATUS: Final = int(BatchField.STATUS)
_TALLY: Final = int(BatchField.ADDED)
_TALLY_END: Final = int(BatchField.REPLACED) + 1
_ROWS: Final = int(BatchField.MOVED_ROWS)
_ROWS_END: Final = int(BatchField.MERGED_ROWS) + 1
_CREATED: Final = int(BatchField.CREATED)


@inlined
def _words_at(position, count):
    return carray(int64s_at(position), count)


@compiled
def start_batch(context, batch, scratch, scratch_end, steps, in_buckets):
    """Start launches of a batch, if it needs no assistance.

    Parameters
    ----------
    context
        Address of a `context.LaunchContext`.
    batch
        `batch.DeviceBatch.facts`.
    scratch, scratch_end
        As in `facts.CALL`.
    steps
        Sum of steps (`steps.py`); `ENTER` follows from the mode. 0: the mode is ``ASSISTED``
        whatever the batch: it is filled in, and nothing is started.
    in_buckets
        As in `facts.CALL`.

    Returns
    -------
    code, number : int
        As `launches.start_launches`, or `NEEDS_ASSISTANCE`, or `SHORT_OF_SCRATCH` and how many
        bytes there must be.
    """
    words = _words_at(context, CONTEXT_WORDS)
    header, launches = (
        _words_at(words[HEADER], _HEADER_FIELDS),
        _words_at(words[LAUNCHES], LIST_WORDS),
    )
    packed = words[FACTS_AT:]
    of_batch = np.frombuffer(batch, np.int64)
    for number in range(_BATCH_WORDS):
        packed[_BATCH_AT + number] = of_batch[number]
    facts = np.frombuffer(packed, FACTS)[0]
    call, extent = facts.call, facts.batch.extent
    mode = ASSISTED
    if steps != 0 and takes_ids(header, extent):
        mode = first_mode(header, extent, call.create_vertices)
    if extent.puts + extent.deletes == 0 and facts.image.page_entries[0] > 0:
        # Where there are entries, kernels find out.
        mode = ASSISTED if queue_is_short(header, facts.image) else mode
    call.mode, call.scratch, call.scratch_end = mode, scratch, scratch_end
    call.before, call.after = header[_VERTEX_COUNT], vertices_after(header, extent)
    call.report = words[REPORT]
    call.in_buckets = in_buckets
    call.allocation = call.taken = 0
    if mode == ASSISTED:
        return NEEDS_ASSISTANCE, 0
    if mode == ENTERING:
        steps |= ENTER
    end = write_launches(launches, packed, header, steps)
    if end > scratch_end:
        return SHORT_OF_SCRATCH, end - scratch
    return start_launches(launches, words[LAUNCH], words[STREAM], words[OVERLAPS])


@compiled
def finish_batch(context):
    """Wait for the launches of a batch, and bring the mirror of the header up to date.

    Returns
    -------
    code, status : int
        The driver's answer, and the `BatchStatus`.
    numbers
        As of `Outcome`, where both are 0.
    """
    words = _words_at(context, CONTEXT_WORDS)
    code = synchronize_stream(words[SYNCHRONIZE], words[STREAM])
    header = _words_at(words[HEADER], _HEADER_FIELDS)
    report = _words_at(words[REPORT], _REPORT_WORDS)
    for field in range(_STATUS):
        header[field] = report[field]
    facts = np.frombuffer(words[FACTS_AT:], FACTS)[0]
    extent = facts.batch.extent
    numbers = numbers_of_batch(
        header, report[_HEADER_FIELDS:], report[_TALLY:_TALLY_END], report[_ROWS:_ROWS_END],
        facts.image.entries_per_edge, extent.deletes,
        VertexChanges(
            extent.put_vertex_rows, extent.put_vertex_rows, extent.delete_vertex_rows, 0,
            report[_CREATED], 0,
        ),
    )  # fmt: skip
    return code, report[_STATUS], numbers

"""Launch context: addresses and facts that the compiled apply path needs, kept between batches.

After other work Python's own code and data are out of the processor's caches, and what it does
step by step costs more than the kernels of a small batch. So a batch in the modes ``COMMON`` and
``ENTERING`` takes two compiled calls: `start_batch` chooses the mode, writes all launches and
starts them; `finish_batch` waits for them and reads the report. Each takes one address in place of
arrays, which Numba would unpack one by one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import carray

from ...image.accounts import VertexChanges, numbers_of_batch
from ...image.fields import CLASSES, HEADER_FIELDS, BatchField, Field
from ...jit.compile import compiled, inlined
from ..device.launches import (
    LIST_WORDS,
    empty_list,
    pointer_to_words,
    start_launches,
    synchronize_stream,
)
from ..device.packed_arguments import address
from ..memory import free_runs
from ..memory.arena import DeviceArena
from ..memory.batch_report import Report
from ..structs import BLOCK, MOST_TILES
from .batch_launches import ALLOCATE, COMMIT, ENTER, MAP, PLAN, SORT, write_launches
from .facts import BATCH, BOUNDS, FACTS, pack_image
from .kernels import Kernels, LongRows
from .modes import ASSISTED, ENTERING, first_mode, takes_ids, vertices_after
from .pages.page_launches import queue_is_short
from .rows.listed_rows import ListedRows

#: What lies at the address, int64 each; `FACTS` follow.
_FIELDS: Final = (
    # Addresses of the driver's functions, the engines' stream, `device.Device.overlaps`.
    "launch", "synchronize", "stream", "overlaps",
    # Addresses of the list of launches, of the header's mirror and of the report.
    "launches", "header", "report",
)  # fmt: skip
_LAUNCH, _SYNCHRONIZE, _STREAM, _OVERLAPS, _LAUNCHES, _HEADER, _REPORT = range(len(_FIELDS))
_FACTS_AT: Final = len(_FIELDS)
_WORDS: Final = _FACTS_AT + FACTS.itemsize // 8
_OFFSETS: Final = {name: FACTS.fields[name][1] // 8 for name in FACTS.names or ()}  # type: ignore[index]
_BATCH_AT: Final = _OFFSETS["batch"]
_BATCH_WORDS: Final = BATCH.itemsize // 8

#: Instead of a code of the driver: nothing was started, as the host has to assist, or because so
#: many bytes of scratch are needed.
NEEDS_ASSISTANCE: Final = -1
SHORT_OF_SCRATCH: Final = -2

#: Rows of a batch that one launch may apply, at most: others are for tests.
MOST_FEW_ROWS: int = BLOCK

#: Steps of a batch that needs no help of the host.
ALL_STEPS: Final = MAP | SORT | PLAN | ALLOCATE | COMMIT

_VERTEX_COUNT: Final = int(Field.VERTEX_COUNT)
_HEADER_FIELDS: Final = HEADER_FIELDS
_REPORT_WORDS: Final = HEADER_FIELDS + CLASSES
_STATUS: Final = int(BatchField.STATUS)
_TALLY: Final = int(BatchField.ADDED)
_TALLY_END: Final = int(BatchField.REPLACED) + 1
_ROWS: Final = int(BatchField.MOVED_ROWS)
_ROWS_END: Final = int(BatchField.MERGED_ROWS) + 1
_CREATED: Final = int(BatchField.CREATED)


class LaunchContext:
    """Words at one address, and what they name."""

    def __init__(self) -> None:
        self._words = np.zeros(_WORDS, np.int64)
        self.address = address(self._words)
        #: int64[]: `FACTS`, and the same as a record.
        self.facts: npt.NDArray[np.int64] = self._words[_FACTS_AT:]
        self.record: npt.NDArray[np.void] = self.facts.view(FACTS)
        #: The list that the launches of a batch are written to.
        self.launches: npt.NDArray[np.int64] = empty_list()
        #: `DeviceArena.image_number` of the image that is known, 0: of none; and the number of
        #: `state.UpdateState.expected`.
        self.image_number = self.expected_number = 0
        #: What is named by address, to be kept.
        self._held: tuple[object, ...] = ()

    def renew(
        self,
        arena: DeviceArena,
        stream: int,
        report: Report,
        kernels: Kernels,
        expected: LongRows | ListedRows,
        *,
        create_vertices: bool,
    ) -> None:
        """Bring it up to date with a graph, before launches are written to its stream."""
        device = arena.device
        self._held = held = self.launches, arena.header, report.words
        self._words[:_FACTS_AT] = (
            *device.enter(), stream, device.overlaps, *map(address, held)
        )  # fmt: skip
        handles = kernels.pack(arena, with_long=expected.finds_long)
        for name, packed in (("image", pack_image(arena)), ("kernels", handles)):
            words = np.frombuffer(packed, np.int64)
            self.facts[_OFFSETS[name] : _OFFSETS[name] + words.size] = words
        bounds = (
            create_vertices, MOST_TILES, free_runs.FEW_RUNS, MOST_FEW_ROWS, *expected.bounds
        )  # fmt: skip
        self.set_call(**dict(zip(BOUNDS, bounds, strict=True)))
        self.image_number, self.expected_number = arena.image_number, expected.number

    def call(self, name: str) -> int:
        """Field of `facts.CALL`."""
        return int(self.record["call"][name][0])

    def set_call(self, **fields: int) -> None:
        """Set fields of `facts.CALL`."""
        for name, value in fields.items():
            self.record["call"][name] = value


@inlined
def _words_at(position, count):
    return carray(pointer_to_words(position), count)


@compiled
def start_batch(context, batch, scratch, scratch_end, steps, in_buckets):
    """Start launches of a batch, if it needs no assistance.

    Parameters
    ----------
    context
        Address of a `LaunchContext`.
    batch
        `batch.DeviceBatch.facts`.
    scratch, scratch_end
        As in `facts.CALL`.
    steps
        Sum of `MAP` … `COMMIT`; `ENTER` follows from the mode. 0: the mode is ``ASSISTED`` whatever
        the batch: it is filled in, and nothing is started.
    in_buckets
        As in `facts.CALL`.

    Returns
    -------
    code, number : int
        As `launches.start_launches`, or `NEEDS_ASSISTANCE`, or `SHORT_OF_SCRATCH` and how many
        bytes there must be.
    """
    words = _words_at(context, _WORDS)
    header, launches = (
        _words_at(words[_HEADER], _HEADER_FIELDS),
        _words_at(words[_LAUNCHES], LIST_WORDS),
    )
    packed = words[_FACTS_AT:]
    of_batch = np.frombuffer(batch, np.int64)
    for number in range(_BATCH_WORDS):
        packed[_BATCH_AT + number] = of_batch[number]
    facts = np.frombuffer(packed, FACTS)[0]
    call, names = facts.call, facts.batch.names
    mode = ASSISTED
    if steps != 0 and takes_ids(header, names):
        mode = first_mode(header, names, call.create_vertices)
    if names.puts + names.deletes == 0 and facts.image.page_entries[0] > 0:
        # Where there are entries, kernels find out.
        mode = ASSISTED if queue_is_short(header, facts.image) else mode
    call.mode, call.scratch, call.scratch_end = mode, scratch, scratch_end
    call.before, call.after = header[_VERTEX_COUNT], vertices_after(header, names)
    call.report = words[_REPORT]
    call.in_buckets = in_buckets
    call.allocation = call.taken = 0
    if mode == ASSISTED:
        return NEEDS_ASSISTANCE, 0
    if mode == ENTERING:
        steps |= ENTER
    end = write_launches(launches, packed, header, steps)
    if end > scratch_end:
        return SHORT_OF_SCRATCH, end - scratch
    return start_launches(launches, words[_LAUNCH], words[_STREAM], words[_OVERLAPS])


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
    words = _words_at(context, _WORDS)
    code = synchronize_stream(words[_SYNCHRONIZE], words[_STREAM])
    header = _words_at(words[_HEADER], _HEADER_FIELDS)
    report = _words_at(words[_REPORT], _REPORT_WORDS)
    for field in range(_STATUS):
        header[field] = report[field]
    facts = np.frombuffer(words[_FACTS_AT:], FACTS)[0]
    names = facts.batch.names
    numbers = numbers_of_batch(
        header, report[_HEADER_FIELDS:], report[_TALLY:_TALLY_END], report[_ROWS:_ROWS_END],
        facts.image.entries_per_edge, names.deletes,
        VertexChanges(
            names.put_vertex_rows, names.put_vertex_rows, names.delete_vertex_rows, 0,
            report[_CREATED], 0,
        ),
    )  # fmt: skip
    return code, report[_STATUS], numbers

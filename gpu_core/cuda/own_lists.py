"""A batch whose lists are its only half, of which nothing is asked: with hardly any Python.

Part of   the apply path, all of it: **identify -> halves -> plan -> serve_demand -> commit**

Behind other work Python's own code and data are out of the processor's caches, and what `apply.py`
does step by step costs more than the kernels of a small batch. So one compiled call decides whether
the batch is such a one, writes its launches and starts them, and another one waits for them and
reads the report. Whatever is decided here is decided by the code that `apply.py` goes by.

Where the launches of a batch find that it needs help (`BatchStatus`), they leave the graph as it
was, and `apply.py` goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import carray

from ..host.accounts import Outcome, numbers_of_batch
from ..host.compile import compiled, inlined
from ..image import CLASSES, HEADER_FIELDS, BatchField, BatchStatus, Field
from . import free_runs
from .batch_facts import CALL, FACTS, IMAGE, KERNELS, OWN_LISTS
from .batch_launches import COMMIT, ENTER, PLAN, SERVE, write_launches
from .launches import LIST_WORDS, pointer_to_words, start_launches, synchronize_stream
from .packed_arguments import address, packer
from .plan import MOST_TILES, NO_LONG_ROOM, LongRoom, kernels_of
from .ways import ENTERING, first_way, fits_table, takes_own_lists, vertices_after

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .engine import CudaEngine

#: What compiled code finds at one address, int64 each; `FACTS` follow.
_DESK_FIELDS: Final = (
    # Addresses of the driver's functions, the engines' stream, `device.Device.overlaps`.
    "launch", "synchronize", "stream", "overlaps",
    # Addresses of the list of launches, of the header's mirror and of the report.
    "lines", "header", "report",
)  # fmt: skip
_LAUNCH, _SYNCHRONIZE, _STREAM, _OVERLAPS, _LINES, _HEADER, _REPORT = range(len(_DESK_FIELDS))
_FACTS_AT: Final = len(_DESK_FIELDS)
_DESK_WORDS: Final = _FACTS_AT + FACTS.itemsize // 8
#: Words of `FACTS` before those of the image, and before those of the batch.
_IMAGE_AT: Final = CALL.itemsize // 8
_BATCH_AT: Final = _IMAGE_AT + (IMAGE.itemsize + KERNELS.itemsize) // 8
#: Some of `CALL`.
_SCRATCH, _SCRATCH_END, _BEFORE, _AFTER, _MOST_TILES, _FEW_RUNS, _ROOM = (
    (CALL.names or ()).index(name)
    for name in (
        "scratch", "scratch_end", "before", "after", "most_tiles", "few_runs", "long_rows"
    )
)  # fmt: skip

#: Instead of a code of the driver: nothing was started.
_NOT_TAKEN: Final = -1

_COMMON: Final = PLAN | SERVE | COMMIT
_ENTERING: Final = _COMMON | ENTER

_VERTEX_COUNT: Final = int(Field.VERTEX_COUNT)
_HEADER_FIELDS: Final = HEADER_FIELDS
_REPORT_WORDS: Final = HEADER_FIELDS + CLASSES
_CALL: Final = packer(*CALL.names or ())
_STATUS: Final = int(BatchField.STATUS)
_TALLY: Final = int(BatchField.ADDED)
_TALLY_END: Final = int(BatchField.REPLACED) + 1
_ROWS: Final = int(BatchField.MOVED_ROWS)
_ROWS_END: Final = int(BatchField.MERGED_ROWS) + 1
_CREATED: Final = int(BatchField.CREATED)


class Desk:
    """What the compiled code of this file is told, most of it for many batches, at one address.

    A call that takes one address instead of arrays spares Numba their unpacking.
    """

    def __init__(self) -> None:
        self._words = np.zeros(_DESK_WORDS, np.int64)
        self.address = address(self._words)
        #: `DeviceArena.facts_number` of the image that is told of; 0: of none.
        self.facts_number = 0
        #: Whether the kernels for long rows are named.
        self.with_long = False
        #: What is named by address, to be kept.
        self._held: tuple[object, ...] = ()

    def renew(self, engine: CudaEngine, *, with_long: bool) -> None:
        """Tell of the engine as it is."""
        arena, device, updates = engine.arena, engine.device, engine.updates
        self._held = held = updates.lines, arena.header, updates.report.words
        self._words[:_FACTS_AT] = (
            *device.enter(), engine.lock.handle, device.overlaps, *map(address, held)
        )  # fmt: skip
        call = _CALL(1, 0, 0, 0, 0, updates.report.address, 0, 0, 0, 0, *NO_LONG_ROOM)
        facts = call + arena.facts + kernels_of(engine, with_long=with_long)
        self._words[_FACTS_AT : _FACTS_AT + _BATCH_AT] = np.frombuffer(facts, np.int64)
        self.facts_number, self.with_long = arena.facts_number, with_long

    def provide(self, room: LongRoom) -> None:
        """Tell what is provided for the long rows of a batch."""
        self._words[_FACTS_AT + _ROOM : _FACTS_AT + _IMAGE_AT] = room


@inlined
def _words_at(place, count):
    return carray(pointer_to_words(place), count)


@compiled
def _start(desk, own_lists, create_vertices, scratch, scratch_end, most_tiles, few_runs):
    """Start all launches of a batch, if it is one of those that are meant here.

    Parameters
    ----------
    desk
        Address of a `Desk`.
    own_lists
        `batch.DeviceBatch.own_lists`.
    scratch, scratch_end, most_tiles, few_runs
        As in `CALL`.

    Returns
    -------
    code, number : int
        As `launches.start_launches`, or `_NOT_TAKEN`, where nothing was started.
    """
    words = _words_at(desk, _DESK_WORDS)
    header, lines = _words_at(words[_HEADER], _HEADER_FIELDS), _words_at(words[_LINES], LIST_WORDS)
    names = np.frombuffer(own_lists, OWN_LISTS)[0].batch.names
    if not fits_table(header, names):
        return _NOT_TAKEN, 0
    way = first_way(header, names, create_vertices)
    if not takes_own_lists(header, names, way):
        return _NOT_TAKEN, 0
    facts = words[_FACTS_AT:]
    facts[_SCRATCH], facts[_SCRATCH_END] = scratch, scratch_end
    facts[_BEFORE], facts[_AFTER] = header[_VERTEX_COUNT], vertices_after(header, names)
    facts[_MOST_TILES], facts[_FEW_RUNS] = most_tiles, few_runs
    of_batch = np.frombuffer(own_lists, np.int64)
    for number in range(of_batch.size):
        facts[_BATCH_AT + number] = of_batch[number]
    steps = _ENTERING if way == ENTERING else _COMMON
    if write_launches(lines, facts, steps) > scratch_end:
        return _NOT_TAKEN, 0
    return start_launches(lines, words[_LAUNCH], words[_STREAM], words[_OVERLAPS])


@compiled
def _finish(desk):
    """Wait for the launches of a batch, and bring the mirror of the header up to date.

    Returns
    -------
    code, status : int
        The driver's answer, and the `BatchStatus`.
    numbers
        As of `Outcome`, where both are 0.
    """
    words = _words_at(desk, _DESK_WORDS)
    code = synchronize_stream(words[_SYNCHRONIZE], words[_STREAM])
    header = _words_at(words[_HEADER], _HEADER_FIELDS)
    report = _words_at(words[_REPORT], _REPORT_WORDS)
    for field in range(_STATUS):
        header[field] = report[field]
    names = np.frombuffer(words[_FACTS_AT:], FACTS)[0].batch.names
    numbers = numbers_of_batch(
        header, report[_HEADER_FIELDS:], report[_TALLY:_TALLY_END], report[_ROWS:_ROWS_END], 1,
        names.deletes, names.put_vertex_rows, names.put_vertex_rows, names.delete_vertex_rows, 0,
        report[_CREATED], 0,
    )  # fmt: skip
    return code, report[_STATUS], numbers


def apply_own_lists(
    engine: CudaEngine, batch: DeviceBatch, *, create_vertices: bool
) -> tuple[int | None, Outcome | None]:
    """Apply a batch that is a half as it is, as far as it goes without help.

    Parameters are those of `apply.apply_batch`.

    Returns
    -------
    status : BatchStatus or None
        `None`, and nothing is changed: the batch is none of these, or there is too little scratch;
        else the report is valid.
    outcome : Outcome or None
        What the batch came to, where the status is ``OK``.

    Raises
    ------
    EngineError
        CUDA failed.
    """
    own_lists = batch.own_lists
    if not own_lists:
        return None, None
    arena, updates = engine.arena, engine.updates
    desk, with_long = updates.desk, updates.long_rows.expected
    if desk.facts_number != arena.facts_number or desk.with_long != with_long:
        desk.renew(engine, with_long=with_long)
    if with_long:
        assert batch.own_halves is not None
        desk.provide(updates.long_rows.room(engine, batch.own_halves))
    scratch, scratch_end = arena.free_scratch()
    engine.device.enter()
    engine.torn = True
    code, number = _start(
        desk.address, own_lists, create_vertices, scratch, scratch_end, MOST_TILES,
        free_runs.FEW_RUNS,
    )  # fmt: skip
    if code == _NOT_TAKEN:
        engine.torn = False
        return None, None
    if code == 0:
        arena.kept_counts = updates.report.counts
        code, status, numbers = _finish(desk.address)
    if code:
        engine.device.refuse(updates.lines, code, number)
    engine.torn = False
    if status != BatchStatus.OK:
        return status, None
    if with_long:
        updates.see(updates.report[BatchField.LONG_ROWS])
    # Straight: what a `NamedTuple` is made by takes each field as an argument.
    return status, tuple.__new__(Outcome, numbers)

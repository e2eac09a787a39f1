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
import numpy.typing as npt

from ..host.accounts import Outcome, numbers_of_batch
from ..host.compile import compiled
from ..image import HEADER_FIELDS, BatchField, BatchStatus, Field
from . import free_runs
from .batch_facts import CALL, FACTS, IMAGE, KERNELS, OWN_LISTS
from .batch_launches import COMMIT, ENTER, PLAN, SERVE, write_launches
from .launches import start_launches, synchronize_stream
from .plan import MOST_TILES, kernels_of
from .ways import ENTERING, first_way, fits_table, takes_own_lists, vertices_after

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .engine import CudaEngine

#: Words of `FACTS` before those of the image, and before those of the batch.
_IMAGE_AT: Final = CALL.itemsize // 8
_BATCH_AT: Final = _IMAGE_AT + (IMAGE.itemsize + KERNELS.itemsize) // 8

#: Instead of a code of the driver: nothing was started.
_NOT_TAKEN: Final = -1

_COMMON: Final = PLAN | SERVE | COMMIT
_ENTERING: Final = _COMMON | ENTER

_VERTEX_COUNT: Final = int(Field.VERTEX_COUNT)
_HEADER_FIELDS: Final = HEADER_FIELDS
_STATUS: Final = int(BatchField.STATUS)
_TALLY: Final = int(BatchField.ADDED)
_TALLY_END: Final = int(BatchField.REPLACED) + 1
_CREATED: Final = int(BatchField.CREATED)


class Facts:
    """`FACTS` as the compiled code of this file keeps them from batch to batch."""

    def __init__(self) -> None:
        self._words = np.zeros(FACTS.itemsize // 8, np.int64)
        self._image = self._kernels = b""

    def renewed(self, image: bytes, kernels: bytes) -> npt.NDArray[np.int64]:
        """Words of which those of the image and of the kernels are these."""
        if image is not self._image or kernels is not self._kernels:
            self._words[_IMAGE_AT:_BATCH_AT] = np.frombuffer(image + kernels, np.int64)
            self._image, self._kernels = image, kernels
        return self._words


@compiled
def _start(
    lines, facts, header, own_lists, create_vertices, scratch, scratch_end, report, long_rows,
    entry_tiles, old_tiles, staging_words, most_tiles, few_runs, launch, stream, overlaps,
):  # fmt: skip
    """Start all launches of a batch, if it is one of those that are meant here.

    Parameters
    ----------
    lines
        A list, which begins anew.
    facts
        As `Facts.renewed`; the rest is filled in.
    header
        int64[]: fields of the image.
    own_lists
        `batch.DeviceBatch.own_lists`.
    scratch … few_runs
        As in `CALL`.
    launch, stream, overlaps
        As of `launches.start_launches`.

    Returns
    -------
    code, number : int
        As `launches.start_launches`, or `_NOT_TAKEN`, where nothing was started.
    """
    names = np.frombuffer(own_lists, OWN_LISTS)[0].batch.names
    if not fits_table(header, names):
        return _NOT_TAKEN, 0
    way = first_way(header, names, create_vertices)
    if not takes_own_lists(header, way):
        return _NOT_TAKEN, 0
    before, after = header[_VERTEX_COUNT], vertices_after(header, names)
    call = (
        1, scratch, scratch_end, before, after, report, 0, 0, most_tiles, few_runs,
        long_rows, entry_tiles, old_tiles, staging_words,
    )  # fmt: skip
    for place in range(len(call)):
        facts[place] = call[place]
    words = np.frombuffer(own_lists, np.int64)
    for number in range(words.size):
        facts[_BATCH_AT + number] = words[number]
    steps = _ENTERING if way == ENTERING else _COMMON
    if write_launches(lines, facts, steps) > scratch_end:
        return _NOT_TAKEN, 0
    return start_launches(lines, launch, stream, overlaps)


@compiled
def _finish(facts, header, report, synchronize, stream):
    """Wait for the launches of a batch, and bring the mirror of the header up to date.

    Returns
    -------
    code, status : int
        The driver's answer, and the `BatchStatus`.
    numbers
        As of `Outcome`, where both are 0.
    """
    code = synchronize_stream(synchronize, stream)
    for field in range(_STATUS):
        header[field] = report[field]
    names = np.frombuffer(facts, FACTS)[0].batch.names
    numbers = numbers_of_batch(
        header, report[_HEADER_FIELDS:], report[_TALLY:_TALLY_END], 1, names.deletes,
        names.put_vertex_rows, names.put_vertex_rows, names.delete_vertex_rows, 0,
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
    if not batch.own_lists:
        return None, None
    arena, device, updates = engine.arena, engine.device, engine.updates
    long_rows, report, lines = updates.long_rows, updates.report, updates.lines
    assert batch.own_halves is not None
    room = long_rows.room(engine, batch.own_halves)
    facts = updates.facts.renewed(arena.facts, kernels_of(engine, with_long=room.rows > 0))
    scratch = arena.free_scratch()
    launch, synchronize = device.enter()
    stream = engine.lock.handle
    engine.torn = True
    code, number = _start(
        lines, facts, arena.header, batch.own_lists, create_vertices, *scratch, report.address,
        *room, MOST_TILES, free_runs.FEW_RUNS, launch, stream, device.overlaps,
    )  # fmt: skip
    if code == _NOT_TAKEN:
        engine.torn = False
        return None, None
    if code == 0:
        arena.kept_counts = report.counts
        code, status, numbers = _finish(facts, arena.header, report.words, synchronize, stream)
    if code:
        device.refuse(lines, code, number)
    engine.torn = False
    if status != BatchStatus.OK:
        return status, None
    if long_rows.expected:
        updates.see(report[BatchField.LONG_ROWS])
    return status, Outcome(*numbers)

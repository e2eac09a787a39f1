"""Transfer of converted batches from CPU workers to the graph worker.

========  ======================================================  ===============================
route     what travels by Dask                                    where
========  ======================================================  ===============================
``dask``  the batch                                               any cluster
``ring``  a ticket; the batch lies in shared memory (`ring.py`)   workers of the graph's machine
========  ======================================================  ===============================

With ``handover: auto`` or ``ring`` the graph worker makes a ring if its system has memory files.
The client assigns a slot to each batch before it is loaded (`RingSlots`), so no CPU worker waits
for one. The worker that loads a batch hands it over through that slot if it can, else by Dask
(`hand_over`), and the graph worker takes either (``inbox.py``). So a cluster may be mixed, and a
batch without a slot, or larger than one, goes by Dask alone. With ``ring`` a run does not begin if
a worker cannot use it (``generation.py``).

A slot is free again when the client has heard that its batch is applied. A window is never wider
than the ring, unless memory bounds the ring.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from ...gpu_core.batch.raw_rows import raw_bytes
from ...gpu_core.id_kinds import are_names
from ...gpu_core.kind import RowMeaning
from ...gpu_core.properties.kinds import value_bytes
from .ring import ConvertedBatch, RingAddress, Ticket, write

#: What Dask transfers for a batch: the batch itself, or the ticket of its slot.
Payload = ConvertedBatch | Ticket

#: Bytes that a row comes to at most: an edge of its own (row, offset, index). Vertices take less.
_ROW_BYTES = 3 * 8

#: Bytes that a name is expected to take: its key, its position and its own. A batch whose names are
#: longer, and nearly all different, goes by Dask.
_NAME_BYTES = 8 + 8 + 24

#: Edges that a source is expected to have in a batch which CPU workers convert for a GPU. If it has
#: fewer, slots are locked again when such batches come, which takes 1.6 ms for 24 MB and more for
#: what is added; if it has more, too much was locked.
_EDGES_A_SOURCE = 3

#: Room for what does not depend on the rows: the last offsets, and the alignment of each array.
_SPARE_BYTES = 4096


@dataclass(frozen=True)
class RingSize:
    """Size of the ring that a run asks for."""

    slots: int
    slot_bytes: int
    #: Slots that are used from the beginning: those of loads, and half as many that wait for their
    #: turn; and bytes of each that batches for a GPU are expected to fill.
    first_slots: int = 0
    filled_bytes: int = 0


@dataclass(frozen=True)
class RingSlot:
    """Slot of a ring, for one batch."""

    ring: RingAddress
    slot: int


def ring_size(
    window: int, loads: int, rows: int, meaning: RowMeaning, *, id_bytes: int, raw: bool
) -> RingSize:
    """Size a ring so that any batch fits into any slot, and a window of them into the ring.

    Parameters
    ----------
    window
        Batches that may be loaded and not applied.
    loads
        Batches that are asked for at once.
    rows
        Rows of the largest batch to come.
    meaning
        What its rows mean.
    id_bytes
        Bytes of an id on its way to a GPU.
    raw
        Whether rows go to a GPU as they are; else CPU workers convert them.
    """
    record = meaning.record
    # Weight; type, first and last time; and the mark that what was there before does not count.
    weight_bytes = np.dtype(record.weights).itemsize if record.has_weight else 0
    property_bytes = weight_bytes + (4 + 8 + 8) * record.has_times
    property_bytes += record.has_times or meaning.combines_weights
    # Rows of edges and of vertices alike: a row is either, and an edge makes two vertices.
    property_bytes += value_bytes(meaning.properties) + value_bytes(meaning.vertex_properties)
    if raw:
        filled = raw_bytes(rows, id_bytes=id_bytes, records=record.name)
    else:
        filled = rows * (id_bytes + property_bytes) + rows * (id_bytes + 4) // _EDGES_A_SOURCE
    # Names come with the batch.
    name_bytes = 2 * _NAME_BYTES if are_names(meaning.ids) else 0
    slot_bytes = rows * (_ROW_BYTES + property_bytes + name_bytes) + _SPARE_BYTES
    return RingSize(window, slot_bytes, min(loads + loads // 2, window), filled)


def hand_over(batch: ConvertedBatch, batch_id: int, slot: RingSlot | None) -> Payload:
    """Write a batch into its slot and return the ticket; without a slot, return the batch."""
    ticket = None if slot is None else write(slot.ring, slot.slot, batch_id, batch)
    return ticket or batch


class RingSlots:
    """Assignment of slots to batches, on the client; of one generation.

    Parameters
    ----------
    ring
        Address of the generation's ring; None: there is none, and no batch has a slot.
    """

    def __init__(self, ring: RingAddress | None) -> None:
        self._ring = ring
        #: A heap: the lowest slots are used again and again, so memory is taken for as many slots
        #: as are in use at once, not for all.
        self._free = list(range(ring.slots)) if ring else []
        #: Batch -> its slot.
        self._taken: dict[int, int] = {}

    def take(self, batch_id: int) -> RingSlot | None:
        """Choose a slot for a batch; None where none is free."""
        if self._ring is None or not self._free:
            return None
        slot = self._taken[batch_id] = heapq.heappop(self._free)
        return RingSlot(self._ring, slot)

    def give_back(self, boundary: int) -> None:
        """Free the slots of all batches before this one: they are applied."""
        for batch_id in [each for each in self._taken if each < boundary]:
            heapq.heappush(self._free, self._taken.pop(batch_id))

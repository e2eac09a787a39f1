"""Transfer of converted batches from CPU workers to the graph worker.

========  ======================================================  ===============================
route     what travels by Dask                                    where
========  ======================================================  ===============================
``dask``  the batch                                               any cluster
``ring``  a ticket; the batch lies in shared memory (`ring.py`)   workers of the graph's machine
========  ======================================================  ===============================

With ``handover: auto`` or ``ring`` the graph worker makes a ring where its system has such a thing.
The client gives each batch a slot of it before it is loaded (`RingSlots`), so no CPU worker ever
waits for one; the worker that loads it hands it over through that slot where it can, else by Dask
(`hand_over`), and the actor takes either (`Inbox`). So a cluster may be mixed, and a batch that
finds no slot, or no room there, goes by Dask alone. ``ring`` differs in that a run does not begin
where a worker could not use it (``recovery.py``).

A slot is free again when the client has heard that its batch is applied. A window is never wider
than the ring, unless memory bounds the ring.
"""

import heapq
import resource
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...gpu_core.batch.raw_rows import raw_bytes
from ...gpu_core.engine import BatchFeed, SentBatch
from ...gpu_core.id_kinds import are_names
from ...gpu_core.image.memory_size import memory_bytes
from ...gpu_core.kind import RowMeaning
from ...gpu_core.properties.kinds import value_bytes
from .ring import Batch, Ring, RingAddress, StaleTicketError, Ticket, write

#: What Dask transfers for a batch: the batch itself, or the ticket of its slot.
Payload = Batch | Ticket

#: Share of the memory there that a ring may come to. It is taken slot by slot, as the window fills,
#: but for what batches are expected to fill (`Inbox.locking`).
_MEMORY_SHARE = 1 / 4

#: Files that the process may have open, for each slot: a slot takes two, and Dask needs its own.
_FILES_A_SLOT = 8

#: Bytes that a row comes to at most: an edge of its own (row, offset, index). Vertices take less.
_ROW_BYTES = 3 * 8

#: Bytes that a name is expected to take: its key, its position and its own. A batch whose names are
#: longer, and nearly all different, goes by Dask.
_NAME_BYTES = 8 + 8 + 24

#: Edges that a source is expected to have in a batch which CPU workers convert for a GPU. If it has
#: fewer, slots are locked again when such batches come, which takes 1.6 ms for 24 MB and more for
#: what is added; if it has more, too much was locked.
_EDGES_A_SOURCE = 3

#: Threads that lock slots: one alone takes half as long again, more are in each other's way.
_LOCKING_THREADS = 2

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
class Form:
    """Form into which CPU workers convert the rows of a batch."""

    #: Whether the graph is on a GPU: batches are packed for it then.
    on_gpu: bool = False
    #: Whether its ids are vertex indices.
    dense: bool = False
    #: Whether the GPU works out what rows of edges come to; CPU workers only check them.
    raw: bool = False


#: What the host engine takes.
AS_ON_HOST = Form()


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


def hand_over(batch: Batch, batch_id: int, slot: RingSlot | None) -> Payload:
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


class Inbox:
    """Receives batches in the process of the graph; of one generation.

    Parameters
    ----------
    wanted
        Size of the ring to be made; None: batches come by Dask.
    boundary
        First batch that is not in the graph.
    feed
        Sends batches on to the graph's GPU; None: the graph takes them where they are.
    """

    def __init__(
        self, wanted: RingSize | None, boundary: int, feed: "BatchFeed | None" = None
    ) -> None:
        #: Where the ring is, or why there is none.
        self.address: RingAddress | str = "no ring is configured"
        self._ring: Ring | None = None
        self._wanted = wanted
        self._feed = feed
        #: Route -> batches applied since the last call of `routes`.
        self._routes: Counter[str] = Counter()
        if wanted is None:
            return
        slots = min(wanted.slots, int(memory_bytes() * _MEMORY_SHARE) // wanted.slot_bytes)
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            # None at all is a matter of memory alone.
            slots = min(slots, max(files // _FILES_A_SLOT, 1))
        if slots == 0:
            self.address = (
                f"a slot of {wanted.slot_bytes:,} bytes is more than a quarter of its memory; "
                f"lower batch_rows"
            )
            return
        try:
            self._ring = Ring(slots, wanted.slot_bytes, boundary)
        except OSError as error:
            self.address = f"its system refuses: {error}"
            return
        self.address = self._ring.address

    @contextmanager
    def locking(self) -> Iterator[None]:
        """While the block runs, take and page-lock what batches will fill of the first slots.

        Else it takes 4 to 6 ms for 27 MB when a slot's first batch has come, while no other work of
        this process gets to the GPU, and the writer of that batch took half as long again.
        """
        ring, feed, wanted = self._ring, self._feed, self._wanted
        if ring is None or feed is None or wanted is None:
            yield
            return
        first_slots = min(wanted.first_slots, ring.address.slots)

        def lock(slot: int) -> None:
            feed.lock(ring.memory(slot, wanted.filled_bytes), ring.address.slot_bytes)

        with ThreadPoolExecutor(_LOCKING_THREADS, thread_name_prefix="graphtide-lock") as pool:
            locked = pool.map(lock, range(first_slots))
            yield
            list(locked)

    def check(self, payload: Payload) -> None:
        """Refuse what is not of this generation (`StaleTicketError`)."""
        if isinstance(payload, Ticket):
            self._ring_of(payload).check(payload)

    def open(self, payload: Payload) -> "Batch | SentBatch":
        """Unpack a batch for the graph; where there is a feed, the batch is on its way to a GPU.

        It may be views of a slot, or be copied from there: valid until `advance` goes beyond it.
        """
        batch = self._ring_of(payload).read(payload) if isinstance(payload, Ticket) else payload
        if self._feed is None:
            return batch
        if isinstance(payload, Ticket):
            ring = self._ring_of(payload)
            self._feed.lock(ring.memory_of(payload), ring.address.slot_bytes)
        return self._feed.send(batch)

    def advance(self, boundary: int, applied: Payload) -> None:
        """All batches before this one are applied, ``applied`` last; they are not read any more."""
        self._routes["ring" if isinstance(applied, Ticket) else "dask"] += 1
        if self._ring is not None:
            self._ring.advance(boundary)

    def routes(self) -> dict[str, int]:
        """Route -> batches that came by it since the last call, or since the start."""
        routes, self._routes = self._routes, Counter()
        return dict(routes)

    def _ring_of(self, ticket: Ticket) -> Ring:
        if self._ring is None:
            msg = f"batch {ticket.batch_id} lies in a ring, and this graph has none"
            raise StaleTicketError(msg)
        return self._ring

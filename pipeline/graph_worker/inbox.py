"""Inbox of the graph worker: receives batches from Dask or the ring, and opens them for the graph.

It makes the ring of its generation, if one is wanted and the system has memory files. For a graph
on a GPU it sends each batch on as soon as it is opened, while earlier batches are applied.

Not here: which route a batch takes (``handover.py``), and what a slot is (``ring.py``).
"""

import resource
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from ...gpu_core.engine import BatchFeed, SentBatch
from ...gpu_core.image.memory_size import memory_bytes
from .handover import Payload, RingSize
from .ring import ConvertedBatch, Ring, RingAddress, StaleTicketError, Ticket

#: Share of the memory there that a ring may come to. It is taken slot by slot, as the window fills,
#: but for what batches are expected to fill (`Inbox.locking`).
_MEMORY_SHARE = 1 / 4

#: Files that the process may have open, for each slot: a slot takes two, and Dask needs its own.
_FILES_A_SLOT = 8

#: Threads that lock slots: one alone takes half as long again, more are in each other's way.
_LOCKING_THREADS = 2


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

    def open(self, payload: Payload) -> "ConvertedBatch | SentBatch":
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

    def close(self) -> None:
        """Release the ring; nothing is read of it any more."""
        if self._ring is not None:
            self._ring.close()
            self._ring = None

    def _ring_of(self, ticket: Ticket) -> Ring:
        if self._ring is None:
            msg = f"batch {ticket.batch_id} lies in a ring, and this graph has none"
            raise StaleTicketError(msg)
        return self._ring

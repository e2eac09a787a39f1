"""Batches as CPU workers hand them over, made elsewhere and copied."""

from graphtide.pipeline.graph_worker.handover import Parcel, Place, hand_over
from graphtide.pipeline.graph_worker.ring import Batch, RingAddress, Ticket, opened_slot


def write(address: RingAddress, slot: int, batch_id: int, batch: Batch) -> Ticket | None:
    """Write a batch into a slot, if that can be."""
    with opened_slot(address, slot, batch_id) as opened:
        return opened and opened.write(batch)


def handed_over(batch: Batch, batch_id: int, place: Place | None) -> Parcel:
    """What a CPU worker returns for a batch."""
    with hand_over(batch_id, place) as way:
        return way.parcel(batch)

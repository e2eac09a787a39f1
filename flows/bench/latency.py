"""Second table of ``graphtide bench updates``: small batches, one by one, by percentiles.

Each batch is of entries that the graph has not, is made just before the clock starts, and is then
deleted again: nothing that it touches is in a cache because of the batch itself.
"""

from functools import partial

from .measuring import draws
from .measuring.arm import Bench, MeasuredRow
from .measuring.clock import percentile

BATCHES = 300
PERCENTS = (50, 99)


def small_batches(bench: Bench, size: int) -> MeasuredRow:
    """Insert and delete `BATCHES` batches of ``size`` entries."""
    xp = bench.arm.xp
    row, graph = MeasuredRow(f"{size:,}"), bench.graph()
    drawn = bench.fresh(size * (BATCHES + 1), 1)
    drawn = draws.shuffled(xp, drawn, size)
    for number in range(BATCHES + 1):
        keys = xp.sort(drawn[number * size : (number + 1) * size])
        for what, op in (("insert", 1), ("delete", -1)):
            batch = bench.batch(graph, op, keys)
            bench.timed(row, number, what, partial(graph.apply, batch))
    bench.check(graph, None, f"batches of {size:,}")
    return row


def percentiles(row: MeasuredRow) -> list[str]:
    """Cells of a row: inserts and deletes, on the device's clock, then as the caller sees them."""
    return [
        percentile([getattr(lap, clock) for lap in row.laps[what]], percent)
        for clock in ("device", "caller")
        for what in ("insert", "delete")
        for percent in PERCENTS
    ]

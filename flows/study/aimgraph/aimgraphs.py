"""Workloads in aimGraph's structure, and what deletes leave of their pages.

The thesis (000, 3.5) deletes an edge by a mark in its slot, without a lock (algorithm 2), or moves
the last entry into the slot, and gives an emptied page back (algorithm 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....gpu_core.engines import resolve_engine
from ....gpu_core.errors import EngineError, GraphtideError, SettingsError
from ....gpu_core.image.fields import WORD_BYTES
from ...bench.measuring import draws
from ...bench.measuring.arm import PLAIN, Arm, Bench
from ...bench.measuring.report import PrintedTable
from ...bench.measuring.workloads import Keys

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ....gpu_core.cuda.aimgraph.aimgraph import AimGraph
    from ...bench.measuring.selection import Selection

#: Whichever part writes rows here, pages come to the same.
_DISTRIBUTION = "warp a row"


def check_gpu() -> None:
    """Refuse to compare CUDA kernels where there is no GPU.

    Raises
    ------
    EngineError
        There is none.
    """
    if resolve_engine("auto") != "cuda":
        msg = "this study needs a GPU: what it compares are CUDA kernels"
        raise EngineError(msg)


def begin_forms(
    study: str,
    selection: Selection,
    given: Sequence[str],
    known: Collection[str],
    *,
    page_bytes: int,
    clock: str = "device's",
) -> tuple[Arm, list[str]]:
    """Print the first line of a study that compares forms; the engine, and the forms of it.

    Parameters
    ----------
    given
        Names of forms; none: all that are ``known``.

    Raises
    ------
    SettingsError
        A form is unknown, or ``page_bytes`` is no size of a page.
    """
    for name in given:
        if name not in known:
            msg = f"form {name!r} is unknown; use one of {', '.join(known)}"
            raise SettingsError(msg)
    options = [f"--page-bytes {page_bytes}", *(f"--form {name}" for name in given)]
    arm = Arm("cuda", "chain")
    arm.graph(**PLAIN, page_bytes=page_bytes)  # which refuses what is no size of a page
    selection.begin(study, arm, *options, clock=clock)
    return arm, [name for name in known if name in given] or list(known)


def aimgraph_of(bench: Bench, page_bytes: int, room: int, *, compacts: bool = True) -> AimGraph:
    """The workload as aimGraph keeps it, with room for so many pages more."""
    from ....gpu_core.cuda.aimgraph.aimgraph import AimGraph

    vertices = 1 << bench.scale
    return AimGraph(
        bench.arm.device, bench.keys, vertices=vertices, page_bytes=page_bytes, room=room,
        compacts=compacts,
    )  # fmt: skip


def pages_of_inserts(bench: Bench, page_bytes: int, inserts: int) -> int:
    """Pages that so many inserts take at most: one in each row that they reach, and full ones."""
    return min(inserts, (1 << bench.scale) + inserts // (page_bytes // WORD_BYTES - 1))


def check_edges(bench: Bench, graph: AimGraph, expected: Keys, what: str) -> None:
    """Compare the edges of a graph with these, in any order.

    Raises
    ------
    GraphtideError
        They are not the same.
    """
    xp = bench.arm.xp
    found, expected = graph.keys(), xp.sort(expected)
    if not bool(xp.array_equal(found, expected)):
        msg = (
            f"{bench.name}, {what}: the graph of aimGraph has {found.size:,} edges, and not the "
            f"{expected.size:,} that it must have; please report this"
        )
        raise GraphtideError(msg)


class PageTable:
    """Pages of rows as edges go and others come: compacted, marked, and those of our `chain`."""

    def __init__(self) -> None:
        self._table = PrintedTable(
            ["graph", "edges"], ["there are", "compacted", "marked", "chain (ours)"]
        )

    def add(self, bench: Bench, page_bytes: int) -> None:
        """Delete half of the edges, then insert as many others, drawn uniformly.

        Raises
        ------
        GraphtideError
            A graph has other edges than it must have.
        """
        from ....gpu_core.cuda.aimgraph.aimgraph import DISTRIBUTIONS, SortedUpdates

        xp, half = bench.arm.xp, bench.keys.size // 2
        shuffled = draws.shuffled(xp, bench.keys, 3)
        gone, kept = shuffled[:half], shuffled[half:]
        others = bench.fresh(half, 2)
        room = pages_of_inserts(bench, page_bytes, half)
        graphs = [
            aimgraph_of(bench, page_bytes, room, compacts=compacts) for compacts in (True, False)
        ]
        ours = bench.graph(page_bytes=page_bytes)
        for step, inserted, deleted, there in (
            ("at first", gone[:0], gone[:0], bench.keys),
            ("half of them deleted", gone[:0], gone, kept),
            ("as many others inserted", others, gone[:0], xp.concatenate([kept, others])),
        ):
            for graph in graphs:
                graph.update(SortedUpdates.of(xp, inserted, deleted), DISTRIBUTIONS[_DISTRIBUTION])
                check_edges(bench, graph, there, step)
            for op, keys in ((1, inserted), (-1, deleted)):
                ours.apply(bench.batch(ours, op, keys))
            memory = ours.memory()
            pages = [graph.pages_of_rows for graph in graphs]
            pages.append(memory.regions["adjacencies"] // memory.page_bytes)
            self._table.row(bench.name, step, *(f"{n:,}" for n in (there.size, *pages)))

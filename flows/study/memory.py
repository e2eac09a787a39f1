"""``graphtide study memory``: pages over rounds of updates, given back or kept, on each layout.

The three streams of Winter's thesis (2017, papers/000, 4.3.1, figures 4.1 to 4.3), on a graph with
a mean degree of 16, a batch having ten rows a vertex:

``uniform``
    Each round inserts pairs drawn uniformly, then deletes: sources drawn uniformly, and of each an
    edge that it has.
``sweep``
    The same, but inserts have their sources in one tenth of the vertices, for ten rounds each.
``random``
    Each round inserts or deletes, by chance.

All layouts take the same batches, and have the same graph at the end. *Pages* are those of
adjacencies, as the graph accounts for them. *Kept* is computed beside it: what they would be if a
row never gave a page back, as in the first aimGraph and in cuSTINGER: of each row the most that it
ever had.

Beside it stand the accounts of `runs` after each stream, as cuSTINGER's slides have them (004, 33
to 35), with the BlockArrays that its blocks would need; vertex tables as vertices come and go
(``vertex_tables.py``); and graphs that were built in one batch (``bulk_builds.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.image.memory import ARRAY_BYTES, BlockSize, share_text
from ...gpu_core.layouts import LAYOUTS
from ..bench.measuring.arm import Arm
from ..bench.measuring.report import PrintedTable, machine
from ..bench.measuring.workloads import WORKLOADS, pack, uniform_pairs, unpack
from ..bench.updates import csr_bytes
from .bulk_builds import print_bulk_builds
from .plots import check_plot, draw
from .published import SLIDES
from .vertex_tables import print_vertices

Int64s = npt.NDArray[np.int64]

STREAMS = ("uniform", "sweep", "random")
_ROWS_A_VERTEX = 10
#: Parts of the vertices that a sweep goes through, and rounds that it stays in one.
_PARTS = 10
#: Rounds of the table: so many, the last among them.
_REPORTED = 5
#: Bits by which graphs that are built in one batch have more vertices, and their largest scale.
_BULK_BITS, _BULK_SCALE = 6, 20
#: Sizes that take seconds to minutes.
_LEAST_SCALE, _LARGEST_SCALE = 8, 22


class Counts(NamedTuple):
    """Pages after each round; the first is the graph that the stream began with."""

    used: list[int]
    kept: list[int]
    #: Bytes of the graph over those of a CSR, at the end, and its blocks by size.
    over_csr: float
    sizes: tuple[BlockSize, ...] = ()


def study_memory(
    engine: str, *, scale: int, rounds: int, page_bytes: int | None, plot: str | None
) -> None:
    """Run every stream on every layout, and print a table.

    Raises
    ------
    SettingsError
        A number is out of range, or the plot cannot be drawn.
    GraphtideError
        Two layouts have come to different graphs.
    """
    if not _LEAST_SCALE <= scale <= _LARGEST_SCALE or rounds < 1:
        msg = f"--scale is from {_LEAST_SCALE} to {_LARGEST_SCALE}, --rounds at least 1"
        raise SettingsError(msg)
    check_plot(plot)
    arm = Arm(engine)
    words = ["graphtide study memory", f"--scale {scale} --rounds {rounds}"]
    if page_bytes is not None:
        arm.graph(page_bytes=page_bytes)  # which refuses what is no size of a page
        words.append(f"--page-bytes {page_bytes}")
    click.echo(
        f"{' '.join([*words, *arm.options])}, {machine(arm)}.\n"
        f"{1 << scale:,} vertices, batches of {_ROWS_A_VERTEX << scale:,} rows. Pages of "
        f"adjacencies after rounds; in brackets what they were if rows kept their pages.\n"
        f"Memory over CSR contains the index of free runs, whose size is that of the arena.\n"
        f"Papers: aimGraph, figures 4.1 to 4.3 (no numbers); {SLIDES['memory']}."
    )
    reported = sorted({round(rounds * part / (_REPORTED - 1)) for part in range(_REPORTED)})
    table = PrintedTable(
        ["stream", "layout"], [*(f"round {number}" for number in reported), "memory over CSR"]
    )
    panels, accounts = {}, {}
    for stream in STREAMS:
        counts = run_stream(arm.engine, stream, scale, rounds, page_bytes)
        for layout, each in counts.items():
            cells = (f"{each.used[n]:,} ({each.kept[n]:,})" for n in reported)
            table.row(stream, layout, *cells, f"{each.over_csr:.2f}")
        panels[stream] = {
            name: (range(rounds + 1), [n / pages[0] for n in pages])
            for layout, each in counts.items()
            for name, pages in ((layout, each.used), (f"{layout}, kept", each.kept))
        }
        accounts[stream] = counts["runs"].sizes
    click.echo(
        f"\nBlocks of `runs` after the last round, used and free, and what is used of what is "
        f"allocated; the slides' means (33 to 35): edges 70 %, blocks 90 %, overall 70 %.\n"
        f"BlockArrays: the fewest of {ARRAY_BYTES:,} bytes that hold the blocks in use (17 to 25)."
    )
    _print_accounts(accounts)
    click.echo(
        "\nVertex tables as vertices come, and go from half of the rounds on; bytes. GraphVine's "
        "(4.1, 4.4) by our counts, an id and a pointer of 8 bytes each."
    )
    print_vertices(arm.engine, scale, rounds, reported)
    bulk = min(scale + _BULK_BITS, _BULK_SCALE)
    click.echo(
        f"\nMemory over CSR of graphs built in one batch, of {1 << bulk:,} vertices; GraphVine's "
        f"table 5 has what the GPU's free memory shrinks by."
    )
    print_bulk_builds(arm.engine, bulk)
    if plot is not None:
        draw(plot, panels, "round", "pages over those of the beginning", logarithmic=False)


def _print_accounts(accounts: dict[str, tuple[BlockSize, ...]]) -> None:
    table = PrintedTable(
        ["stream"],
        [
            "block bytes", "used", "free", "edges", "blocks", "overall", "bit tree, bytes",
            "BlockArrays", "their bytes",
        ],
    )  # fmt: skip
    for stream, sizes in accounts.items():
        for each in sizes:
            shares = each.edge_utilization, each.block_utilization, each.overall_utilization
            counts = each.block_bytes, each.used, each.free
            arrays = each.tree_bytes, each.arrays, each.array_bytes
            table.row(
                stream, *(f"{n:,}" for n in counts), *map(share_text, shares),
                *(f"{n:,}" for n in arrays),
            )  # fmt: skip


def run_stream(
    engine: str, stream: str, scale: int, rounds: int, page_bytes: int | None
) -> dict[str, Counts]:
    """Apply a stream to a graph on each layout; what they come to, by layout."""
    graphs = {
        name: DynamicGraph(
            engine=engine, layout=name, ids="dense", reverse=False,
            page_bytes=page_bytes if layout.is_paged else None,
        )
        for name, layout in LAYOUTS.items()
    }  # fmt: skip
    counts = {name: Counts([], [], 0.0) for name in graphs}
    most = {name: np.zeros(1 << scale, np.int64) for name in graphs}
    workload = WORKLOADS["G4"]
    first = unpack(np, workload.keys(np, smaller=workload.scale - scale))
    updates = _updates(stream, scale, rounds, next(iter(graphs.values())))
    for graph in graphs.values():
        graph.insert_vertices(np.arange(1 << scale))
        graph.insert_edges(*first)
    for number in range(rounds + 1):
        batches: Iterator[tuple[int, Int64s, Int64s]] = next(updates) if number else iter(())
        for op, src, dst in batches:
            for name, graph in graphs.items():
                (graph.insert_edges if op > 0 else graph.delete_edges)(src, dst)
                np.maximum(most[name], _pages_of_rows(graph), out=most[name])
        for name, graph in graphs.items():
            np.maximum(most[name], _pages_of_rows(graph), out=most[name])
            memory = graph.memory()
            counts[name].used.append(memory.regions["adjacencies"] // memory.page_bytes)
            counts[name].kept.append(int(most[name].sum()))
    edges = next(iter(graphs.values())).edges()
    keys = pack(np, edges.src, edges.dst)
    if len({graph.state_hash() for graph in graphs.values()}) > 1:
        msg = f"{stream}: layouts have come to different graphs; please report this"
        raise GraphtideError(msg)
    for name, graph in graphs.items():
        memory = graph.memory(detail=True)
        assert memory.detail is not None
        counts[name] = counts[name]._replace(
            over_csr=memory.graph_bytes / csr_bytes(keys), sizes=memory.detail.sizes
        )
    return counts


def _updates(
    stream: str, scale: int, rounds: int, graph: DynamicGraph
) -> Iterator[Iterator[tuple[int, Int64s, Int64s]]]:
    """Batches of each round: operation, sources, targets; deletes are of ``graph`` as it is."""
    random = np.random.default_rng(STREAMS.index(stream))
    rows, vertices = _ROWS_A_VERTEX << scale, 1 << scale
    for number in range(rounds):
        src, dst = uniform_pairs(np, scale, rows, random)
        if stream == "sweep":
            part = number * _PARTS // rounds if rounds < _PARTS**2 else number // _PARTS % _PARTS
            low, high = (vertices * each // _PARTS for each in (part, part + 1))
            src = low + src % (high - low)
        delete = partial(_edges_there, graph, random, rows)
        yield _of_round(stream, src, dst, delete, is_delete=bool(random.random() < 0.5))


def _of_round(
    stream: str, src: Int64s, dst: Int64s, delete: Any, *, is_delete: bool
) -> Iterator[tuple[int, Int64s, Int64s]]:
    if stream != "random" or not is_delete:
        yield 1, src, dst
    if stream != "random" or is_delete:
        yield -1, *delete()


def _edges_there(graph: DynamicGraph, random: Any, rows: int) -> tuple[Int64s, Int64s]:
    """Sources drawn uniformly, and of each that has edges one of them; some come repeatedly."""
    csr = graph.to_csr()
    degrees = np.diff(csr.indptr)
    at = random.integers(0, csr.vertices.size, rows)
    at = at[degrees[at] > 0]
    entries = csr.indptr[at] + (random.random(at.size) * degrees[at]).astype(np.int64)
    return csr.vertices[at], csr.vertices[csr.indices[entries]]


def _pages_of_rows(graph: DynamicGraph) -> Int64s:
    """int64, by vertex: pages that each row needs by its degree alone."""
    memory, kind = graph.memory(), graph.kind
    layout, words = LAYOUTS[kind.layout], kind.record.words
    on_page = layout.page_entries(memory.page_bytes // 4, words)
    pages = -(-np.asarray(graph.degrees()) // on_page)
    if layout.is_paged:
        return pages
    # The smallest run that holds so many.
    return np.where(pages > 0, 1 << np.ceil(np.log2(np.maximum(pages, 1))).astype(np.int64), 0)

"""Vertex tables as vertices come and go: ours, and as GraphVine doubles its own.

GraphVine's vertex dictionary (papers/001, 4.1 and 4.4) has a power of two of entries, an id and a
pointer each. The first batch decides on it; where one brings more vertices than there is room for,
all entries are copied to a table of twice the size, and what vertex deletes leave is not reclaimed.

Ours has two parts. Records (first page, degree, state) grow in place at the bottom of the arena, as
many as there are indices, and a freed index is taken again. Users' ids and the hash table that
finds them lie on runs of a power of two of pages each; they are doubled by a copy, as GraphVine's.

Counts are those of a real graph; GraphVine's bytes are computed from them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from ...gpu_core.graph import DynamicGraph
from ..bench.measuring.report import PrintedTable

#: An id and a pointer of 8 bytes each.
ENTRY_BYTES: Final = 16
#: Edges that each new vertex comes with.
_EDGES: Final = 4


class Doubled(NamedTuple):
    """A table that is doubled by a copy; all counts are of entries."""

    room: int = 0
    used: int = 0
    #: By all copies so far.
    copied: int = 0

    def added(self, count: int) -> Doubled:
        """The table after so many entries more: the first ones decide on its size."""
        used = self.used + count
        if used <= self.room:
            return self._replace(used=used)
        return Doubled(1 << (used - 1).bit_length(), used, self.copied + self.used)


class Tables(NamedTuple):
    """Vertex tables after a round, in bytes."""

    vertices: int
    #: Vertices that were ever created.
    created: int
    #: Ours: records, and ids with the table that finds them.
    records: int
    ids: int
    #: GraphVine's, and what it has copied so far.
    doubled: int
    copied: int


def run_vertices(engine: str, scale: int, rounds: int) -> list[Tables]:
    """Tables after each round, in which 1/rounds of all vertices come.

    From half of the rounds on as many of the oldest go each time.
    """
    graph = DynamicGraph(engine=engine, reverse=False)
    random = np.random.default_rng(3)
    step = max((1 << scale) // rounds, 1)
    doubled, tables = Doubled(), []
    for number in range(rounds):
        gone = max(number - rounds // 2, 0) * step
        here = np.arange(gone, (number + 1) * step)
        new = np.repeat(here[-step:], _EDGES)
        created = graph.insert_edges(new, random.choice(here, new.size)).vertices_created
        doubled = doubled.added(created)
        if number >= rounds // 2:
            graph.delete_vertices(np.arange(gone, gone + step))
        regions = graph.memory().regions
        tables.append(
            Tables(
                graph.num_vertices, doubled.used, regions["vertex table"],
                regions["vertex ids"] + regions["dictionary"], doubled.room * ENTRY_BYTES,
                doubled.copied * ENTRY_BYTES,
            )
        )  # fmt: skip
    return tables


def print_vertices(engine: str, scale: int, rounds: int, reported: list[int]) -> None:
    """Print the tables after the rounds ``reported``."""
    table = PrintedTable(
        ["round"],
        [
            "vertices", "ever created", "records, in place", "ids, doubled",
            "GraphVine's, doubled", "copied by it so far",
        ],
    )  # fmt: skip
    tables = run_vertices(engine, scale, rounds)
    for number in reported:
        if number:
            table.row(number, *(f"{value:,}" for value in tables[number - 1]))

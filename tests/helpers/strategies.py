"""Hypothesis strategies: ways to keep a graph, and rows of logs that meet one another."""

import os
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.records import ON_REPEAT
from graphtide.gpu_core.records import RECORDS as RECORD_KINDS
from oracles import Row

# For all tests, as `conftest.py` imports this: what is first may compile, and others may have the
# machine.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

LIMITS = np.iinfo(np.int64)


def examples(few: int) -> int:
    """So many random examples; `make thorough` asks for more."""
    return few * int(os.environ.get("GRAPHTIDE_EXAMPLES", "1"))


#: Close together, far apart, negative, and at both ends of int64.
ANY_IDS = (LIMITS.min, LIMITS.min + 1, -(2**40), -7, -1, 0, 1, 2, 3, 5, 2**20, 2**33, LIMITS.max)
#: Small, and a few behind gaps, so that the table has absent vertices.
DENSE_IDS = (0, 1, 2, 3, 4, 5, 6, 7, 31, 32, 90, 300)

RECORDS = ("simple", "weighted", "semantic", "weighted64", "semantic64")
#: Directed without and with a reverse adjacency, undirected.
DIRECTIONS = ({"reverse": False}, {"reverse": True}, {"directed": False})
#: First and largest size of the arena: never in want, and grown and compacted all the time.
ARENAS = ((None, None), (12_000, 1 << 26))


def least_page_bytes(records: str, layout: str) -> int:
    """The smallest page that an entry fits into, beside the words that name other pages."""
    words = RECORD_KINDS[records].words + LAYOUTS[layout].link_words
    return max(16, 4 * 2 ** (words - 1).bit_length())


def page_sizes(records: str, layout: str) -> tuple[int | None, ...]:
    """No page size, the smallest, and a small one."""
    least = least_page_bytes(records, layout)
    return None, least, 4 * least


def on_pages(*settings: dict[str, Any], page_bytes: int = 32) -> list[dict[str, Any]]:
    """Each layout of pages with one of these settings, by turns, and with small pages."""
    paged = (name for name, layout in LAYOUTS.items() if layout.is_paged)
    return [
        {
            "layout": layout,
            "page_bytes": max(page_bytes, least_page_bytes(each.get("records", "simple"), layout)),
            **each,
        }
        for layout, each in zip(paged, cycle(settings), strict=False)
    ]


@st.composite
def ways_to_keep(draw: st.DrawFn, records: str, layout: str | None = None) -> dict[str, Any]:
    """Arguments of a graph that must not change what is in it."""
    arena_bytes, max_arena_bytes = draw(st.sampled_from(ARENAS))
    layout = layout or draw(st.sampled_from(list(LAYOUTS)))
    return {
        "layout": layout,
        "storage": draw(st.sampled_from(("soa", "aos"))),
        "page_bytes": draw(st.sampled_from(page_sizes(records, layout))),
        "arena_bytes": arena_bytes,
        "max_arena_bytes": max_arena_bytes,
    }


@st.composite
def meanings(draw: st.DrawFn, records: str) -> dict[str, Any]:
    """Arguments of a graph that say what its rows mean."""
    direction = draw(st.sampled_from(DIRECTIONS))
    loops = ["drop", "drop", "reject"] + ["keep", "keep"] * direction.get("directed", True)
    return {
        "records": records,
        "ids": draw(st.sampled_from(("any", "dense"))),
        **direction,
        "self_loops": draw(st.sampled_from(loops)),
        "create_vertices": draw(st.sampled_from((True, True, True, False))),
        "on_repeat": draw(st.sampled_from(ON_REPEAT if records != "simple" else ("last",))),
    }


def pools(ids: str) -> st.SearchStrategy[list[int]]:
    """A few ids, so that rows meet again on an edge."""
    return st.lists(
        st.sampled_from(ANY_IDS if ids == "any" else DENSE_IDS),
        min_size=2,
        max_size=4,
        unique=True,
    )


#: Weights of rows: one that float32 rounds, both zeros, the least of float32, and others.
_WEIGHTS = (0.0, -0.0, 0.1, 1.0, 2.0**-149, *np.linspace(-10, 10, 27, dtype=np.float32).tolist())
_TYPES = (0, 1, -1, 2**31 - 1, -(2**31))
_TIMES = (*range(6), *range(-5, 0), *[LIMITS.min, LIMITS.max] * 4)


def edge_rows(pool: list[int]) -> st.SearchStrategy[list[Row]]:
    """Three to ten rows, of six bytes each: Hypothesis takes as long for a number as for all."""

    def row(op: int, src: int, dst: int, weight: int, kind: int, ts: int) -> Row:
        return Row(
            _of((1, 1, -1), op), _of(pool, src), _of(pool, dst),
            _of(_WEIGHTS, weight), _of(_TYPES, kind), _of(_TIMES, ts),
        )  # fmt: skip

    return st.binary(min_size=3 * 6, max_size=10 * 6).map(lambda drawn: _rows(row, 6, drawn))


def vertex_rows(pool: list[int]) -> st.SearchStrategy[list[Row]]:
    """One to three rows, of two bytes each."""

    def row(op: int, vertex: int) -> Row:
        return Row(_of((1, -1), op), _of(pool, vertex), None)

    return st.binary(min_size=2, max_size=3 * 2).map(lambda drawn: _rows(row, 2, drawn))


def _of(values: Sequence[Any], byte: int) -> Any:
    return values[byte % len(values)]


def _rows(row: Callable[..., Row], size: int, drawn: bytes) -> list[Row]:
    """Rows of so many bytes; what is left over at the end is none."""
    return [row(*drawn[at : at + size]) for at in range(0, len(drawn) - size + 1, size)]


@st.composite
def bursts(draw: st.DrawFn, pool: list[int]) -> list[Row]:
    """One hub with many neighbors, or many of them taken away: rows outgrow runs and pages."""
    hub = draw(st.sampled_from(pool))
    op = draw(st.sampled_from((1, 1, -1)))
    first, count, step = draw(
        st.tuples(st.integers(0, 40), st.integers(5, 90), st.sampled_from((1, 1, 3)))
    )
    others = range(first, first + count * step, step)
    turned = draw(st.booleans())
    return [
        Row(op, *((other, hub) if turned else (hub, other)), 0.5 * other, other, count)
        for other in others
    ]


def seeded_rows(rng: np.random.Generator, ids: np.ndarray, count: int, grow: float) -> list[Row]:
    """Rows among ids, a third of them of two hubs; some are self loops and vertex rows."""
    rows = []
    for _ in range(count):
        op = 1 if rng.random() < grow else -1
        src, dst = (int(x) for x in rng.choice(ids, 2))
        if rng.random() < 0.3:
            src = int(ids[rng.integers(2)])
        if rng.random() < 0.03:
            rows.append(Row(op, src, None))
            continue
        weight, kind, ts = rng.normal(), int(rng.integers(-9, 9)), int(rng.integers(100))
        rows.append(Row(op, src, dst, weight, kind, ts))
    return rows


def long_row_that_shrinks(rng: np.random.Generator, ids: str) -> tuple[list[Row], list[Row]]:
    """Two batches: a row of 30 and more entries is made; then most of it goes, and a little comes.

    Such a row may move to a smaller run, or stay where it is and be merged over itself.
    """
    others = rng.permutation(400)[: rng.integers(30, 140)] + 1
    if ids == "any":
        others = others * 10**15 - 2**57
    hub = int(others[0])
    others = others[1:]
    come = rng.permutation(others)[: rng.integers(1, 6)]
    kept = np.setdiff1d(others, come)
    go = kept[rng.random(kept.size) < rng.choice([0.5, 0.8, 0.95])]
    if rng.random() < 0.5:
        # A contiguous piece of the row, as a delete by range would take it.
        go = np.sort(kept)[slice(*np.sort(rng.integers(0, kept.size + 1, 2)))]

    def rows(op: int, targets: np.ndarray) -> list[Row]:
        return [
            Row(op, hub, other, 0.5 * number, number, number)
            for number, other in enumerate(rng.permutation(targets).tolist())
        ]

    return rows(1, kept), [*rows(-1, go), *rows(1, come)]


def batches(pool: list[int]) -> st.SearchStrategy[list[Row]]:
    """Rows of one batch: edges, vertices and at most one burst, in any order."""
    parts = st.lists(edge_rows(pool) | vertex_rows(pool) | edge_rows(pool), max_size=4)
    whole = st.tuples(parts, st.just([]) | bursts(pool), parts)
    return whole.map(
        lambda drawn: [row for part in (*drawn[0], drawn[1], *drawn[2]) for row in part]
    )

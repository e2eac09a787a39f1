"""Figures that the papers print, for the column beside ours. None of them was measured here.

Milliseconds of one batch. Names of graphs are those of the papers; a workload of ours stands beside
the graphs of the same family, which are larger or smaller (`Published.graph`), on other devices.

Source: Winter 2017, tables 6.1 to 6.3 (papers/000), on a GTX 780. Its table 6.3 gives seconds for
100 batches of a million. Krishnan, Tavva, Nasre 2023, tables 3 and 4 (papers/001), on an RTX 2060;
``init`` are their bulk builds: what they call initialization puts no edge in. Of programs: Zhong
and others 2017, table 5, figures 10, 13 and 14 (papers/002), on a GTX 780.
"""

from typing import NamedTuple

_GTX = "GTX 780"
_RTX = "RTX 2060"


class Published(NamedTuple):
    """One figure of a paper."""

    #: What was timed: ``init``, ``insert`` or ``delete``.
    what: str
    #: Entries of the batch.
    size: int
    graph: str
    structure: str
    milliseconds: float
    device: str

    def __str__(self) -> str:
        return f"{self.structure} {self.milliseconds:g} ({self.graph}, {self.device})"


def _rows(
    graph: str, device: str, structures: tuple[str, ...], *rows: tuple[object, ...]
) -> list[Published]:
    """Rows of a table: what, size, and a figure a structure; 0: the paper has none."""
    return [
        Published(str(what), int(str(size)), graph, structure, float(str(value)), device)
        for what, size, *values in rows
        for structure, value in zip(structures, values, strict=True)
        if value
    ]


_GRAPHVINE = ("Hornet", "faimGraph", "GraphVine")
_AIMGRAPH = ("aimGraph", "cuSTINGER")
_K, _M = 10**5, 10**6

#: Workload -> figures of graphs of its family.
PUBLISHED: dict[str, list[Published]] = {
    "G1": [
        *_rows(
            "rgg_n_2_20_s0", _GTX, _AIMGRAPH,
            ("init", 0, 16.42, 1108.5), ("insert", _M, 10.02, 44.99), ("delete", _M, 4.77, 27.70),
        ),
        *_rows(
            "rgg_n_2_24_s0", _RTX, _GRAPHVINE,
            ("init", 0, 0, 0, 992.54),
            ("insert", _K, 13.02, 1.945, 3.333), ("insert", _M, 115.439, 8.058, 7.559),
            ("insert", 10 * _M, 1161.95, 0, 40.779),
            ("delete", _K, 14.144, 2.194, 3.641), ("delete", _M, 118.606, 9.885, 6.563),
            ("delete", 10 * _M, 1177.21, 0, 35.059),
        ),
    ],
    "G2": [
        *_rows(
            "hugetric-00000", _GTX, _AIMGRAPH,
            ("init", 0, 29.85, 6814.6), ("insert", _M, 10.16, 19.76), ("delete", _M, 4.34, 29.64),
        ),
        *_rows(
            "hugetrace-00020", _RTX, _GRAPHVINE,
            ("init", 0, 11747.7, 0, 135.142),
            ("insert", _K, 1.539, 1.048, 3.197), ("insert", _M, 35.181, 7.504, 5.762),
            ("insert", 10 * _M, 2129.69, 0, 29.444),
            ("delete", _K, 1.504, 0.888, 4.336), ("delete", _M, 35.143, 6.801, 7.367),
            ("delete", 10 * _M, 2159.95, 0, 27.670),
        ),
    ],
    "G3": [
        *_rows(
            "coAuthorsDBLP", _GTX, _AIMGRAPH,
            ("init", 0, 4.57, 289.6), ("insert", _M, 6.85, 146.37), ("delete", _M, 6.23, 30.01),
        ),
        *_rows(
            "co-papers-dblp", _RTX, _GRAPHVINE,
            ("init", 0, 531.632, 0, 124.647),
            ("insert", _K, 13.083, 1.224, 0.868), ("insert", _M, 90.699, 9.909, 2.444),
            ("insert", 10 * _M, 358.091, 0, 37.11),
            ("delete", _K, 12.046, 1.020, 52.207), ("delete", _M, 91.146, 8.115, 151.679),
            ("delete", 10 * _M, 372.862, 0, 513.151),
        ),
    ],
}  # fmt: skip

#: What the slides of cuSTINGER say of a structure beside CSR (papers/004, slides 33 to 38 and 51).
SLIDES = {
    "triangles": "cuSTINGER over CSR 1.10 (coAuthorsDBLP), 1.04 (as-skitter), 1.02 (cit-patents), "
    "K40",
    "memory": "cuSTINGER: 70 % of what is allocated is used, 30 % more than CSR",
}

#: Workload -> a graph of its family, millions of its vertices and edges, and megabytes that a GPU
#: has less when it was built in one batch (papers/001, tables 1 and 5); of rgg Hornet had too few.
_BULK_BUILDS = {
    "G1": ("rgg_n_2_24_s0", 17, 266, {"GraphVine": 9142}),
    "G2": ("hugetrace-00020", 16, 48, {"Hornet": 5059, "GraphVine": 3550}),
    "G3": ("co-papers-dblp", 0.54, 30, {"Hornet": 3124, "GraphVine": 890}),
}

#: Lanes of a warp that have work, in percent, of PageRank without and with sorting (papers/002,
#: table 5): workload -> graphs of its family.
WARP_EFFICIENCY = {
    "G3": {
        "RMAT": (35.7, 95.6), "ego-Gplus": (9.1, 89.8), "soc-Pokec": (21.8, 95.6),
        "com-LiveJournal": (29.4, 92.1), "cit-Patents": (37.9, 94.2),
    },
    "G4": {"Random": (68.0, 91.9)},
}  # fmt: skip

#: Memory that remapping takes beside the rest, in percent, where its text says it (figure 14).
REMAPPING_MEMORY = {"G3": {"ego-Gplus": 2.3, "soc-Pokec": 0.89}}

#: What PageRank of 50 supersteps gains, over all six graphs (figures 10 and 13).
PROGRAM_GAINS = "sorted 8 to 20 % faster, remapped 10 to 25 %"


def beside(workload: str, what: str, size: int) -> str:
    """The papers' figures for a cell of ours; nothing where they have none of that size."""
    return "; ".join(map(str, _figures(workload, what, size)))


def memory_over_csr(workload: str) -> str:
    """GraphVine's table 5 of a family: over a CSR with 32-bit offsets and neighbors."""
    graph, vertices, edges, megabytes = _BULK_BUILDS[workload]
    shares = (f"{name} {mb / 4 / (vertices + edges):.1f}" for name, mb in megabytes.items())
    return f"{', '.join(shares)} ({graph}, {_RTX})"


def thesis_rates(workload: str, what: str, size: int) -> str:
    """Those of aimGraph's thesis alone, as millions of updates in a second."""
    return "; ".join(
        f"{size / each.milliseconds / 1e3:.0f} ({each.graph}, {each.device})"
        for each in _figures(workload, what, size)
        if each.structure == "aimGraph"
    )


def _figures(workload: str, what: str, size: int) -> list[Published]:
    return [
        each
        for each in PUBLISHED.get(workload, [])
        if each.what == what and (what == "init" or each.size == size)
    ]


def lanes_of_paper(workload: str) -> str:
    """`WARP_EFFICIENCY` of a family: without sorting, and with it."""
    found = WARP_EFFICIENCY.get(_family(workload), {})
    return "; ".join(f"{graph} {before} to {after} %" for graph, (before, after) in found.items())


def slots_of_paper(workload: str) -> str:
    """`REMAPPING_MEMORY` of a family."""
    found = REMAPPING_MEMORY.get(_family(workload), {})
    return "; ".join(f"{graph} {percent} % more in all" for graph, percent in found.items())


def modes_of_paper(workload: str) -> str:
    """`PROGRAM_GAINS` for families that the paper has."""
    return PROGRAM_GAINS if _family(workload) in WARP_EFFICIENCY else ""


def _family(workload: str) -> str:
    """The smaller one of two workloads that are made alike."""
    return {"G3b": "G3", "G5": "G4"}.get(workload, workload)

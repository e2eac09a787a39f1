"""`GraphKind` and `ArenaSizes`: the kind of a graph and the sizes of its arena, made once.

`GraphKind` is decided when a graph is made and never changes, but that ``mean_degree`` may become a
number with the first batch. `RowMeaning` is the part of it that conversion needs: what a row of a
log comes to; `row_meaning` checks it. `ArenaSizes` is about memory alone and changes nothing that a
graph means.
"""

from dataclasses import dataclass
from typing import Any

from .choices import one_of
from .errors import SettingsError
from .id_kinds import are_names, form_of
from .properties.kinds import Kinds, checked_kinds
from .records import ON_REPEAT, Record, record_named

SELF_LOOPS = ("drop", "keep", "reject")

#: Value of ``mean_degree``: that of the first batch, which also decides the size of a page.
FIRST_BATCH = "first_batch"


@dataclass(frozen=True)
class RowMeaning:
    """Meaning of the rows of an update log, for `UpdateBatch.from_rows`."""

    #: What an edge carries.
    record: Record
    #: Whether ``(u, v)`` and ``(v, u)`` are different edges.
    directed: bool = True
    #: ``drop``, ``keep`` or ``reject``.
    self_loops: str = "drop"
    #: Whether inserting an edge creates its end points; otherwise they must exist.
    create_vertices: bool = True
    #: ``any``: int64 ids through a dictionary; ``dense``: the id is the vertex index; ``string``,
    #: ``uuid``, ``uint64``: ids that have an int64 key.
    ids: str = "any"
    #: Weight of an edge that is inserted again: ``last``, ``sum``, ``min``, ``max``, ``count`` or
    #: ``first`` (``batch/net_effect/repeats.py``).
    on_repeat: str = "last"
    #: Properties of the user's own, of edges and of vertices (``properties/``).
    properties: Kinds = ()
    vertex_properties: Kinds = ()

    @property
    def has_values(self) -> bool:
        """Whether edges or vertices have properties of the user's own."""
        return bool(self.properties or self.vertex_properties)

    @property
    def has_host_tables(self) -> bool:
        """Whether the graph keeps names or properties in host memory, whatever its engine."""
        return self.has_values or are_names(self.ids)

    @property
    def value_names(self) -> tuple[str, ...]:
        """Names of all these properties, each once."""
        return tuple(dict((*self.properties, *self.vertex_properties)))

    @property
    def combines_weights(self) -> bool:
        """Whether inserting an edge that exists makes its weight of old and new."""
        return self.on_repeat != "last"


def row_meaning(
    *,
    directed: bool = True,
    records: str = "simple",
    weights: str | None = None,
    self_loops: str = "drop",
    create_vertices: bool = True,
    ids: str = "any",
    on_repeat: str = "last",
    properties: Any = None,
    vertex_properties: Any = None,
) -> RowMeaning:
    """`RowMeaning` of arguments as users give them to `DynamicGraph`, checked.

    Raises
    ------
    SettingsError
        A value is none of those allowed, or contradicts another one: undirected graphs cannot keep
        self loops, nor simple records weights.
    """
    record = record_named(records, weights)
    form_of(ids)
    one_of("self_loops", self_loops, SELF_LOOPS)
    if self_loops == "keep" and not directed:
        msg = "self_loops='keep' needs a directed graph; use 'drop' or 'reject', or directed=True"
        raise SettingsError(msg)
    check_on_repeat(on_repeat, record)
    return RowMeaning(
        record, directed, self_loops, create_vertices, ids, on_repeat,
        checked_kinds("properties", properties),
        checked_kinds("vertex_properties", vertex_properties),
    )  # fmt: skip


def check_on_repeat(on_repeat: str, record: Record) -> None:
    """Refuse a rule for repeated edges that is unknown, or that has no weight to work on."""
    one_of("on_repeat", on_repeat, ON_REPEAT)
    if on_repeat != "last" and not record.has_weight:
        msg = (
            f"on_repeat={on_repeat!r}, but {record.name} records keep no weights; "
            f"use records='weighted'"
        )
        raise SettingsError(msg)


@dataclass(frozen=True)
class GraphKind(RowMeaning):
    """Kind of a graph and storage of its adjacencies.

    Attributes
    ----------
    record
        Records and type of weights: ``record.name`` is ``simple``, ``weighted``, ``semantic``,
        ``weighted64`` or ``semantic64``.
    directed, self_loops, create_vertices, ids, on_repeat
        As the arguments of `DynamicGraph`.
    properties, vertex_properties
        Pairs of name and type of the user's own properties.
    reverse, layout, storage, page_bytes, mean_degree
        As the arguments of `DynamicGraph`; ``mean_degree`` becomes a number with the first batch.
    """

    #: Whether in-neighbors of a directed graph are stored as well.
    reverse: bool = True
    #: Name of the layout (`layouts.LAYOUTS`).
    layout: str = "runs"
    #: ``soa``: the words of an entry lie apart in a block; ``aos``: side by side.
    storage: str = "soa"
    #: Size of a page; `None`: what suits ``mean_degree``, or else the layout.
    page_bytes: int | None = None
    #: Entries of an adjacency on the mean, as far as that is known; or `FIRST_BATCH`, until there
    #: was one.
    mean_degree: float | str | None = None

    @property
    def known_mean_degree(self) -> float | None:
        """``mean_degree`` where it is a number by now."""
        return self.mean_degree if isinstance(self.mean_degree, int | float) else None

    @property
    def dense_ids(self) -> bool:
        """Whether ids are vertex indices."""
        return self.ids == "dense"

    @property
    def stores_reverse(self) -> bool:
        """Whether there is a reverse adjacency: undirected graphs have none and need none."""
        return self.reverse and self.directed

    @property
    def has_reverse(self) -> bool:
        """Whether the direction ``in`` can be asked for."""
        return self.reverse or not self.directed

    @property
    def entries_per_edge(self) -> int:
        """Entries of an edge in the adjacencies of direction ``out``, and so in a forward delta."""
        return 1 if self.directed else 2


@dataclass(frozen=True)
class ArenaSizes:
    """First size of the one allocation of a graph, and its limits; bytes."""

    #: First size; `None`: as ``expected_edges`` asks for, 256 MiB at least.
    arena_bytes: int | None = None
    #: Size that it may grow to; `None`: no growth where ``arena_bytes`` is given, else three
    #: quarters of the memory.
    max_arena_bytes: int | None = None
    #: Edges that the graph may come to hold; no limit.
    expected_edges: int = 0
    #: Times its size that an arena has when it has grown; more where a batch needs more.
    arena_growth: float = 2.0
    #: Share of an arena in use from which it grows after a batch; 1: when a batch does not fit.
    arena_grow_at: float = 1.0

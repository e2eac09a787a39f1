"""Which engine works on a graph's image, and what every engine offers.

An engine holds the image, in memory that it can work on, and knows vertex indices; users' ids are
met only where a call takes or gives them. `DynamicGraph` and the algorithms see an engine through
`Engine` alone.

========  =============================================  ===================
engine    works with                                     layouts
========  =============================================  ===================
``host``  Numba, on all cores (`host/engine.py`)         ``runs``, ``chain``
``cuda``  CUDA C++, on one NVIDIA GPU (`cuda/engine.py`)  ``runs``
========  =============================================  ===================

Light: no kernel is imported before an engine is made, and asking which one it will be opens no
CUDA context.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from .errors import EngineError, SettingsError
from .records import Record

if TYPE_CHECKING:
    from .batch import UpdateBatch
    from .cuda.batch import DeviceBatch
    from .cuda.feed import Feed, Upload
    from .host.accounts import Outcome
    from .image_view import ImageView
    from .memory import MemoryReport

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

ENGINES = ("auto", "host", "cuda")

#: Layouts that the ``cuda`` engine has; with others ``auto`` means ``host``.
CUDA_LAYOUTS = ("runs",)


class Engine(Protocol):
    """A dynamic graph by vertex index.

    Arrays that come out are NumPy's, copies unless it says otherwise. Whoever calls more than one
    method and needs the same graph for all holds ``lock``.
    """

    @property
    def name(self) -> str:
        """``host`` or ``cuda``."""

    @property
    def record(self) -> Record:
        """What an edge carries."""

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""

    @property
    def has_reverse(self) -> bool:
        """Whether the direction ``in`` can be asked for."""

    @property
    def lock(self) -> AbstractContextManager[Any, bool | None]:
        """Re-entrant; held by every call of `DynamicGraph`."""

    @property
    def batch_lock(self) -> AbstractContextManager[Any, bool | None]:
        """The same lock, as it is held while a batch is applied."""

    @property
    def algorithms(self) -> Any:
        """Twins of the algorithms' inner loops, by the name of the algorithm."""

    @property
    def is_broken(self) -> bool:
        """Whether the engine refuses all further calls, because the image cannot be trusted."""

    @property
    def arena(self) -> "ImageView":
        """The image, with what lies where in it."""

    @property
    def vertex_count(self) -> int:
        """Vertex records in use; some of them may be of absent vertices."""

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""

    def feed(self) -> "Feed | None":
        """Make what sends batches to the engine's memory ahead of their turn; None: it is ours."""

    def received(self, batch: "UpdateBatch | DeviceBatch | Upload") -> "UpdateBatch | DeviceBatch":
        """What a feed has sent; anything else as it is. ``batch_lock`` is held."""

    def apply(self, batch: "UpdateBatch | DeviceBatch", *, create_vertices: bool) -> "Outcome":
        """Apply a batch for a graph of this kind, whole or not at all.

        Raises
        ------
        BatchError
            The batch breaks its own rules or lies in memory that the engine does not work on, an id
            cannot be a vertex of this graph, or an end point is missing.
        ArenaFullError
            The batch does not fit.
        EngineError
            The engine broke, now or earlier; see ``is_broken``.
        """

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Fill the empty engine with what `snapshot.checkpoint_arrays` returned.

        Raises
        ------
        ArenaFullError
            The graph does not fit within the limit; the engine is of no use.
        """

    def present(self) -> npt.NDArray[np.bool_]:
        """bool[vertex_count]: whether each vertex is in the graph."""

    def user_ids(self) -> Int64s:
        """int64[vertex_count]: users' ids; undefined where the vertex is absent."""

    def sorted_order(self) -> Int64s:
        """int64[num_vertices]: indices of the vertices, in increasing order of users' ids."""

    def indices_of(self, ids: Int64s) -> UInt32s:
        """Vertex index of each of users' ids; `NONE` for ids that are not in the graph."""

    def ids_of(self, indices: UInt32s) -> Int64s:
        """Users' id of each vertex index."""

    def queued_vertices(self) -> UInt32s:
        """Freed vertex indices in the order in which they will be used again."""

    def degrees(self, indices: UInt32s, direction: str = "out") -> Int64s:
        """int64: degree of each vertex index; 0 for `NONE`."""

    def neighbours(self, indices: UInt32s, direction: str = "out") -> tuple[Int64s, UInt32s]:
        """Adjacencies of several vertices as CSR (indptr, columns), columns by index."""

    def has_edges(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.bool_]:
        """Tell for each pair of vertex indices whether it is an edge; no pair with `NONE` is."""

    def csr(self, order: Int64s) -> tuple[Int64s, UInt32s, dict[str, npt.NDArray[np.generic]]]:
        """Adjacencies of the vertices ``order`` as CSR: indptr, columns, properties.

        Columns are positions in ``order``, increasing within a row.
        """

    def free_pages(self) -> tuple[int, int, int]:
        """Pages used, pages that can be handed out without growth, largest free run."""

    def memory(self) -> "MemoryReport":
        """Bytes by region."""

    def verify(self, level: str) -> None:
        """Raise `CorruptImageError` that names the first invariant that does not hold."""

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""


def resolve_engine(name: str, layout: str = "runs") -> str:
    """Return the engine that ``name`` means on this machine: ``host`` or ``cuda``.

    Raises
    ------
    EngineError
        The engine cannot be had here, or not with this layout.
    SettingsError
        There is no engine of this name.
    """
    if name not in ENGINES:
        msg = f"engine={name!r} is unknown; use one of {', '.join(ENGINES)}"
        raise SettingsError(msg)
    if name == "host":
        return name
    from .cuda.device import cuda_available, current_device

    if name == "auto":
        return "cuda" if layout in CUDA_LAYOUTS and cuda_available() else "host"
    if layout not in CUDA_LAYOUTS:
        msg = (
            f"engine='cuda' has no layout {layout!r}; use layout={CUDA_LAYOUTS[0]!r}, or "
            f"engine='host'"
        )
        raise EngineError(msg)
    if not cuda_available():
        # It says why there is none.
        current_device()
    return name


def broken_device() -> str | None:
    """Why this process cannot use its GPU any more; None where it can, or has none.

    For whoever met an `EngineError` and must decide whether only another process can go on.
    """
    from .cuda.device import current_device

    try:
        return current_device().broken
    except EngineError:
        return None


def make_engine(
    name: str,
    *,
    record: Record,
    directed: bool,
    reverse: bool,
    soa: bool,
    layout: str,
    dense_ids: bool,
    page_bytes: int | None = None,
    arena_bytes: int | None = None,
    expected_edges: int = 0,
    limit_bytes: int | None = None,
) -> Engine:
    """Make an empty graph on the engine that ``name`` means here (`resolve_engine`).

    The other parameters are those of `host.arena.Arena`.
    """
    settings: dict[str, Any] = {
        "record": record,
        "directed": directed,
        "reverse": reverse,
        "soa": soa,
        "layout": layout,
        "dense_ids": dense_ids,
        "page_bytes": page_bytes,
        "arena_bytes": arena_bytes,
        "expected_edges": expected_edges,
        "limit_bytes": limit_bytes,
    }
    if resolve_engine(name, layout) == "cuda":
        from .cuda.engine import CudaEngine

        return CudaEngine(**settings)
    from .host.engine import HostEngine

    return HostEngine(**settings)

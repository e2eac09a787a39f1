"""How large an arena begins: for the edges that are expected, as asked for, and as there is room.

On every engine: ``engine`` is the name of the one that a graph gets by default.
"""

from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide import ArenaFullError, DynamicGraph, SettingsError
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.image import arena_size
from graphtide.gpu_core.image.fields import WORD_BYTES, Field
from graphtide.gpu_core.kind import GraphKind
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import engine_of

pytestmark = pytest.mark.usefixtures("engine")

EDGES, SCALE, BATCHES = 24_000, 7, 12

WAYS: dict[str, dict[str, Any]] = {
    "one way": {"ids": "dense", "reverse": False},
    "reverse": {"ids": "dense"},
    "any ids": {"reverse": False},
    "undirected": {"ids": "dense", "directed": False},
    "weighted": {"ids": "dense", "records": "weighted"},
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arenas begin small where nothing is expected."""
    monkeypatch.setattr(arena_size, "FIRST_BYTES", 1 << 16)


def sizes_of(graph: DynamicGraph, shape: str) -> set[int]:
    """Sizes of the area of pages and vertex records, while `EDGES` edges come in batches."""
    sizes = set()
    for numbers in np.array_split(np.arange(EDGES, dtype=np.uint64), BATCHES):
        if shape == "uniform":
            edges = uniform_edges(numbers, 1 << SCALE)
        else:
            edges = rmat_edges(numbers, SCALE + 2)
        graph.insert_edges(*edges)
        memory = graph.memory()
        sizes.add(memory.arena_bytes - memory.regions["scratch"])
    return sizes


#: Skewed rows leave more behind than even ones do.
SHAPES = [*((way, "rmat") for way in WAYS), ("one way", "uniform"), ("undirected", "uniform")]


@pytest.mark.parametrize(("way", "shape"), SHAPES)
def test_an_arena_does_not_grow_for_the_edges_that_it_expects(
    small: None, way: str, shape: str
) -> None:
    assert len(sizes_of(DynamicGraph(**WAYS[way], expected_edges=EDGES), shape)) == 1
    assert len(sizes_of(DynamicGraph(**WAYS[way]), shape)) > 1


def test_an_arena_grows_as_much_as_is_set(small: None) -> None:
    for growth in (1.25, 2, 3.5):
        sizes = sorted(sizes_of(DynamicGraph(**WAYS["one way"], arena_growth=growth), "uniform"))
        ratios = np.divide(sizes[1:], sizes[:-1])
        assert growth - 0.01 < ratios.min() < growth + 0.2, sizes


@pytest.mark.parametrize("share", [0.8, 0.5])
def test_an_arena_grows_ahead_beyond_a_share_in_use(small: None, share: float) -> None:
    """By a quarter after a batch, so that no more than the share is in use when it is over."""
    way = {**WAYS["one way"], "arena_growth": 1.25}
    graph = DynamicGraph(**way, arena_grow_at=share)
    plain, sizes = DynamicGraph(**way), set()
    for numbers in np.array_split(np.arange(EDGES, dtype=np.uint64), 4 * BATCHES):
        for each in (graph, plain):
            each.insert_edges(*uniform_edges(numbers, 1 << SCALE))
        graph.verify()
        memory = graph.memory()
        area = memory.arena_bytes - memory.regions["scratch"]
        sizes.add(area)
        assert memory.graph_bytes <= share * area
        assert memory.arena_bytes >= plain.memory().arena_bytes
    assert graph.state_hash() == plain.state_hash()
    grown = sorted(sizes)
    assert len(grown) > 2
    assert np.divide(grown[1:], grown[:-1]).max() < 1.27


def test_an_arena_at_its_limit_grows_ahead_no_more(small: None) -> None:
    """Nor does it refuse what fits."""
    graph = DynamicGraph(
        **WAYS["one way"], arena_bytes=1 << 17, max_arena_bytes=1 << 18, arena_grow_at=0.2
    )
    for numbers in np.array_split(np.arange(EDGES // 2, dtype=np.uint64), BATCHES):
        graph.insert_edges(*uniform_edges(numbers, 1 << SCALE))
    graph.verify()
    memory = graph.memory()
    assert memory.arena_bytes <= 1 << 18
    assert memory.graph_bytes > 0.2 * memory.arena_bytes


def test_every_entry_of_an_edge_is_expected(small: None) -> None:
    def size(**way: Any) -> int:
        return DynamicGraph(**way, expected_edges=10_000).memory().arena_bytes

    one = size(reverse=False)
    assert size(reverse=True) == pytest.approx(2 * one, rel=1e-3)
    assert size(directed=False) == pytest.approx(2 * one, rel=1e-3)
    assert size(records="weighted", reverse=False) == pytest.approx(2 * one, rel=1e-3)
    assert size(records="semantic", reverse=False) == pytest.approx(7 * one, rel=1e-3)


def test_nothing_is_expected_by_default() -> None:
    assert DynamicGraph().memory().arena_bytes == arena_size.FIRST_BYTES
    assert DynamicGraph(expected_edges=10).memory().arena_bytes == arena_size.FIRST_BYTES


def test_a_size_that_is_asked_for_wins() -> None:
    graph = DynamicGraph(arena_bytes=1 << 20, expected_edges=10**9)
    assert graph.memory().arena_bytes == 1 << 20
    graph = DynamicGraph(max_arena_bytes=1 << 21, expected_edges=10**9)
    assert graph.memory().arena_bytes == 1 << 21
    with pytest.raises(SettingsError, match="expected_edges=-1 is not a whole number"):
        DynamicGraph(expected_edges=-1)


def test_memory_that_cannot_be_had_is_not_insisted_on(
    small: None, emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = emulated_device.empty

    def limited(count: int, dtype: Any) -> Any:
        if count * np.dtype(dtype).itemsize > 1 << 20:
            raise ArenaFullError
        return empty(count, dtype)

    monkeypatch.setattr(emulated_device, "empty", limited)
    graph = DynamicGraph(engine="cuda", expected_edges=10**6)
    assert graph.memory().arena_bytes == arena_size.FIRST_BYTES
    with pytest.raises(ArenaFullError):
        DynamicGraph(engine="cuda", arena_bytes=1 << 21, expected_edges=10**6)


def test_what_may_never_come_takes_a_quarter_of_the_memory(
    small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(engine_of(DynamicGraph()).arena), "_default_limit", lambda _: 3 << 20)
    graph = DynamicGraph(expected_edges=10**12, max_arena_bytes=1 << 26)
    assert graph.memory().arena_bytes == 1 << 20
    # It is no limit.
    src = np.arange(20_000)
    graph.insert_edges(src, src + 1)
    assert graph.num_edges == src.size
    assert graph.memory().arena_bytes > 1 << 20


@pytest.mark.parametrize(("gib", "page_bytes"), [(1, 16), (63, 16), (65, 32), (300, 128)])
def test_pages_for_a_mean_degree_reach_the_end_of_the_image(gib: int, page_bytes: int) -> None:
    """32 bits number them; pages of 16 bytes are the least that hold one entry of a chain."""
    kind = GraphKind(record=RECORDS["simple"], layout="chain")
    header = arena_size.new_header(kind, 128)
    header[Field.IMAGE_WORDS] = (gib << 30) // WORD_BYTES
    assert arena_size.page_size_of(header, kind, 1.0) == page_bytes

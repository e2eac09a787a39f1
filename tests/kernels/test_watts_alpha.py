"""Watts' alpha model on a GPU: the graph of the host, whoever allocates memory for its rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.engines import grow_on_gpu
from graphtide.gpu_core.generators.alpha_model import AlphaModel, alpha_model
from graphtide.gpu_core.generators.counter_random import stream_start
from graphtide.gpu_core.generators.watts_alpha import BY, MEMORY, Growing, watts_alpha_edges
from graphtide.gpu_core.generators.watts_alpha_kernels import drawn_class

DRAWS = str(Path(__file__).parents[1] / "helpers" / "alpha_draws.cu")


def lists(*arguments: Any, **settings: Any) -> list[list[int]]:
    return [each.tolist() for each in watts_alpha_edges(*arguments, **settings)]


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize(
    ("num_vertices", "degree", "alpha", "p"),
    [
        (40, 6, 1.0, 0.01),
        (30, 5.5, 0.0, 0.001),
        (30, 4, 7.0, 0.2),
        (9, 8, 1.0, 0.5),  # all pairs become neighbors
        (2, 1, 1.0, 1.0),
        (1, 1, 1.0, 1.0),  # nobody to choose
        (270, 2.6, 2.0, None),  # more than one digit of an id
    ],
)
def test_a_gpu_grows_the_graph_of_the_host(
    device: Any, num_vertices: int, degree: float, alpha: float, p: float | None, by: str,
    memory: str,
) -> None:  # fmt: skip
    arguments = num_vertices, degree, alpha
    for seed in range(2 if num_vertices < 100 else 1):
        expected = lists(*arguments, p=p, seed=seed)
        found = lists(*arguments, p=p, seed=seed, by=by, engine="cuda", memory=memory)
        assert found == expected


@pytest.mark.parametrize("by", BY)
def test_the_order_of_threads_does_not_matter(emulated_device: EmulatedDevice, by: str) -> None:
    expected = lists(80, 5, 1.0)
    for shuffle in (1, 2):
        emulated_device.shuffle = shuffle
        assert lists(80, 5, 1.0, by=by, engine="cuda") == expected


@pytest.mark.parametrize("classes", [1, 32, 33, 100])
def test_classes_are_drawn_as_on_the_host(device: Any, classes: int) -> None:
    """Also where they are more than threads, which takes a graph of a degree beyond 512."""
    random = np.random.default_rng(classes)
    shares, start = random.random(classes) + 0.01, int(stream_start(5, 0))
    for sizes in (random.integers(0, 3, classes), np.zeros(classes, np.int64)):
        found = device.to_device(np.zeros(200, np.int64))
        device.launch(
            DRAWS, "draw_classes", 1, 32, device.to_device(sizes.astype(np.uint64)),
            device.to_device(shares), np.int64(classes), np.uint64(start), np.int64(200), found,
        )  # fmt: skip
        expected = [drawn_class(np.uint64(start), turn, sizes, shares) for turn in range(200)]
        assert device.to_host(found).tolist() == expected


@pytest.mark.parametrize("by", BY)
def test_there_may_be_more_classes_than_threads(device: Any, by: str) -> None:
    model = AlphaModel(50, 150, np.linspace(0.01, 1, 1100), seed=3)
    growing = Growing(model)
    while not growing.is_complete:
        growing.choose(50, "two hops")
    grown = grow_on_gpu(model, by, memory="device", first_room=4)
    assert grown.src.tolist() == growing.src.tolist()
    assert grown.dst.tolist() == growing.dst.tolist()


@pytest.mark.parametrize("by", BY)
def test_a_gpu_grows_large_graphs_too(device: Any, by: str) -> None:
    """Where a block has many vertices, and launches are started far ahead."""
    if isinstance(device, EmulatedDevice):
        pytest.skip("takes hours of an emulated device")
    assert lists(30_000, 12, 1.0, by=by, engine="cuda") == lists(30_000, 12, 1.0)


def memory_of(src: np.ndarray, dst: np.ndarray, count: int, first_room: int, taken: int) -> int:
    """Words up to where rows are, by the rules: free runs of their size, else the bump mark."""
    room = [first_room if taken else 0] * count
    degree, free = [0] * count, dict[int, int]()
    for edge in zip(src.tolist(), dst.tolist(), strict=True):
        for vertex in edge:
            if degree[vertex] == room[vertex]:
                before, room[vertex] = room[vertex], 2 * room[vertex] or first_room
                if free.get(room[vertex]):
                    free[room[vertex]] -= 1
                else:
                    taken += room[vertex]
                free[before] = free.get(before, 0) + (before > 0)
            degree[vertex] += 1
    return taken


@pytest.mark.parametrize("memory", MEMORY)
def test_rows_leave_memory_to_others_when_they_grow(device: Any, memory: str) -> None:
    count, degree = 60, 14
    first = {"device": 0, "host": count * 4}[memory]
    model = alpha_model(count, degree, 1.0, 0.01, seed=77)
    grown = grow_on_gpu(model, "two hops", memory=memory, first_room=4)
    assert grown.taken == memory_of(grown.src, grown.dst, count, 4, first)
    pairs = {frozenset(edge) for edge in zip(grown.src.tolist(), grown.dst.tolist(), strict=True)}
    assert len(pairs) == count * degree // 2


def test_rows_have_the_room_asked_for_at_first(device: Any) -> None:
    assert lists(40, 6, 1.0, engine="cuda", first_room=32) == lists(40, 6, 1.0, first_room=32)
    launches = getattr(device, "launches", [])
    assert ("watts_alpha.cu", "move_full_row") not in launches
    assert lists(40, 6, 1.0, engine="cuda", memory="host") == lists(40, 6, 1.0)
    if launches:
        assert ("watts_alpha.cu", "move_full_row") in launches

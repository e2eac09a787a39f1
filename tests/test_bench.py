"""Benchmarks as a user starts them, small."""

import numpy as np
import pytest

from commands import graphtide, told
from graphtide.flows.bench import draws
from graphtide.flows.bench.arm import Arm, check
from graphtide.flows.bench.workloads import WORKLOADS, pack, unpack
from graphtide.gpu_core.errors import GraphtideError


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_a_simple_graph_stored_both_ways(name: str) -> None:
    workload = WORKLOADS[name]
    keys = workload.keys(np, smaller=workload.scale - 10)
    src, dst = unpack(np, keys)
    assert (np.diff(keys) > 0).all()
    assert (src != dst).all()
    assert max(src.max(), dst.max()) < 1 << 10
    assert np.array_equal(np.sort(pack(np, dst, src)), keys)


def test_a_geometric_graph_joins_every_pair_within_the_radius() -> None:
    # The points are drawn anew as the workload draws them, and all pairs are compared.
    scale, seed = 9, 1
    keys = WORKLOADS["G1"].make(np, scale, seed)
    count = 1 << scale
    draw = np.random.default_rng(seed)
    x, y = draw.random(count), draw.random(count)
    radius = (13.0 / (np.pi * count)) ** 0.5
    near = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2 <= radius**2
    assert keys.size == np.count_nonzero(near) - count


@pytest.mark.parametrize("rmat", [False, True])
def test_new_keys_are_none_of_the_graph(rmat: bool) -> None:
    keys = WORKLOADS["G3"].keys(np, smaller=12)
    drawn = draws.new_keys(np, keys, 8, 2_000, 3, rmat=rmat)
    assert drawn.size == 2_000
    assert (np.diff(drawn) > 0).all()
    assert not np.isin(drawn, keys).any()


def test_a_stress_batch_has_repeats_and_entries_of_the_graph() -> None:
    keys = WORKLOADS["G4"].keys(np, smaller=12)
    drawn = pack(np, *draws.stress_pairs(np, keys, 8, 1_000, 5))
    assert drawn.size == 1_000
    assert np.unique(drawn).size == 900
    assert np.isin(np.unique(drawn), keys).sum() == 100


def test_the_check_tells_one_entry_too_many() -> None:
    arm = Arm("host")
    keys = WORKLOADS["G4"].keys(np, smaller=12)
    graph = arm.graph(directed=True, ids="dense", reverse=False)
    graph.apply(arm.batch(1, *unpack(np, keys)))
    check(graph, keys, "all")
    with pytest.raises(GraphtideError, match="1 of them others"):
        check(graph, keys[1:], "one less")


def test_the_command_prints_a_table() -> None:
    done = graphtide("bench", "updates", "G4", "--engine", "host", "--smaller", 12, "--repeats", 1)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| G4 |")]
    assert len(rows) == 15
    assert len({line.count("|") for line in rows}) == 1


def test_an_unknown_workload_is_told() -> None:
    told(graphtide("bench", "updates", "G9"), 2, "G9", "G1")


def test_analytics_are_measured_and_counted() -> None:
    done = graphtide(
        "bench", "analytics", "G1", "--engine", "host", "--smaller", 11, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    keys = WORKLOADS["G1"].keys(np, smaller=11)
    near = np.zeros((1 << 9, 1 << 9), np.int64)
    near[unpack(np, keys)] = 1
    triangles = np.trace(near @ near @ near) // 6
    assert done.stdout.rstrip().endswith(f"| {triangles:,} |")

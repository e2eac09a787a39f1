"""Generators: any slice is the same as that slice of the whole, and the draws are what they say."""

import math
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide import SettingsError
from graphtide.gpu_core.generators import rmat
from graphtide.gpu_core.generators.barabasi_albert import barabasi_albert_edges
from graphtide.gpu_core.generators.counter_random import below, random_words, stream_start
from graphtide.gpu_core.generators.erdos_renyi import erdos_renyi_edges
from graphtide.gpu_core.generators.geometric import geometric_edges, geometric_size
from graphtide.gpu_core.generators.grid import grid_edges, grid_size
from graphtide.gpu_core.generators.permutation import permuted_below
from graphtide.gpu_core.generators.rmat import permuted, rmat_edges
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.generators.update_streams import UpdateMix, swept, update_rows
from graphtide.gpu_core.generators.watts_strogatz import watts_strogatz_edges
from oracles import chance_of

MASK = 2**64 - 1


def numbers(first: int, last: int) -> np.ndarray:
    return np.arange(first, last, dtype=np.uint64)


def splitmix(state: int) -> int:
    """SplitMix64's output function on Python's integers, as published."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
    return state ^ (state >> 31)


@given(seed=st.integers(-(2**70), 2**70), number=st.integers(0, MASK))
def test_random_words_are_splitmix64_from_the_start_of_the_stream(seed: int, number: int) -> None:
    word = random_words(seed, 7, np.array([number], dtype=np.uint64))[0]
    start = int(stream_start(seed, 7))
    assert int(word) == splitmix((start + (number + 1) * 0x9E3779B97F4A7C15) & MASK)


def test_streams_and_seeds_differ() -> None:
    streams = [random_words(seed, stream, numbers(0, 100)) for seed in (0, 1) for stream in (0, 1)]
    assert len(np.unique(np.concatenate(streams))) == 400


@given(limit=st.integers(1, 2**32))
def test_below_stays_below_and_reaches_both_ends(limit: int) -> None:
    ends = below(np.array([0, 2**32 - 1], dtype=np.uint64), limit)
    assert ends[0] == 0
    assert ends[1] == limit - 1


EDGES = {
    "uniform": lambda which, seed=0: uniform_edges(which, 1000, seed=seed),
    "rmat": lambda which, seed=0: rmat_edges(which, 9, seed=seed),
    "barabasi-albert": lambda which, seed=0: barabasi_albert_edges(which, 4, seed=seed),
    "watts-strogatz": lambda which, seed=0: watts_strogatz_edges(which, 500, 16, 0.95, seed=seed),
    "erdos-renyi": lambda which, seed=0: erdos_renyi_edges(which, 90, seed=seed),
    "geometric": lambda which, seed=0: geometric_edges(which, 400, 9.0, seed=seed),
    "grid": lambda which, seed=0: grid_edges(which, 1600),
}


@pytest.mark.parametrize("kind", EDGES)
@given(low=st.integers(0, 3000), size=st.integers(0, 500))
def test_a_slice_is_the_same_slice_of_the_whole(kind: str, low: int, size: int) -> None:
    whole = EDGES[kind](numbers(0, 4000))
    part = EDGES[kind](numbers(low, low + size))
    for full, piece in zip(whole, part, strict=True):
        np.testing.assert_array_equal(full[low : low + size], piece)


@pytest.mark.parametrize("kind", [kind for kind in EDGES if kind != "grid"])
def test_seeds_make_different_lists(kind: str) -> None:
    first, second = EDGES[kind](numbers(0, 1000), 1), EDGES[kind](numbers(0, 1000), 2)
    assert np.mean((first[0] == second[0]) & (first[1] == second[1])) < 0.1


def test_blocks_do_not_show_in_rmat(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rmat_edges(numbers(0, 5000), 12)
    monkeypatch.setattr(rmat, "_BLOCK", 97)
    for full, blocked in zip(whole, rmat_edges(numbers(0, 5000), 12), strict=True):
        np.testing.assert_array_equal(full, blocked)


def test_uniform_end_points_are_uniform_and_independent() -> None:
    src, dst = uniform_edges(numbers(0, 1_000_000), 10)
    counts = np.bincount(src * 10 + dst, minlength=100)
    # 10,000 expected in each of 100 cells, standard deviation 100.
    assert abs(counts - 10_000).max() < 500


def test_rmat_chooses_quadrants_with_the_given_probabilities() -> None:
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    a, b, c, _ = probabilities
    src, dst = rmat_edges(numbers(0, 200_000), 5, a=a, b=b, c=c, permute=False)
    for level in range(5):
        quadrant = ((src >> level) & 1) * 2 + ((dst >> level) & 1)
        share = np.bincount(quadrant, minlength=4) / len(src)
        np.testing.assert_allclose(share, probabilities, atol=0.005)
    # Levels are independent: both upper left on two levels has probability a².
    both = ((src | dst) & 0b11) == 0
    np.testing.assert_allclose(both.mean(), a * a, atol=0.005)


def test_rmat_out_degrees_are_skewed_and_the_permutation_keeps_them() -> None:
    src, dst = rmat_edges(numbers(0, 16 << 12), 12)
    raw, raw_dst = rmat_edges(numbers(0, 16 << 12), 12, permute=False)
    # One permutation: what is a hub stays one in both directions.
    names = permuted(numbers(0, 1 << 12), 12, 0).astype(np.int64)
    np.testing.assert_array_equal([src, dst], names[[raw, raw_dst]])
    degrees, raw_degrees = np.bincount(src, minlength=4096), np.bincount(raw, minlength=4096)
    np.testing.assert_array_equal(np.sort(degrees), np.sort(raw_degrees))
    assert raw_degrees.argmax() == 0
    assert degrees.argmax() != 0
    # Expected degree of raw vertex 0: m * (a + b)**scale = 65,536 * 0.76**12.
    np.testing.assert_allclose(raw_degrees[0], 65_536 * 0.76**12, rtol=0.05)
    assert dst.max() < 4096


def test_rmat_may_have_no_lower_right_quadrant() -> None:
    src, dst = rmat_edges(numbers(0, 1_000), 8, a=0.5, b=0.25, c=0.25, permute=False)
    assert not (src & dst).any()
    assert src.max() > 128 < dst.max()


@pytest.mark.parametrize("scale", [1, 2, 3, 7, 12, 15])
@pytest.mark.parametrize("seed", [0, 5])
def test_the_vertex_permutation_is_one(scale: int, seed: int) -> None:
    image = permuted(numbers(0, 1 << scale), scale, seed)
    np.testing.assert_array_equal(np.sort(image), numbers(0, 1 << scale))


MIX = UpdateMix(repeats=0.1, deletes=0.2, vertex_deletes=0.01)


def rows_of(first: int, count: int, mix: UpdateMix = MIX, seed: int = 0):
    return update_rows(EDGES["rmat"], first, count, mix, seed=seed, first_time=100, time_step=3)


@given(low=st.integers(0, 3000), size=st.integers(0, 500))
def test_a_slice_of_rows_is_the_same_slice_of_the_stream(low: int, size: int) -> None:
    whole, part = rows_of(0, 4000), rows_of(low, size)
    for column in ("op", "src", "dst", "dst_valid", "weight", "type", "ts"):
        np.testing.assert_array_equal(
            getattr(whole, column)[low : low + size], getattr(part, column), err_msg=column
        )


def test_rows_have_the_shares_asked_for() -> None:
    rows = rows_of(0, 200_000)
    edge_deletes = (rows.op == -1) & rows.dst_valid
    vertex_deletes = ~rows.dst_valid
    np.testing.assert_allclose(edge_deletes.mean(), 0.2, atol=0.005)
    np.testing.assert_allclose(vertex_deletes.mean(), 0.01, atol=0.002)
    assert (rows.op[vertex_deletes] == -1).all()


def test_without_a_mix_every_row_is_its_own_edge() -> None:
    rows = rows_of(0, 1000, UpdateMix())
    src, dst = EDGES["rmat"](numbers(0, 1000))
    np.testing.assert_array_equal(rows.src, src)
    np.testing.assert_array_equal(rows.dst, dst)
    assert (rows.op == 1).all()
    assert rows.dst_valid.all()


def test_deletes_and_repeats_are_about_an_edge_of_an_earlier_row() -> None:
    # A list where edge i is (i, i + 1): the row it came from can be read off.
    def edges(which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return which.astype(np.int64), which.astype(np.int64) + 1

    rows = update_rows(edges, 0, 20_000, UpdateMix(repeats=0.3, deletes=0.3, vertex_deletes=0.1))
    inserted: set[int] = set()
    repeats = 0
    for row, (op, src, is_edge) in enumerate(zip(rows.op, rows.src, rows.dst_valid, strict=True)):
        if op == 1:
            assert src == row or src in inserted, "a repeat of what was never inserted"
            repeats += int(src != row)
            inserted.add(int(src))
        else:
            assert src in inserted, f"row {row} (edge: {is_edge}) deletes what was never inserted"
    np.testing.assert_allclose(repeats / 20_000, 0.3, atol=0.02)


def test_properties_of_rows() -> None:
    assert rows_of(2**32 - 1, 1).ts.tolist() == [100 + 3 * (2**32 - 1)], "the last one"
    rows = rows_of(0, 5000)
    np.testing.assert_array_equal(rows.ts, 100 + 3 * np.arange(5000))
    assert set(np.unique(rows.type)) == {0, 1, 2, 3}
    np.testing.assert_array_equal(np.unique(rows.weight * 64), np.arange(1, 65))


def test_an_edge_has_one_type_in_all_of_its_rows() -> None:
    rows = update_rows(
        lambda which: (which.astype(np.int64), which.astype(np.int64) + 1),
        0,
        5000,
        UpdateMix(repeats=0.5),
    )
    pairs = set(zip(rows.src, rows.type, strict=True))
    assert len(pairs) == len(set(rows.src)) < 5000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: uniform_edges(numbers(0, 1), 0), "num_vertices=0"),
        (lambda: uniform_edges(numbers(0, 1), 2**31 + 1), "num_vertices=2147483649"),
        (lambda: rmat_edges(numbers(0, 1), 0), "scale=0"),
        (lambda: rmat_edges(numbers(0, 1), 32), "scale=32"),
        (lambda: rmat_edges(numbers(0, 1), 4, a=0.9, b=0.2), "a=0.9, b=0.2"),
        (lambda: UpdateMix(repeats=0.5, deletes=0.5), "no fresh inserts"),
        (lambda: UpdateMix(deletes=-0.1), "deletes=-0.1"),
        (lambda: rows_of(2**32, 1), "outside the stream"),
        (lambda: rows_of(2**32 - 1, 2), "rows 4294967295 … 4294967296 are outside"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        call()


def test_barabasi_albert_ends_are_those_of_the_list_of_ends() -> None:
    """Built with the list that the generator does without."""
    src, dst = barabasi_albert_edges(numbers(0, 3000), 3, seed=5)
    ends: list[int] = []
    for number in range(3000):
        ends.append(number // 3)
        word = int(random_words(5, 0x62616C62, numbers(number, number + 1))[0]) >> 32
        ends.append(ends[word * (2 * number + 1) >> 32])
    assert (ends[::2], ends[1::2]) == (src.tolist(), dst.tolist())
    degree = np.bincount(np.concatenate([src, dst]))
    assert degree[:10].mean() > 10 * degree[-500:].mean(), "the first ones are hubs"


def test_watts_strogatz_goes_from_a_ring_to_anywhere() -> None:
    src, dst = watts_strogatz_edges(numbers(0, 4000), 1000, 8, 0.0)
    assert set(((dst - src) % 1000).tolist()) == {1, 2, 3, 4}
    assert len(np.unique(src * 1000 + dst)) == 4000
    for beta in (0.25, 1.0):
        src, dst = watts_strogatz_edges(numbers(0, 4000), 1000, 8, beta)
        far = (dst - src) % 1000
        assert far.min() > 0, "no self loops"
        assert np.mean(far > 4) == pytest.approx(beta * (1 - 4 / 999), abs=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: barabasi_albert_edges(numbers(0, 1), 0), "degree=0 is less than 1"),
        (lambda: barabasi_albert_edges(numbers(0, 1), 1.5), "degree=1.5 is no whole number"),
        (lambda: barabasi_albert_edges(numbers(2**31, 2**31 + 1), 1), "edge 2147483648 cannot"),
        (lambda: watts_strogatz_edges(numbers(0, 1), 2, 2, 0.1), "num_vertices=2 make no ring"),
        (lambda: watts_strogatz_edges(numbers(0, 1), 9, 3, 0.1), "degree=3 must be even"),
        (lambda: watts_strogatz_edges(numbers(0, 1), 8, 8, 0.1), "even, and from 2 to 7"),
        (lambda: watts_strogatz_edges(numbers(0, 1), 9, 4, 1.1), "beta=1.1 is not a share"),
    ],
)
def test_settings_of_small_worlds_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()


@given(limit=st.integers(1, 3000), seed=st.integers(0, 9))
def test_a_permutation_below_a_limit_is_one(limit: int, seed: int) -> None:
    places = permuted_below(numbers(0, limit), limit, seed=seed, stream=1)
    np.testing.assert_array_equal(np.sort(places), numbers(0, limit))


@pytest.mark.parametrize("limit", [3, 10])
def test_orders_of_few_numbers_are_as_likely_as_each_other(limit: int) -> None:
    drawn = [permuted_below(numbers(0, 2), limit, seed=seed, stream=1) for seed in range(5000)]
    first, second = np.array(drawn, np.int64).T
    found = np.bincount(first * limit + second, minlength=limit**2).reshape(limit, limit)
    found = found[~np.eye(limit, dtype=bool)]
    assert chance_of(found) > 1e-4


@given(num_vertices=st.integers(2, 60))
def test_erdos_renyi_has_every_pair_once(num_vertices: int) -> None:
    size = num_vertices * (num_vertices - 1) // 2
    src, dst = erdos_renyi_edges(numbers(0, size), num_vertices)
    found = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    assert found.edges() == nx.complete_graph(num_vertices).edges()
    again = erdos_renyi_edges(numbers(size, 2 * size), num_vertices)
    assert (again[0].tolist(), again[1].tolist()) == (src.tolist(), dst.tolist())


def test_erdos_renyi_degrees_are_those_of_pairs_drawn_without_repeats() -> None:
    count, edges = 4000, 32_000
    src, dst = erdos_renyi_edges(numbers(0, edges), count, seed=2)
    assert np.unique(np.minimum(src, dst) * count + np.maximum(src, dst)).size == edges
    degree = np.bincount(np.concatenate([src, dst]), minlength=count)
    # A degree is hypergeometric, which is nearly binomial: 3,999 pairs, each with p = 0.004.
    assert degree.mean() == 16
    p = edges / (count * (count - 1) / 2)
    np.testing.assert_allclose(degree.var(), (count - 1) * p * (1 - p), rtol=0.08)
    others, which = count - 1, range(9, 25)
    shares = np.array([math.comb(others, k) * p**k * (1 - p) ** (others - k) for k in which])
    cells = np.bincount(degree, minlength=25)[9:25]
    # The 99.99th percentile of chi-square with 15 degrees of freedom.
    assert ((cells - count * shares) ** 2 / (count * shares)).sum() < 44.3
    # Any set of pairs is as likely: edges of two seeds have few pairs in common.
    other = erdos_renyi_edges(numbers(0, edges), count, seed=3)
    common = np.intersect1d(
        *(np.minimum(*each) * count + np.maximum(*each) for each in ((src, dst), other))
    )
    assert abs(common.size - edges * p) < 6 * (edges * p) ** 0.5


@pytest.mark.parametrize(
    ("num_vertices", "width", "lines"), [(12, 4, 3), (35, None, 6), (64, None, 8), (5, 5, 1)]
)
def test_a_grid_is_that_of_networkx(num_vertices: int, width: int | None, lines: int) -> None:
    size = grid_size(num_vertices, width)
    src, dst = grid_edges(numbers(0, size), num_vertices, width)
    across = width or math.isqrt(num_vertices - 1) + 1
    expected = nx.grid_2d_graph(lines, across)
    # A last line that is not full lacks its last vertices.
    named = nx.relabel_nodes(expected, {(y, x): y * across + x for y, x in expected})
    named = named.subgraph(range(num_vertices))
    found = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    assert found.number_of_edges() == size == src.size
    assert nx.utils.edges_equal(found.edges(), named.edges())
    assert (np.diff(src) >= 0).all(), "edges come vertex by vertex"


@pytest.mark.parametrize(("num_vertices", "degree"), [(300, 9.0), (2, 1.0), (7, 6.0), (90, 0.4)])
def test_a_geometric_graph_joins_every_pair_within_the_radius(
    num_vertices: int, degree: float
) -> None:
    """Points are told by the definition, and all pairs are compared."""
    words = random_words(1, 0x67656F6D, numbers(0, num_vertices))
    x, y = ((part >> np.uint64(1)).tolist() for part in (words >> np.uint64(32), words % 2**32))
    near = int(degree / (math.pi * num_vertices) * 2**62)
    across = max(1, min(2**31 // (math.isqrt(near) + 1), math.isqrt(num_vertices)))

    def cell(v: int) -> int:
        return (y[v] * across >> 31) * across + (x[v] * across >> 31)

    by_cell = sorted(range(num_vertices), key=lambda v: (cell(v), v))
    expected = [
        (a, b)
        for a, one in enumerate(by_cell)
        for b, other in enumerate(by_cell)
        if a < b and (x[one] - x[other]) ** 2 + (y[one] - y[other]) ** 2 <= near
    ]
    size = geometric_size(num_vertices, degree, seed=1)
    assert size == len(expected)
    if size:
        src, dst = geometric_edges(numbers(0, size), num_vertices, degree, seed=1)
        assert list(zip(src.tolist(), dst.tolist(), strict=True)) == expected


def test_points_of_a_geometric_graph_have_the_degree_asked_for() -> None:
    count, degree = 20_000, 12.0
    # Of n d / 2 pairs those are missing whose other end were beyond a border: 4 r / (3 pi) each.
    radius = math.sqrt(degree / (math.pi * count))
    expected = count * degree / 2 * (1 - 8 * radius / (3 * math.pi))
    assert geometric_size(count, degree) == pytest.approx(expected, rel=0.015)


def test_a_sliding_window_deletes_the_oldest() -> None:
    def edges(which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return which.astype(np.int64), which.astype(np.int64) + 1

    mix = UpdateMix(window=10)
    rows = update_rows(edges, 0, 101, mix)
    there: list[int] = []
    inserted = 0
    for row, (op, src) in enumerate(zip(rows.op, rows.src, strict=True)):
        if op > 0:
            assert src == inserted
            inserted += 1
            there.append(int(src))
        else:
            assert src == there.pop(0), "an edge leaves that was not the oldest"
        assert row < 9 or len(there) in (10, 11)
    part = update_rows(edges, 37, 20, mix)
    assert part.op.tolist() == rows.op[37:57].tolist()
    assert part.src.tolist() == rows.src[37:57].tolist()


def test_a_sweep_goes_through_the_vertices() -> None:
    def edges(which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return uniform_edges(which, 1000)

    src, dst = swept(edges, 1000, 5000, numbers(0, 10_000))
    assert dst.tolist() == uniform_edges(numbers(0, 10_000), 1000)[1].tolist()
    parts = src.reshape(2, 100, 50)
    assert (parts // 10 == np.arange(100)[:, None]).all()
    assert all(np.unique(part).size > 3 for part in parts[0]), "a part has few sources"
    # Fewer vertices than parts: each has a part at least.
    few = swept(lambda which: uniform_edges(which, 7), 7, 700, numbers(0, 700))[0]
    assert np.unique(few).tolist() == [*range(7)]
    assert (np.diff(few) >= 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: erdos_renyi_edges(numbers(0, 1), 1), "num_vertices=1 make no pairs"),
        (lambda: grid_edges(numbers(0, 1), 1), "num_vertices=1 make no grid"),
        (lambda: grid_edges(numbers(0, 1), 9, 10), "width=10 .* from 1 to 9"),
        (lambda: geometric_edges(numbers(0, 1), 0), "num_vertices=0 make no pairs"),
        (lambda: geometric_edges(numbers(0, 1), 9, 0.0), "degree=0.0 is not above 0"),
        (lambda: geometric_edges(numbers(0, 1), 9, 1e-9), "no two of 9 points are that near"),
        (lambda: UpdateMix(window=0), "window=0"),
        (lambda: UpdateMix(window=3, deletes=0.1), "leave shares of repeats and deletes 0"),
        (lambda: UpdateMix(repeats=float("nan")), "repeats=nan"),
    ],
)
def test_settings_of_spaces_and_windows_are_refused(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        call()

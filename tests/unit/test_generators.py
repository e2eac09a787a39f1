"""Generators: any slice is the same as that slice of the whole, and the draws are what they say."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide import SettingsError
from graphtide.gpu_core.generators import rmat
from graphtide.gpu_core.generators.barabasi_albert import barabasi_albert_edges
from graphtide.gpu_core.generators.counter_random import below, random_words, stream_start
from graphtide.gpu_core.generators.rmat import permuted, rmat_edges
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.generators.update_streams import UpdateMix, update_rows
from graphtide.gpu_core.generators.watts_strogatz import watts_strogatz_edges

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
}


@pytest.mark.parametrize("kind", EDGES)
@given(low=st.integers(0, 3000), size=st.integers(0, 500))
def test_a_slice_is_the_same_slice_of_the_whole(kind: str, low: int, size: int) -> None:
    whole = EDGES[kind](numbers(0, 4000))
    part = EDGES[kind](numbers(low, low + size))
    for full, piece in zip(whole, part, strict=True):
        np.testing.assert_array_equal(full[low : low + size], piece)


@pytest.mark.parametrize("kind", EDGES)
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
    raw, _ = rmat_edges(numbers(0, 16 << 12), 12, permute=False)
    degrees, raw_degrees = np.bincount(src, minlength=4096), np.bincount(raw, minlength=4096)
    np.testing.assert_array_equal(np.sort(degrees), np.sort(raw_degrees))
    assert raw_degrees.argmax() == 0
    assert degrees.argmax() != 0
    # Expected degree of raw vertex 0: m * (a + b)**scale = 65,536 * 0.76**12.
    np.testing.assert_allclose(raw_degrees[0], 65_536 * 0.76**12, rtol=0.05)
    assert dst.max() < 4096


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
        (lambda: barabasi_albert_edges(numbers(2**31, 2**31 + 1), 1), "edge 2147483648 cannot"),
        (lambda: watts_strogatz_edges(numbers(0, 1), 2, 2, 0.1), "num_vertices=2 make no ring"),
        (lambda: watts_strogatz_edges(numbers(0, 1), 9, 3, 0.1), "degree=3 must be even"),
        (lambda: watts_strogatz_edges(numbers(0, 1), 9, 4, 1.1), "beta=1.1 is no share"),
    ],
)
def test_settings_of_small_worlds_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()

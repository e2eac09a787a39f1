"""Free runs against a plain model: dictionaries of sets, by the rules that the module states."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graphtide.gpu_core.image import free_runs
from graphtide.gpu_core.image.fields import CLASSES, HEADER_FIELDS, NONE, Field
from strategies import examples


def largest_aligned(start: int, end: int) -> int:
    """Class of the largest aligned run from ``start`` that ends by ``end``."""
    return max(c for c in range(CLASSES) if start % 2**c == 0 and start + 2**c <= end)


class Model:
    """Free runs by class, as sets of first pages, and the bump mark."""

    def __init__(self) -> None:
        self.free: list[set[int]] = [set() for _ in range(CLASSES)]
        self.bump = 0

    def give(self, start: int, end: int) -> None:
        while start < end:
            size_class = largest_aligned(start, end)
            self.free[size_class].add(start)
            start += 2**size_class

    def take_one(self, size_class: int) -> int:
        """Lowest of the class, else off the lowest of the smallest larger one, else the bump."""
        for larger in range(size_class, CLASSES):
            if self.free[larger]:
                first = min(self.free[larger])
                self.free[larger].remove(first)
                self.give(first + 2**size_class, first + 2**larger)
                return first
        first = -(-self.bump // 2**size_class) * 2**size_class
        self.give(self.bump, first)
        self.bump = first + 2**size_class
        return first

    def merge(self) -> None:
        for size_class in range(CLASSES - 1):
            for first in sorted(self.free[size_class]):
                pair = {first, first + 2**size_class}
                if first % 2 ** (size_class + 1) == 0 and pair <= self.free[size_class]:
                    self.free[size_class] -= pair
                    self.free[size_class + 1].add(first)

    def lower_bump(self) -> None:
        ends = {first + 2**c: (c, first) for c, firsts in enumerate(self.free) for first in firsts}
        while self.bump in ends:
            size_class, first = ends[self.bump]
            self.free[size_class].remove(first)
            self.bump = first

    def pages(self) -> set[int]:
        return {
            page
            for c, firsts in enumerate(self.free)
            for first in firsts
            for page in range(first, first + 2**c)
        }


class Real:
    """The bit trees over ``max_pages`` pages, with a header of their own."""

    def __init__(self, max_pages: int) -> None:
        self.max_pages = max_pages
        self.geometry, words = free_runs.tree_geometry(max_pages)
        self.tree = np.zeros(words, np.uint32)
        self.counts = self.tree[: free_runs.COUNT_WORDS].view(np.int64)
        self.header = np.zeros(HEADER_FIELDS, np.int64)

    @property
    def bump(self) -> int:
        return int(self.header[Field.PAGE_BUMP])

    def fits(self, demand: np.ndarray) -> bool:
        return free_runs.demand_fits(self.counts, self.bump, self.max_pages, demand)

    def take(self, size_class: int, count: int) -> list[int]:
        out = np.empty(count, np.int64)
        free_runs.take_runs(self.tree, self.counts, self.header, self.geometry, size_class, out)
        return out.tolist()

    def give_back(self, runs: list[tuple[int, int]]) -> None:
        firsts = np.array([first for first, _ in runs], np.int64)
        classes = np.array([size_class for _, size_class in runs], np.uint8)
        free_runs.give_back_runs(
            self.tree, self.counts, self.header, self.geometry, firsts, classes
        )

    def merge(self) -> None:
        free_runs.merge_buddies(self.tree, self.counts, self.geometry)

    def lower_bump(self) -> None:
        free_runs.lower_bump(self.tree, self.counts, self.header, self.geometry)

    def runs(self, size_class: int) -> set[int]:
        """First pages of the free runs of a class, found by walking its tree."""
        found, place = set(), -1
        while True:
            place = free_runs.next_run(self.tree, self.geometry, size_class, place + 1)
            if place < 0:
                return found
            found.add(int(place) << size_class)


def check_same(real: Real, model: Model) -> None:
    for size_class in range(CLASSES):
        assert real.runs(size_class) == model.free[size_class]
        assert real.counts[size_class] == len(model.free[size_class])
    assert real.bump == model.bump <= real.max_pages
    assert real.header[Field.PAGES_FREE] == len(model.pages())
    owners = np.zeros(real.bump, np.uint32)
    assert free_runs.mark_free_runs(real.tree, real.geometry, owners) == 0
    assert set(np.flatnonzero(owners == NONE).tolist()) == model.pages()


demands = st.lists(
    st.tuples(st.sampled_from((0, 0, 0, 1, 1, 2, 3, 5)), st.integers(1, 12)), min_size=1, max_size=4
)
steps = st.lists(
    st.one_of(
        demands.map(lambda demand: ("take", demand)),
        demands.map(lambda demand: ("take", demand)),
        st.tuples(st.just("give back"), st.integers(1, 2**16), st.integers(1, 4)),
        st.just(("merge",)),
        st.just(("lower bump",)),
    ),
    min_size=5,
    max_size=25,
)


@given(max_pages=st.sampled_from((1, 2, 31, 33, 64, 100, 257, 1100)), steps=steps)
@settings(
    max_examples=examples(50),
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
def test_runs_as_the_model_hands_them_out(max_pages: int, steps: list[tuple]) -> None:
    real, model = Real(max_pages), Model()
    held: dict[int, int] = {}
    for step in steps:
        if step[0] == "take":
            demand = np.zeros(CLASSES, np.int64)
            for size_class, count in step[1]:
                demand[size_class] += count
            before = real.tree.copy(), real.header.copy()
            trial = Model()
            trial.free, trial.bump = [set(firsts) for firsts in model.free], model.bump
            expected = {
                size_class: [trial.take_one(size_class) for _ in range(demand[size_class])]
                for size_class in np.flatnonzero(demand)[::-1].tolist()
            }
            assert real.fits(demand) == (trial.bump <= max(max_pages, model.bump))
            np.testing.assert_array_equal(real.tree, before[0])
            np.testing.assert_array_equal(real.header, before[1])
            if not real.fits(demand):
                continue
            for size_class, firsts in expected.items():
                assert real.take(size_class, len(firsts)) == firsts
                assert not set(firsts) & held.keys(), "a run is allocated twice"
                held |= dict.fromkeys(firsts, size_class)
            model = trial
        elif step[0] == "give back":
            runs = sorted(held.items())[step[1] % 3 :: step[2]]
            for first, size_class in runs:
                del held[first]
                model.free[size_class].add(first)
            real.give_back(runs)
        elif step[0] == "merge":
            real.merge()
            model.merge()
        else:
            real.lower_bump()
            model.lower_bump()
        check_same(real, model)
        taken = {page for first, c in held.items() for page in range(first, first + 2**c)}
        assert not taken & model.pages()
        assert taken | model.pages() == set(range(model.bump))
    real.give_back(sorted(held.items()))
    real.merge()
    real.lower_bump()
    assert real.bump == real.header[Field.PAGES_FREE] == 0
    assert not real.tree.any()


@pytest.mark.parametrize("pages", [1, 32, 33, 1024, 1025, 33_000])
def test_every_page_alone(pages: int) -> None:
    """Trees of one to four levels; holes are found wherever they are."""
    real = Real(pages)
    assert real.take(0, pages) == list(range(pages))
    assert not real.fits(np.eye(CLASSES, dtype=np.int64)[0])
    holes = sorted(set(np.random.default_rng(0).integers(0, pages, 50).tolist()) | {pages - 1})
    real.give_back([(hole, 0) for hole in reversed(holes)])
    real.give_back([(0, free_runs.NO_CLASS)])
    assert real.header[Field.PAGES_FREE] == len(holes)
    assert real.take(0, len(holes)) == holes
    real.give_back([(page, 0) for page in range(pages)])
    real.merge()
    real.lower_bump()
    assert real.bump == 0
    assert real.fits(np.eye(CLASSES, dtype=np.int64)[pages.bit_length() - 1])
    assert not real.fits(np.eye(CLASSES, dtype=np.int64)[pages.bit_length()])


def test_lowest_bit() -> None:
    assert [free_runs.lowest_bit(np.uint32(1 << bit)) for bit in range(32)] == list(range(32))
    assert free_runs.lowest_bit(np.uint32(0xFFFFFFF0)) == 4


def test_geometry_covers_every_place_and_nothing_twice() -> None:
    for max_pages in (0, 1, 31, 32, 33, 1024, 1025, 70_000):
        geometry, words = free_runs.tree_geometry(max_pages)
        owners = np.zeros(words, np.int64)
        owners[: free_runs.COUNT_WORDS] += 1
        for size_class, row in enumerate(geometry.tolist()):
            places = max_pages >> size_class
            for first, count in zip(row[: free_runs.LEVELS], row[free_runs.LEVELS :], strict=True):
                assert count == (-(-places // 32) if places else 0)
                owners[first : first + count] += 1
                places = count if count > 1 else 0
        assert (owners == 1).all()

"""Free runs on the device against the host's: the same runs, the same table, word by word."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.device.packed_arguments import address
from graphtide.gpu_core.cuda.memory import free_runs as device_runs
from graphtide.gpu_core.cuda.memory.arena import DeviceArena
from graphtide.gpu_core.cuda.memory.scratch import SLACK_BYTES, DeviceScratch
from graphtide.gpu_core.host.memory.arena import Arena
from graphtide.gpu_core.image import free_runs
from graphtide.gpu_core.image.fields import (
    CLASSES,
    HEADER_FIELDS,
    BatchField,
    BatchStatus,
    Field,
    ImageTable,
)
from graphtide.gpu_core.kind import ArenaSizes, GraphKind
from graphtide.gpu_core.records import RECORDS

KIND = GraphKind(record=RECORDS["simple"], reverse=False, ids="dense", page_bytes=16)


class Twins:
    """Two arenas of ``pages`` pages, and the runs that somebody holds."""

    def __init__(self, device: Any, pages: int) -> None:
        words = 128 + 4 * pages
        self.host = Arena(KIND, ArenaSizes(arena_bytes=words * 4 * 8 // 7 + 8))
        self.device = DeviceArena(device, KIND, ArenaSizes(arena_bytes=words * 4 * 8 // 7 + 8))
        self.held: list[tuple[int, int]] = []

    @property
    def limit(self) -> int:
        return self.host._page_limit(0)

    def fits(self, demand: np.ndarray) -> bool:
        counts, bump = self.host.free_run_counts(), self.host[Field.PAGE_BUMP]
        return bool(free_runs.demand_fits(counts, bump, self.limit, demand))

    def allocate(
        self, demand: np.ndarray, most: int | None = None, vertex_count: int = 0
    ) -> dict[int, list[int]]:
        """Runs that the device allocates, by class and in order of their ranks."""
        arena = self.device
        most = int(demand.sum()) if most is None else most
        memory = arena.device.empty(device_runs.allocate_bytes(most) + SLACK_BYTES, np.uint8)
        scratch, need = DeviceScratch(arena.xp, memory), arena.device.to_device(demand)
        allocated = device_runs.allocate_demand(arena, address(need), most, vertex_count, scratch)
        arena.pull_header()
        if arena[BatchField.STATUS] != BatchStatus.OK:
            return {}
        allocation = scratch.array_at(allocated.allocation, 4 * CLASSES, np.int64)
        lines = arena.device.to_host(allocation).reshape(CLASSES, 4)
        # Behind what is listed the words are anything.
        own, first, *_ = lines.T
        listed = scratch.array_at(allocated.taken, int((own + first).max()), np.uint32)
        taken = arena.device.to_host(listed).astype(np.int64)
        runs = {}
        for size_class, (own, first, bump, need) in enumerate(lines.tolist()):
            assert need == demand[size_class]
            fresh = bump + (np.arange(need - own) << size_class)
            if need:
                runs[size_class] = np.append(taken[first : first + own], fresh).tolist()
        return runs

    def take(self, demand: np.ndarray) -> dict[int, list[int]]:
        """Runs that the host allocates."""
        runs = {}
        for size_class in np.flatnonzero(demand)[::-1].tolist():
            out = np.empty(demand[size_class], np.int64)
            tree, counts = self.host._tree()
            free_runs.take_runs(
                tree, counts, self.host.header, self.host._geometry, size_class, out
            )
            runs[size_class] = out.tolist()
        return runs

    def give_back(self, chosen: np.ndarray) -> None:
        runs = [self.held[i] for i in chosen]
        self.held = [run for i, run in enumerate(self.held) if i not in set(chosen.tolist())]
        firsts = np.array([first for first, _ in runs], np.int64)
        classes = np.array([size_class for _, size_class in runs], np.uint8)
        self.host.give_back_runs(firsts, classes)
        self.device.give_back_runs(firsts, classes)

    def check_same(self) -> None:
        mirror = self.device.header.copy()
        self.device.pull_header()
        np.testing.assert_array_equal(mirror, self.device.header)
        np.testing.assert_array_equal(self.device.header, self.host.header)
        tree = self.device.device.to_host(self.device.tree)
        np.testing.assert_array_equal(tree, self.host.table(ImageTable.FREE_TREE))


def random_demand(rng: np.random.Generator) -> np.ndarray:
    demand = np.zeros(CLASSES, np.int64)
    for _ in range(rng.integers(1, 5)):
        demand[rng.choice([0, 0, 0, 1, 1, 2, 3, 5])] += rng.integers(1, 13)
    return demand


@pytest.mark.parametrize("few", [True, False], ids=["a block a tree", "all groups"])
@pytest.mark.parametrize("pages", [40, 64, 100, 300, 1_100, 40_000])
def test_any_sequence_takes_what_the_host_takes(
    device: Any, pages: int, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not few:
        monkeypatch.setattr(device_runs, "FEW_RUNS", -1)
    rng = np.random.default_rng(pages)
    twins = Twins(device, pages)
    refused = cut = 0
    for _ in range(60):
        action = rng.choice(["take", "take", "give back", "merge"], p=[0.3, 0.3, 0.35, 0.05])
        if action == "take":
            demand = random_demand(rng)
            allocated = twins.allocate(demand, int(demand.sum()) + int(rng.integers(0, 3)))
            if not twins.fits(demand):
                refused += 1
                assert twins.device[BatchField.STATUS] == BatchStatus.NEEDS_HOST
                twins.device.header[BatchField.STATUS] = BatchStatus.OK
                twins.device.push_header()
            else:
                before = twins.host.free_run_counts().copy()
                assert allocated == twins.take(demand)
                cut += bool((twins.host.free_run_counts() < before)[demand == 0].any())
                twins.held += [(first, c) for c, firsts in allocated.items() for first in firsts]
        elif action == "give back" and twins.held:
            count = rng.integers(1, len(twins.held) + 1)
            twins.give_back(rng.permutation(len(twins.held))[:count])
        elif action == "merge":
            twins.host._join_free_runs()
            twins.device._join_free_runs()
        twins.check_same()
    if pages >= 64:
        assert cut > 0, "no larger run was ever cut: the test tests less than it should"
    if pages <= 100:
        assert refused > 0


@pytest.mark.parametrize("few", [True, False], ids=["a block a tree", "all groups"])
@pytest.mark.parametrize(("pages", "share"), [(70_000, 0.5), (70_000, 0.02), (600_000, 0.01)])
def test_many_runs_out_of_large_trees(
    device: Any, pages: int, share: float, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees of four levels and several groups; whole words, parts of words, and none are taken."""
    if not few:
        monkeypatch.setattr(device_runs, "FEW_RUNS", -1)
    rng = np.random.default_rng(pages)
    twins = Twins(device, pages)
    page = twins.host[Field.PAGE_BUMP]
    while page < pages // 2:
        size_class = int(rng.integers(0, 7))
        while page & ((1 << size_class) - 1):
            size_class -= 1
        if rng.random() < share:
            twins.held.append((page, size_class))
        page += 1 << size_class
    for arena in (twins.host, twins.device):
        arena.header[Field.PAGE_BUMP] = page
    twins.device.push_header()
    twins.give_back(np.arange(len(twins.held)))
    twins.check_same()
    for part in (0.05, 0.5, 1.2):
        demand = np.zeros(CLASSES, np.int64)
        demand[:7] = twins.host.free_run_counts()[:7] * part * rng.random(7) * 2
        demand[8] = 2
        assert twins.fits(demand)
        assert twins.allocate(demand) == twins.take(demand)
        twins.check_same()
    assert not twins.host.free_run_counts()[:5].all(), "no tree was emptied"


@pytest.mark.parametrize("few", [True, False], ids=["a block a tree", "all groups"])
def test_more_words_and_groups_than_a_block_has_threads(
    device: Any, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten million pages with few free runs: only the table is there, the image would be large."""
    if not few:
        monkeypatch.setattr(device_runs, "FEW_RUNS", -1)
    pages = 10_000_000
    geometry, words = free_runs.tree_geometry(pages)
    tree = np.zeros(words + (words & 1), np.uint32)
    counts = tree[: free_runs.COUNT_WORDS].view(np.int64)
    header = np.zeros(HEADER_FIELDS, np.int64)
    header[Field.PAGE_WORDS] = 4
    header[Field.PAGE_END] = 4 * pages
    header[Field.PAGE_BUMP] = pages
    # In each group, some 32,768 pages, three words of level 1 with two runs each.
    rng = np.random.default_rng(1)
    thousands = np.concatenate([32 * i + rng.permutation(32)[:3] for i in range(300)])
    runs = np.add.outer(1024 * thousands, [5, 500]).ravel()
    free_runs.give_back_runs(tree, counts, header, geometry, runs, np.zeros(runs.size, np.uint8))
    image = device.to_device(header.view(np.uint32))
    arena: Any = SimpleNamespace(
        device=device,
        image=image,
        tree=device.to_device(tree),
        geometry=device.to_device(geometry.ravel()),
        tree_groups=device_runs.groups_of(geometry[:, free_runs.LEVELS :]),
        block_numbers=device_runs.empty_block_numbers(device),
        trees=24,
    )
    demand = np.zeros(CLASSES, np.int64)
    demand[0] = runs.size - 7
    most = runs.size
    memory = device.empty(device_runs.allocate_bytes(most) + SLACK_BYTES, np.uint8)
    scratch = DeviceScratch(device.xp, memory)
    need = device.to_device(demand)
    allocated = device_runs.allocate_demand(arena, address(need), most, 0, scratch)
    out = np.empty(demand[0], np.int64)
    free_runs.take_runs(tree, counts, header, geometry, 0, out)
    taken = scratch.array_at(allocated.taken, out.size, np.uint32)
    np.testing.assert_array_equal(device.to_host(taken), out)
    np.testing.assert_array_equal(device.to_host(arena.tree), tree)
    np.testing.assert_array_equal(device.to_host(image).view(np.int64), header)


@pytest.mark.parametrize("few", [True, False], ids=["a block a tree", "all groups"])
def test_the_order_of_threads_does_not_show(
    emulated_device: Any, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not few:
        monkeypatch.setattr(device_runs, "FEW_RUNS", -1)
    found = []
    for shuffle in (0, 1, 2):
        emulated_device.shuffle = shuffle
        rng = np.random.default_rng(5)
        twins = Twins(emulated_device, 2_000)
        for _ in range(6):
            allocated = twins.allocate(random_demand(rng))
            twins.held += [(first, c) for c, firsts in allocated.items() for first in firsts]
            count = len(twins.held) // 2
            runs = [twins.held.pop(int(i)) for i in rng.integers(0, len(twins.held) - count, count)]
            device_runs.give_back_runs(
                twins.device,
                np.array([first for first, _ in runs]),
                np.array([c for _, c in runs], np.uint8),
            )
        found.append((twins.held, twins.device.image.tobytes()))
    assert found[0] == found[1] == found[2]


def test_a_batch_that_is_stopped_already_takes_nothing(device: Any) -> None:
    twins = Twins(device, 100)
    twins.device.header[BatchField.STATUS] = BatchStatus.UNKNOWN_IDS
    twins.device.push_header()
    for few in (1 << 14, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device_runs, "FEW_RUNS", few)
            assert twins.allocate(np.ones(CLASSES, np.int64)) == {}
    assert twins.device[BatchField.STATUS] == BatchStatus.UNKNOWN_IDS
    twins.device.header[BatchField.STATUS] = BatchStatus.OK
    twins.device.push_header()
    twins.check_same()


def test_more_than_was_announced_is_left_to_the_host(device: Any) -> None:
    """Lists in scratch are as long as the bound: nothing may be written behind them."""
    twins = Twins(device, 100)
    demand = np.zeros(CLASSES, np.int64)
    demand[0] = 5
    assert twins.allocate(demand, most=4) == {}
    assert twins.device[BatchField.STATUS] == BatchStatus.NEEDS_HOST


def test_the_vertex_table_that_grows_leaves_fewer_pages(device: Any) -> None:
    twins = Twins(device, 100)
    demand = np.zeros(CLASSES, np.int64)
    free = twins.limit - twins.host[Field.PAGE_BUMP]
    demand[0] = free - 3
    # 4 records of 3 words take 3 pages of 4 words.
    for records, status in ((5, BatchStatus.NEEDS_HOST), (4, BatchStatus.OK)):
        twins.device.header[BatchField.STATUS] = BatchStatus.OK
        twins.device.push_header()
        twins.allocate(demand, vertex_count=records)
        assert twins.device[BatchField.STATUS] == status


def test_the_common_batch_is_one_launch(emulated_device: Any) -> None:
    twins = Twins(emulated_device, 1_000)
    emulated_device.launches.clear()
    demand = np.zeros(CLASSES, np.int64)
    demand[:3] = 7
    twins.allocate(demand, device_runs.FEW_RUNS)
    assert emulated_device.launches == [("free_runs.cu", "allocate_demand")]

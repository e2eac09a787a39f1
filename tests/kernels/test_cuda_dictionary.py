"""The vertex dictionary and the vertex table on the device: word for word those of the host."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine_views import EngineView, host_engine
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.device.compile import shape_argument
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.cuda.memory import dictionary
from graphtide.gpu_core.cuda.update.assisted import vertices
from graphtide.gpu_core.cuda.update.assisted.map_ids import map_with_host
from graphtide.gpu_core.cuda.update.batch import upload
from graphtide.gpu_core.host.engine import HostEngine
from graphtide.gpu_core.host.memory import dictionary as host_dictionary
from graphtide.gpu_core.host.update import vertices as host_vertices
from graphtide.gpu_core.host.update.map_ids import map_ids as host_map_ids
from graphtide.gpu_core.image.demand import Demand
from graphtide.gpu_core.image.fields import (
    HEADER_WORDS,
    NONE,
    BatchField,
    BatchStatus,
    Field,
    ImageTable,
)
from strategies import ANY_IDS, LIMITS

SLOTS = 32


def crowd(wanted: tuple[int, ...], count: int) -> list[int]:
    """Ids whose probing begins in the slots ``wanted`` of a table of `SLOTS`."""
    shift = host_dictionary.slot_shift(SLOTS)
    ids = range(-2_000, 2_000)
    return [id_ for id_ in ids if host_dictionary.home_slot(np.int64(id_), shift) in wanted][:count]


#: Many in few slots, the last ones among them, so that clusters run over the end of the table.
CROWD = crowd((0, 1, SLOTS - 2, SLOTS - 1), 30)


class Tables:
    """As much of an engine as the dictionary asks for: an image of records, slots and ids."""

    def __init__(self, device: Any, slots: int, ids: np.ndarray, present: np.ndarray) -> None:
        self.device = device
        #: Header, then records of one word each.
        image = np.zeros(HEADER_WORDS + ids.size, np.uint32)
        image[HEADER_WORDS:] = present
        self.image = device.to_device(image)
        self.slots = device.to_device(np.full(slots, NONE, np.uint32))
        self.ids = device.to_device(ids.view(np.uint32))
        engine = host_engine()
        self._shape = engine.shape("out")._replace(
            vertex_base=HEADER_WORDS, vertex_words=1, vertex_count=ids.size
        )
        self.arena = self

    def __getitem__(self, field: Field) -> int:
        assert field == Field.DENSE_IDS
        return 0

    def shape(self, direction: str) -> Any:
        return self._shape

    def table(self, table: ImageTable) -> Any:
        return self.slots if table == ImageTable.DICTIONARY else self.ids

    def set_present(self, vertices_: list[int], word: int) -> None:
        for vertex in vertices_:
            self.image[HEADER_WORDS + vertex] = word


def inserted(slots: int, ids: np.ndarray, indices: np.ndarray) -> np.ndarray:
    table = np.full(slots, NONE, np.uint32)
    host_dictionary.insert(table, ids, indices)
    return table


def assert_slots(tables: Tables, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(tables.device.to_host(tables.slots), expected)


@given(data=st.data(), source=st.sampled_from((CROWD, CROWD, list(ANY_IDS))))
@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_the_table_is_the_hosts_whatever_came_and_went(
    device: Any, data: st.DataObject, source: list[int]
) -> None:
    """Clusters that run over the end of the table; insertions and deletions in any order."""
    ids = np.array(data.draw(st.permutations(source)), np.int64)
    if hasattr(device, "shuffle"):
        device.shuffle = data.draw(st.integers(0, 3))
    everyone = np.array(data.draw(st.permutations(range(ids.size)))[: SLOTS // 2], np.uint32)
    cut = data.draw(st.integers(0, everyone.size))
    tables = Tables(device, SLOTS, ids, np.isin(np.arange(ids.size), everyone))
    for part in (everyone[:cut], everyone[cut:]):
        dictionary.insert(tables, device.to_device(part))
    assert_slots(tables, inserted(SLOTS, ids, everyone))

    gone = data.draw(st.lists(st.sampled_from(everyone.tolist()), unique=True))
    expected = inserted(SLOTS, ids, everyone)
    host_dictionary.remove(expected, ids, np.array(gone, np.uint32))
    tables.set_present(gone, 0)
    dictionary.remove(tables, device.to_device(np.array(gone, np.uint32)))
    assert_slots(tables, expected)

    out = device.empty(ids.size, np.uint32)
    found = device.to_host(dictionary.look_up(tables, device.to_device(ids), out))
    stays = [index for index in everyone.tolist() if index not in gone]
    assert found.tolist() == [index if index in stays else NONE for index in range(ids.size)]

    dictionary.fill(tables, ids.size)
    assert_slots(tables, expected)


def test_a_large_table_in_several_blocks(device: Any) -> None:
    """More keys than a block takes; from the middle, so that a rest is left over."""
    ids = np.random.default_rng(0).permutation(np.arange(-1500, 1500) * 10**15)
    everyone = np.arange(ids.size, dtype=np.uint32)
    tables = Tables(device, 8192, ids, np.ones(ids.size, np.uint32))
    dictionary.insert(tables, device.to_device(everyone))
    assert_slots(tables, inserted(8192, ids, everyone))
    keys = np.concatenate([ids, ids + 1])
    out = device.empty(keys.size, np.uint32)
    found = device.to_host(dictionary.look_up(tables, device.to_device(keys), out))
    np.testing.assert_array_equal(found[: ids.size], everyone)
    assert (found[ids.size :] == NONE).all()

    gone = everyone[::3]
    tables.set_present(gone.tolist(), 0)
    dictionary.remove(tables, device.to_device(gone))
    assert_slots(tables, inserted(8192, ids, np.setdiff1d(everyone, gone)))


def test_one_thread_closes_all_gaps_of_a_run(device: Any) -> None:
    """Two would move the same entries at the same time."""
    ids = np.array(crowd((4, 5, 20), 14), np.int64)
    everyone = np.arange(ids.size, dtype=np.uint32)
    tables = Tables(device, SLOTS, ids, np.ones(ids.size, np.uint32))
    dictionary.insert(tables, device.to_device(everyone))
    slots = device.to_host(tables.slots)
    gone = everyone[1::2]
    tables.set_present(gone.tolist(), 0)
    leaders = device.empty(gone.size, np.uint32)
    device.launch(
        "dictionary.cu", "find_gaps", 1, 256, tables.image, shape_argument(tables.shape("out")),
        tables.slots, np.int64(SLOTS), tables.ids.view(np.int64), device.to_device(gone),
        np.int64(gone.size), leaders,
    )  # fmt: skip
    first = [slot for slot in range(SLOTS) if slots[slot] in gone]
    runs = np.cumsum(slots == NONE)
    expected = [first[0], *(b for a, b in pairwise(first) if runs[a] != runs[b])]
    assert len(expected) == 2
    found = device.to_host(leaders)
    assert sorted(found[found != NONE].tolist()) == expected


def test_no_id_is_special(device: Any) -> None:
    ids = np.array([LIMITS.min, -1, 0, NONE, LIMITS.max, 2**32, -(2**32)], np.int64)
    tables = Tables(device, 16, ids, np.ones(ids.size, np.uint32))
    dictionary.fill(tables, ids.size)
    keys = np.concatenate([ids, [1, LIMITS.min + 1, LIMITS.max - 1]])
    out = device.empty(keys.size, np.uint32)
    found = device.to_host(dictionary.look_up(tables, device.to_device(keys), out))
    assert found.tolist() == [*range(ids.size), NONE, NONE, NONE]


@pytest.mark.parametrize("slots", [0, 1])
def test_a_table_without_slots_knows_nobody(device: Any, slots: int) -> None:
    tables = Tables(device, slots, np.empty(0, np.int64), np.empty(0, np.uint32))
    keys = device.to_device(np.array([0, 5], np.int64))
    out = device.empty(2, np.uint32)
    assert device.to_host(dictionary.look_up(tables, keys, out)).tolist() == [NONE, NONE]


def engine_with(ids: list[int], *, dense: bool) -> HostEngine:
    engine = host_engine(dense=dense)
    change(engine, put=ids)
    return engine


def vertex_batch(put: list[int], delete: list[int]) -> UpdateBatch:
    rows = [*delete, *put]
    return UpdateBatch.from_rows(
        [-1] * len(delete) + [1] * len(put), rows, rows, dst_valid=[False] * len(rows)
    )


def change(engine: HostEngine, put: list[int] = (), delete: list[int] = ()) -> None:
    engine.apply(vertex_batch(list(put), list(delete)))


#: Users' ids that come, and those that go again before: freed indices wait in the queue.
STEPS = {
    "into freed places": ([5, -9, 2**40, 7, 11], [7, -9], [100, 50, 75, 1]),
    "into a table that gets larger": (list(range(10, 40)), [], list(range(100, 160))),
    "back again": ([5, 6, 7], [6], [6]),
    "nobody": ([5, 6], [], []),
}


@pytest.mark.parametrize("dense", [True, False], ids=("dense", "any"))
@pytest.mark.parametrize("name", STEPS)
def test_vertices_are_created_and_removed_as_on_the_host(
    device: Any, dense: bool, name: str
) -> None:
    """All tables have their room already: the words of the image are the host's."""
    first, gone, then = ([abs(id_) % 200 for id_ in ids] if dense else ids for ids in STEPS[name])
    twin = engine_with(first, dense=dense)
    change(twin, delete=gone)
    batch = vertex_batch(then, [])
    grown = host_map_ids(twin.arena, batch, create_vertices=True)
    if not dense:
        # Tables grow before vertices are created; let the host do it for both.
        used = twin.arena[Field.DICTIONARY_USED] + grown.created.size
        tables = {
            ImageTable.VERTEX_IDS: 2 * grown.vertex_count,
            ImageTable.DICTIONARY: 2 * used,
            ImageTable.VERTEX_QUEUE: 64,
        }
        for table, words in tables.items():
            move_table(twin, table, words)
    soil_records(twin)
    view = EngineView(device, twin)
    ours = map_with_host(view.creating(True), upload(Staging(device), batch, dense=dense))
    host_vertices.create_vertices(twin, grown)
    vertices.create_vertices(view, ours)
    np.testing.assert_array_equal(view.host_image(), twin.image)
    assert view.dictionary_slots == twin.dictionary_slots

    view = EngineView(device, twin)
    leaving = grown.created[::2]
    host_vertices.remove_vertices(twin, leaving)
    vertices.remove_vertices(view, device.to_device(leaving))
    np.testing.assert_array_equal(view.host_image(), twin.image)


def move_table(engine: HostEngine, table: ImageTable, words: int) -> None:
    size_class = engine.arena.table_growth(table, words)
    if size_class is None:
        return
    runs = np.zeros(32, np.int64)
    runs[size_class] = 1
    demand = Demand(engine.vertex_count, runs)
    engine.arena.prepare(demand)
    first = int(engine.arena.take(demand).runs(size_class, 1)[0])
    engine.arena.move_table(table, first, size_class)


def soil_records(engine: HostEngine) -> None:
    """Leave garbage behind the table of vertices, as pages do that were there once."""
    end = engine.arena[Field.VERTEX_BASE] + engine.arena.vertex_table().size
    engine.image[end : end + 1_000] = 0xDEADBEEF


def test_nothing_is_changed_unless_the_status_is_ok(device: Any) -> None:
    """Create, fill, remove: a batch that the host must look at first leaves the image alone."""
    twin = engine_with(list(range(50, 60)), dense=False)
    move_table(twin, ImageTable.VERTEX_QUEUE, 64)
    soil_records(twin)
    batch = vertex_batch([1, 2, 3], [])
    for slots in (twin.dictionary_slots, 0):
        view = EngineView(device, twin)
        view.dictionary_slots = slots
        mapped = map_with_host(view, upload(Staging(device), batch, dense=False))
        view.image[2 * BatchField.STATUS] = int(BatchStatus.NEEDS_HOST)
        before = view.host_image()
        vertices.create_vertices(view, mapped)
        vertices.remove_vertices(view, device.to_device(np.array([1, 4], np.uint32)))
        np.testing.assert_array_equal(view.host_image(), before)

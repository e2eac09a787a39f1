"""The vertex dictionary: one table for one set of ids, whatever came and went before."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graphtide.gpu_core.host.memory import dictionary
from graphtide.gpu_core.image.fields import NONE
from strategies import ANY_IDS, LIMITS

SLOTS = 32


def homes_of(keys: np.ndarray, slots: int = SLOTS) -> list[int]:
    shift = dictionary.slot_shift(slots)
    return [int(dictionary.home_slot(key, shift)) for key in keys]


def ids_at_homes(wanted: tuple[int, ...], count: int) -> list[int]:
    """Ids whose probing begins in the slots ``wanted`` of a table of `SLOTS`."""
    keys = np.arange(-2_000, 2_000)
    return [int(key) for key, home in zip(keys, homes_of(keys), strict=True) if home in wanted][
        :count
    ]


@cache  # not a constant: every process that collects this file would load the kernel
def crowd() -> list[int]:
    """Many in few slots, the last ones among them, so that clusters run over the table's end."""
    return ids_at_homes((0, 1, SLOTS - 2, SLOTS - 1), 30)


def canonical(slots: int, ids: np.ndarray, indices: list[int]) -> list[int]:
    """Slots by the rule: clusters in the order of (home, id), each as near to home as it can."""
    homes = dict(zip(indices, homes_of(ids[indices], slots), strict=True))
    # Begin behind a slot that no probing ever crosses: there, order is plain.
    for start in range(slots):
        table: list[int] = [NONE] * slots
        at = start
        order = sorted(indices, key=lambda i: ((homes[i] - start) % slots, ids[i]))
        for index in order:
            at = max(at, start + (homes[index] - start) % slots)
            if at >= start + slots:
                break
            table[at % slots] = index
            at += 1
        else:
            return table
    raise AssertionError


def look_up(slots: np.ndarray, ids: np.ndarray, keys: list[int]) -> tuple[list[int], int]:
    out = np.empty(len(keys), np.uint32)
    unknown = dictionary.look_up(0, len(keys), slots, ids, np.array(keys, np.int64), out)
    return out.tolist(), unknown


def empty(slots: int = SLOTS) -> np.ndarray:
    return np.full(slots, NONE, np.uint32)


@given(data=st.data(), is_crowd=st.sampled_from((True, True, False)))
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
def test_the_table_depends_on_the_ids_alone(data: st.DataObject, is_crowd: bool) -> None:
    source = crowd() if is_crowd else list(ANY_IDS)
    ids = np.array(data.draw(st.permutations(source)), np.int64)
    everyone = data.draw(st.permutations(range(ids.size)))[: SLOTS // 2]
    slots = empty()
    dictionary.insert(slots, ids, np.array(everyone, np.uint32))
    assert slots.tolist() == canonical(SLOTS, ids, everyone)
    gone = data.draw(st.lists(st.sampled_from(everyone), unique=True))
    stays = [index for index in everyone if index not in gone]
    dictionary.remove(slots, ids, np.array(gone, np.uint32))
    assert slots.tolist() == canonical(SLOTS, ids, stays)
    found, unknown = look_up(slots, ids, ids.tolist())
    assert found == [index if index in stays else NONE for index in range(ids.size)]
    assert unknown == ids.size - len(stays)
    dictionary.insert(slots, ids, np.array(gone, np.uint32))
    assert slots.tolist() == canonical(SLOTS, ids, everyone)


def test_no_id_is_special() -> None:
    ids = np.array([LIMITS.min, -1, 0, NONE, LIMITS.max, 2**32, -(2**32)], np.int64)
    slots = empty(16)
    dictionary.insert(slots, ids, np.arange(ids.size, dtype=np.uint32))
    assert look_up(slots, ids, ids.tolist()) == (list(range(ids.size)), 0)
    assert look_up(slots, ids, [1, LIMITS.min + 1, LIMITS.max - 1]) == ([NONE] * 3, 3)


@pytest.mark.parametrize("slots", [0, 1])
def test_a_table_without_slots_knows_nobody(slots: int) -> None:
    assert look_up(empty(slots), np.empty(0, np.int64), [0, 5]) == ([NONE, NONE], 2)


def test_look_ups_in_ranges_and_blocks() -> None:
    """More keys than one block, asked for from the middle; the rest is left alone."""
    ids = np.random.default_rng(0).permutation(np.arange(-500, 500) * 10**15)
    slots = empty(2048)
    dictionary.insert(slots, ids, np.arange(ids.size, dtype=np.uint32))
    keys = np.concatenate([ids, ids + 1])
    out = np.full(keys.size, 7, np.uint32)
    assert dictionary.look_up(100, 1_900, slots, ids, keys, out) == 900
    assert (out[:100] == 7).all()
    assert (out[1_900:] == 7).all()
    np.testing.assert_array_equal(out[100:1_000], np.arange(100, 1_000))
    assert (out[1_000:1_900] == NONE).all()

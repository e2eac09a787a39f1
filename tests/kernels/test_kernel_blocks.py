"""What every kernel is built from, against NumPy and the host's layout: sums, searches, arguments.

Each test runs on the emulated device, and on a real one where there is one. The tests of the
emulator itself are in ``test_emulator.py``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core import layouts, records
from graphtide.gpu_core.cuda.device.compile import shape_argument
from graphtide.gpu_core.cuda.device.packed_arguments import address, packer
from graphtide.gpu_core.image import fields as image

KERNELS = str(Path(__file__).parents[1] / "helpers" / "kernel_blocks.cu")
ORDERS = (0, 1, 2)


@pytest.fixture(params=ORDERS, ids=lambda order: f"order{order}")
def any_order(request: pytest.FixtureRequest, device: Any) -> Any:
    """A device whose blocks and threads run in some order; a real one has but its own."""
    if hasattr(device, "shuffle"):
        device.shuffle = request.param
    elif request.param:
        pytest.skip("a real device has its own order")
    return device


def drawn(count: int, dtype: Any = np.uint32, below: int = 1 << 20) -> np.ndarray:
    return np.random.default_rng(count).integers(0, below, count).astype(dtype)


@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
@pytest.mark.parametrize("wide", [0, 1])
def test_exclusive_sums_of_a_block(any_order: Any, threads: int, wide: int) -> None:
    device, blocks, dtype = any_order, 3, np.uint64 if wide else np.uint32
    values = drawn(blocks * threads, dtype, 1 << (40 if wide else 20))
    below, totals, twice = (device.empty(values.size, dtype) for _ in range(3))
    defines = {"BLOCK_SIZE": threads, **({"WIDE": 1} if wide else {})}
    arrays = (device.to_device(values), below, totals, twice)
    device.launch(KERNELS, "scan", blocks, threads, *arrays, defines=defines)

    rows = values.reshape(blocks, threads)
    expected = np.cumsum(rows, axis=1, dtype=dtype) - rows
    assert np.array_equal(device.to_host(below).reshape(rows.shape), expected)
    assert np.array_equal(device.to_host(twice).reshape(rows.shape), 2 * expected)
    assert (device.to_host(totals).reshape(rows.shape) == rows.sum(axis=1, keepdims=True)).all()


@pytest.mark.parametrize("count", [0, 1, 64, 1000])
@pytest.mark.parametrize("wide", [0, 1])
def test_sums_of_numbers_before(any_order: Any, count: int, wide: int) -> None:
    device, dtype, stride = any_order, np.uint64 if wide else np.uint32, 3
    numbers = drawn(1000 * stride, dtype, 1 << (40 if wide else 20))
    by_one, by_four = device.to_device(numbers), device.to_device(numbers)
    totals = device.empty(2, dtype)
    arguments = (by_one, by_four, np.int64(count), np.int32(stride), totals)
    device.launch(KERNELS, "before", 1, 64, *arguments, defines={"WIDE": 1} if wide else {})

    summed = numbers[: count * stride : stride]
    expected = numbers.copy()
    expected[: count * stride : stride] = np.cumsum(summed, dtype=dtype) - summed
    assert np.array_equal(device.to_host(by_one), expected)
    assert np.array_equal(device.to_host(by_four), expected)
    assert (device.to_host(totals) == summed.sum(dtype=dtype)).all()


@pytest.mark.parametrize("threads", [32, 96, 512])
@pytest.mark.parametrize("wide", [0, 1])
def test_sums_and_extremes_of_blocks_and_warps(any_order: Any, threads: int, wide: int) -> None:
    device, blocks, dtype = any_order, 2, np.uint64 if wide else np.uint32
    values = drawn(blocks * threads, dtype, 1 << (40 if wide else 20))
    sums, largest = device.empty(values.size, dtype), device.empty(values.size, dtype)
    of_warps = device.empty(4 * values.size, dtype)
    defines = {"BLOCK_SIZE": threads, **({"WIDE": 1} if wide else {})}
    arrays = (device.to_device(values), sums, largest, of_warps)
    device.launch(KERNELS, "reduce", blocks, threads, *arrays, defines=defines)

    rows = values.reshape(blocks, threads)
    assert (device.to_host(sums).reshape(rows.shape) == rows.sum(1, keepdims=True)).all()
    assert (device.to_host(largest).reshape(rows.shape) == rows.max(1, keepdims=True)).all()
    warps = values.reshape(-1, 32)
    answers = device.to_host(of_warps).reshape(-1, 32, 4)
    assert (answers[..., 0] == warps.sum(1, keepdims=True)).all()
    assert (answers[..., 1] == warps.max(1, keepdims=True)).all()
    inclusive = np.cumsum(warps, axis=1, dtype=dtype)
    assert np.array_equal(answers[..., 2], inclusive)
    assert np.array_equal(answers[..., 3], inclusive - warps + warps.sum(1, keepdims=True))


def test_sorted_values_of_warps(any_order: Any) -> None:
    values = np.concatenate([drawn(320), drawn(320, below=4), np.full(32, 2**32 - 1, np.uint32)])
    found = any_order.empty(values.size, np.uint32)
    arrays = (any_order.to_device(values), found)
    any_order.launch(KERNELS, "sort_warps", values.size // 96, 96, *arrays)
    expected = np.sort(values.reshape(-1, 32), axis=1)
    assert np.array_equal(any_order.to_host(found).reshape(-1, 32), expected)


@pytest.mark.parametrize("blocks", [1, 2, 700])
def test_the_last_block_sees_what_all_have_written(any_order: Any, blocks: int) -> None:
    device = any_order
    ticket = device.to_device(np.zeros(1, np.uint32))
    for _ in range(3):
        written, total = device.empty(blocks, np.uint32), device.empty(1, np.uint32)
        answers = device.to_device(np.zeros(1, np.uint32))
        arrays = (ticket, written, total, answers)
        device.launch(KERNELS, "last_block", blocks, 64, *arrays, defines={"BLOCK_SIZE": 64})
        assert int(device.to_host(total)[0]) == blocks * (blocks + 1) // 2
        assert int(device.to_host(answers)[0]) == 64, "one block, all of its threads"
        assert int(device.to_host(ticket)[0]) == 0, "ready for the next launch"


@pytest.mark.parametrize("soa", [0, 1])
@pytest.mark.parametrize("known_words", [True, False], ids=["known", "read"])
@pytest.mark.parametrize("entry_words", [1, 2, 7])
@pytest.mark.parametrize("direction", ["out", "in"])
def test_the_layout_answers_as_on_the_host(
    device: Any, soa: int, known_words: bool, entry_words: int, direction: str
) -> None:
    out = direction == "out"
    shape = image.Shape(
        layout=layouts.runs.LAYOUT.code,
        vertex_base=128,
        vertex_words=5,
        vertex_count=40,
        first_word=image.OUT_FIRST_WORD if out else image.IN_FIRST_WORD,
        degree_word=image.OUT_DEGREE_WORD if out else image.IN_DEGREE_WORD,
        class_shift=image.OUT_CLASS_SHIFT if out else image.IN_CLASS_SHIFT,
        page_end=1 << 40,
        page_words=8,
        entry_words=entry_words,
        soa=soa,
    )
    random = np.random.default_rng(7)
    words = random.integers(0, 1 << 32, 128 + 40 * 5, dtype=np.uint64).astype(np.uint32)
    records_of = words[128:].reshape(40, 5)
    records_of[:, 0] = random.integers(0, 1 << 24, 40)
    for shift in (image.OUT_CLASS_SHIFT, image.IN_CLASS_SHIFT):
        rooms = random.integers(0, 25, 40).astype(np.uint32)
        records_of[:, 0] &= ~np.uint32(image.CLASS_MASK << shift)
        records_of[:, 0] |= rooms << np.uint32(shift)

    # Degrees at the edges of every rule: full, one more, a quarter, one less, none, far beyond.
    questions = [
        (room, max(degree + change, 0))
        for room in range(12)
        for degree in {layouts.segment_entries(shape, other) for other in range(room + 3)}
        for full in (degree, degree // 4, degree // 2)
        for change in (-1, 0, 1)
        for degree in [full]
    ]
    rooms, degrees = (np.array(column, dtype=np.int64) for column in zip(*questions, strict=True))
    vertices = np.arange(rooms.size) % 45
    answers = device.empty(10 * rooms.size, np.int64)
    device.launch(
        KERNELS, "layout", 2, 64, shape_argument(shape),
        *(device.to_device(each) for each in (words, vertices, rooms, degrees)),
        answers, np.int64(rooms.size),
        defines={"ENTRY_WORDS": entry_words} if known_words else {},
    )  # fmt: skip

    for answer, vertex, room, degree in zip(
        device.to_host(answers).reshape(-1, 10), vertices, rooms, degrees, strict=True
    ):
        segment, held, entries, pages = layouts.open_adjacency(words, shape, vertex)
        assert (answer[0], answer[1], answer[2]) == (segment, held, entries)
        if entries:
            assert answer[4] == layouts.segment_base(shape, segment, pages)
            assert tuple(answer[5:7]) == layouts.strides(shape, entries)
        if vertex < 40:
            assert answer[3] == layouts.room_of(shape, words[128 + 5 * vertex], held)
        else:
            assert answer[3] == 0
        assert answer[7] == layouts.room_after(shape, room, degree)
        assert answer[8] == layouts.segment_entries(shape, room)
        assert answer[9] == layouts.segment_pages(shape, room)


@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 64, 1000])
def test_lower_bound_is_searchsorted(device: Any, step: int, degree: int) -> None:
    entries = np.sort(drawn(degree, below=3000))
    words = np.full(5 + degree * step, 0xFFFFFFFF, np.uint32)
    words[5 : 5 + degree * step : step] = entries
    columns = np.concatenate([np.arange(0, 3100, 13), entries, [0xFFFFFFFF]]).astype(np.uint32)
    positions = device.empty(columns.size, np.int64)
    device.launch(
        KERNELS, "search", 1, 96, device.to_device(words), np.int64(5), np.int64(step),
        np.int64(degree), device.to_device(columns), positions, np.int64(columns.size),
    )  # fmt: skip
    assert np.array_equal(device.to_host(positions), np.searchsorted(entries, columns))


def test_arguments_of_every_kind_arrive(device: Any) -> None:
    shape = image.Shape(*range(100, 111))
    for number in (5, -5):
        seen = device.empty(10, np.int64)
        device.launch(
            KERNELS, "arguments", 1, 1, seen, np.uint8(200), None, shape_argument(shape),
            np.int32(number), device.empty(0, np.uint64), np.float64(2.25), np.uint32(0xFFFFFFFF),
            np.float32(1.5), np.bool_(True),
        )  # fmt: skip
        expected = [200, 1, 100, 110, number, 1, 9, 0xFFFFFFFF, 6, 1]
        assert device.to_host(seen).tolist() == expected


def test_packed_arguments_arrive(device: Any) -> None:
    """Words one behind the other: addresses, integers and structs of them."""
    shape = image.Shape(*range(100, 111))
    seen = device.empty(6, np.int64)
    pack = packer("seen", *image.Shape._fields, "number", "none")
    device.launch_packed(
        KERNELS, "packed", 1, 1, pack(address(seen), *shape, -5, address(seen[:0]))
    )
    assert device.to_host(seen).tolist() == [100, 110, -5, 1, 0, 0]


def test_kernels_write_to_page_locked_memory_of_the_host(device: Any) -> None:
    pack = packer("seen", *image.Shape._fields, "number", "none")
    seen = device.page_locked(6, np.int64)
    assert isinstance(seen, np.ndarray)
    assert seen.tolist() == [0] * 6
    for number in (7, -8):
        shape = image.Shape(*range(number, number + 11))
        device.launch_packed(KERNELS, "packed", 1, 1, pack(address(seen), *shape, number, 0))
        device.synchronize()
        assert seen.tolist() == [number, number + 10, number, 1, 0, 0]


def test_packed_arguments_must_be_all_that_a_kernel_takes(emulated_device: Any) -> None:
    pack = packer("one", "two")
    for kernel, words in (("numbers", "takes 8"), ("packed", "too few"), ("arguments", "8 bytes")):
        with pytest.raises(AssertionError, match=words):
            emulated_device.launch_packed(KERNELS, kernel, 1, 1, pack(0, 0))


def test_numbers_in_kernels_are_those_of_the_image(device: Any) -> None:
    seen = device.empty(8, np.int64)
    device.launch(KERNELS, "numbers", 1, 1, seen)
    assert device.to_host(seen).tolist() == [
        image.Field.PAGE_BUMP, image.ImageTable.PAGE_QUEUE, image.NONE, image.MAGIC, image.KIND_PUT,
        records.LAST_WORD, layouts.chain.LAYOUT.code, 8 * len(image.Shape._fields),
    ]  # fmt: skip


def test_no_blocks_are_no_launch(device: Any) -> None:
    seen = device.to_device(np.full(8, 3))
    device.launch(KERNELS, "numbers", 0, 1, seen)
    assert device.to_host(seen).tolist() == [3] * 8


def test_arrays_go_to_the_device_and_back(device: Any) -> None:
    words = drawn(5000)
    copy = device.to_device(words)
    words_before = words.copy()
    words[:] = 0
    assert np.array_equal(device.to_host(copy), words_before)
    for count in (1, 7, 1000, 5000, 3):
        read = device.read_words(copy[:count])
        assert isinstance(read, np.ndarray)
        assert np.array_equal(read, words_before[:count])
    again = device.read_words(copy[10:12])
    assert np.array_equal(read, words_before[:3]), "a later read does not change an earlier one"
    assert again.dtype == np.uint32
    device.synchronize()


@pytest.mark.parametrize("blocks_each", [1, 3, 1000])
def test_all_blocks_of_a_grid_wait_for_one_another(device: Any, blocks_each: int) -> None:
    # Of 1000 as many as find room.
    room, rounds = 2048 // 64 * device.multiprocessors, 101
    most = min(blocks_each * device.multiprocessors, room)
    numbers = device.to_device(np.full(2 * most, 1000, np.uint32))
    met = device.to_device(np.zeros(1, np.uint64))
    argument = packer("numbers", "met", "rounds")(address(numbers), address(met), rounds)
    device.launch_together(KERNELS, "pass_round", blocks_each, 64, argument)
    blocks, late = divmod(int(device.to_host(met)[0]), rounds)
    assert late == 0
    assert blocks == most or device.meeting_blocks == 1 or blocks_each == 1000
    assert np.array_equal(device.to_host(numbers)[blocks : 2 * blocks], [1000 + rounds] * blocks)

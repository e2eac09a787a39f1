"""The emulated device finds what CUDA would do silently, or not at all."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.cuda.device.device import Device

KERNELS = str(Path(__file__).parents[1] / "helpers" / "kernel_blocks.cu")


def test_it_has_the_face_of_the_real_device() -> None:
    def face(owner: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for base in owner.__mro__[:-1]
            for name, member in vars(base).items()
            if not name.startswith("_") and callable(member)
        }

    assert face(Device) == face(EmulatedDevice)


def refused(
    device: EmulatedDevice, kernel: str, *arguments: object, words: str, threads: int = 64
) -> None:
    with pytest.raises(AssertionError, match=words):
        device.launch(KERNELS, kernel, 1, threads, *arguments)


def test_barriers_that_differ_are_an_error(emulated_device: EmulatedDevice) -> None:
    refused(emulated_device, "two_barriers", np.zeros(1, np.uint32), words="different barriers")


def test_a_wait_without_end_is_an_error(emulated_device: EmulatedDevice) -> None:
    refused(emulated_device, "lanes_missing", np.zeros(1, np.uint32), words="deadlock, 64 threads")
    # The device works on afterwards.
    out = np.zeros(32, np.uint32)
    emulated_device.launch(KERNELS, "ended_lanes", 1, 32, out)


def test_another_order_of_threads_shows_who_depends_on_it(emulated_device: EmulatedDevice) -> None:
    seen = set()
    for order in range(5):
        emulated_device.shuffle = order
        out = np.zeros(1, np.uint32)
        emulated_device.launch(KERNELS, "order_shows", 4, 64, out)
        seen.add(int(out[0]))
    assert len(seen) > 2


def test_a_barrier_that_is_missing_shows(emulated_device: EmulatedDevice) -> None:
    wrong = []
    for order in range(8):
        emulated_device.shuffle = order
        out = np.zeros(2 * 64, np.uint32)
        emulated_device.launch(KERNELS, "barrier_missing", 1, 64, out)
        wrong.append(out.tolist() != [0] * 64 + [1] * 64)
    assert wrong[0]
    assert sum(wrong) > 3


def test_kernels_share_the_stacks_of_their_threads(
    emulated_device: EmulatedDevice, tmp_path: Path
) -> None:
    """A process may have 65,530 mappings; it launches hundreds of kernels of 1024 threads."""

    def guards() -> int:
        return Path("/proc/self/maps").read_text().count(" ---p ")

    for number in range(3):
        source = tmp_path / f"kernel_{number}.cu"
        source.write_text(f"""
            extern "C" __global__ void waits(unsigned* out) {{
                __syncthreads();
                out[threadIdx.x] = {number};
            }}""")
        emulated_device.launch(str(source), "waits", 1, 1024, np.zeros(1024, np.uint32))
        if number == 0:
            before = guards()
    assert guards() < before + 1024


def test_ended_lanes_are_not_waited_for(emulated_device: EmulatedDevice) -> None:
    out = np.zeros(32, np.uint32)
    emulated_device.launch(KERNELS, "ended_lanes", 1, 32, out)
    even = sum(1 << lane for lane in range(0, 20, 2))
    assert out.tolist() == [even, sum(range(20)), *[even] * 18, *[0] * 12]


def test_arguments_are_checked_against_the_kernel(emulated_device: EmulatedDevice) -> None:
    words = np.zeros(8, np.int64)
    refused(emulated_device, "numbers", words="takes 1 arguments .*, got 0")
    refused(emulated_device, "numbers", words.astype(np.float64), words="float64")
    refused(emulated_device, "numbers", words.astype(np.int32), words="int32")
    refused(emulated_device, "numbers", words[::2], words="not contiguous")
    refused(emulated_device, "numbers", np.int64(3), words="wants an array")
    image, columns = np.zeros(1, np.uint32), np.zeros(0, np.uint32)
    search = (image, np.int64(0), np.int64(1), np.int32(1), columns, words, np.int64(0))
    refused(emulated_device, "search", *search, words="argument 3 .* int32")
    refused(emulated_device, "search", image, 0, *search[2:], words="wants a NumPy scalar")
    refused(emulated_device, "nowhere", words="has no nowhere")
    refused(emulated_device, "ended_lanes", words, words="64 threads, bound 32")


def test_fresh_memory_is_garbage(emulated_device: EmulatedDevice) -> None:
    assert emulated_device.empty(3, np.uint32).tolist() == [0xA5A5A5A5] * 3


def test_intrinsics_answer_as_cuda_documents(device: EmulatedDevice) -> None:
    out = device.empty(24 * 32, np.uint32)
    device.launch(KERNELS, "intrinsics", 1, 32, out)
    answers = device.to_host(out).reshape(32, 24).astype(np.int64)
    for lane in range(32):
        group = [other for other in range(32) if other // 5 == lane // 5]
        bits = 2 * lane.bit_count()
        first_set = (lane & -lane).bit_length()
        swapped = 77
        assert answers[lane].tolist() == [
            15,
            (lane + 1) % 32 * 3,
            lane - 3 if lane >= 3 else lane,
            lane + 3 if lane < 29 else lane,
            lane ^ 9,
            lane - 3 if lane % 8 >= 3 else lane,
            lane // 8 * 8 + 2,
            sum(1 << other for other in range(0, 32, 3)),
            1,
            0,
            sum(1 << other for other in group),
            sum(range(32)),
            7,
            31,
            4 * lane.bit_count() + bits,
            first_set * 256 + (first_set + 32 if lane else 0),
            (32 - lane.bit_length()) * 256 + 64 - lane.bit_length(),
            int(f"{lane:032b}"[::-1], 2),
            min(lane, 7) * 256 + max(lane, 7),
            8,
            1,
            lane + (lane + 2) * 256,
            lane + 2 + swapped * 256,
            swapped + 3 * 256,
        ]

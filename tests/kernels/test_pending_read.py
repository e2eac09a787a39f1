"""Page-locked memory that the device writes to is kept until it has."""

import weakref
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.device.devices import open_device
from graphtide.gpu_core.cuda.device.pending_read import PendingReport


def test_what_the_work_of_a_report_uses_is_kept_until_it_is_done_though_nobody_waits() -> None:
    words, keys = np.zeros(9, np.uint32), np.zeros(9, np.uint64)
    kept = weakref.ref(words), weakref.ref(keys)
    #: Of each wait, whether the words and what else is used were still there.
    waits: list[bool] = []
    event = SimpleNamespace(
        record=lambda stream: None,
        synchronize=lambda: waits.append(all(used() is not None for used in kept)),
    )
    cuda = SimpleNamespace(Event=lambda **_: event, get_current_stream=lambda: None)
    device: Any = SimpleNamespace(
        xp=SimpleNamespace(cuda=cuda), errors_named=lambda doing: nullcontext()
    )
    report = PendingReport(device, words, keys)
    del words, keys
    assert not waits
    del report
    assert waits == [True]
    assert [used() for used in kept] == [None, None]


@pytest.mark.gpu
def test_a_report_that_nobody_waits_for_ends_behind_the_work_that_writes_it() -> None:
    device = open_device()
    spin = device.xp.RawKernel(
        'extern "C" __global__ void spin(unsigned* words) {'
        "  const long long begin = clock64(); while (clock64() - begin < 200000000) {}"
        "  words[0] = 7; }",
        "spin",
    )
    words = device.page_locked(9, np.uint32)
    stream = device.xp.cuda.Stream(non_blocking=True)
    with stream:
        spin((1,), (1,), (words.ctypes.data,))
        report = PendingReport(device, words)
    assert not stream.done
    del report
    assert stream.done
    assert words[0] == 7

"""Reads of a device's memory that nobody waits for yet."""

from typing import Any

import numpy as np

from graphtide.gpu_core.cuda.pending_read import PendingRead


def test_a_pending_read_sees_what_was_launched_before_it_alone(device: Any) -> None:
    array = device.to_device(np.arange(12, dtype=np.uint64))
    read = PendingRead(device, array)
    array.fill(7)
    assert read.wait().tolist() == list(range(12))
    assert device.to_host(array).tolist() == [7] * 12

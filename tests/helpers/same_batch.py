"""Two batches on a device: whether they are the same."""

from dataclasses import fields
from typing import Any

import numpy as np

from graphtide.gpu_core.cuda.update.batch import DeviceBatch


def assert_same_batch(device: Any, ours: DeviceBatch, twin: DeviceBatch) -> None:
    for name in (ours.data.keys() | twin.data.keys()) - {"row_counts"}:
        found, expected = getattr(ours, name), getattr(twin, name)
        np.testing.assert_array_equal(device.to_host(found), device.to_host(expected), name)
        assert found.dtype == expected.dtype, name
    for name in {field.name for field in fields(twin)} - {"data"}:
        found, expected = getattr(ours, name), getattr(twin, name)
        if not isinstance(expected, bytes):  # addresses
            assert found == expected, name

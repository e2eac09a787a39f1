"""Tests of flags in device memory: all of them, or any.

CuPy's `all` and `any` are built from CUB's headers, which take NVRTC 5 s at first use on a machine;
minimum and maximum are precompiled in CuPy.
"""

from typing import Any

import numpy as np


def all_set(flags: Any) -> bool:
    """Whether all are set, of bool[n] in one piece; waits for the device."""
    return flags.size == 0 or bool(flags.view(np.uint8).min())


def any_set(flags: Any) -> bool:
    """Whether one is set, of bool[n] in one piece; waits for the device."""
    return flags.size > 0 and bool(flags.view(np.uint8).max())

"""Imports nearly all that workers need, into the process that they are forked from."""

import gc

import distributed  # noqa: F401
from numba.core.registry import cpu_target

from . import tasks, warm_up  # noqa: F401

# What Numba knows of Python's and NumPy's functions, which it imports with the first kernel.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()

# The garbage collector of a worker need not look at all of that, which took it 0.1 s each time,
# nor write to it, which would copy the memory.
gc.freeze()

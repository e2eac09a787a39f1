"""Imports nearly all that workers need, into the process that they are forked from."""

import gc
import sys
from importlib.abc import MetaPathFinder
from typing import Any

import distributed  # noqa: F401
import pyarrow as pa
from numba.core.registry import cpu_target

from . import tasks, warm_up  # noqa: F401

# What Numba knows of Python's and NumPy's functions, which it imports with the first kernel.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()


class _WithoutPandas(MetaPathFinder):
    """Says that pandas is not there."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas":
            msg = "no pandas for Arrow"
            raise ModuleNotFoundError(msg, name=name)


# With its first array Arrow looks for pandas, once, and imports it: 0.3 s of every worker, which
# needs none of it.
if "pandas" not in sys.modules:
    sys.meta_path.insert(0, finder := _WithoutPandas())
    pa.array([0])
    sys.meta_path.remove(finder)

# The garbage collector of a worker need not look at all of that, which took it 0.1 s each time,
# nor write to it, which would copy the memory.
gc.freeze()

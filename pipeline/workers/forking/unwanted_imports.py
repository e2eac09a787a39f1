"""Keeps libraries from importing large libraries that graphtide does not use.

With its first array Arrow looks for pandas, and imports it where it is installed: 0.2 s of a core,
in every process. Numba does so with SciPy, when it meets its first kernel, for functions of linear
algebra that no kernel of ours calls: as long again. Both remember what they found.

Meanwhile no thread of this process can import such a library. So it is done only in processes of
our own, that have no other threads yet: commands that run a log or read a state, and the one that
workers are forked from.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import Any

import pyarrow as pa


class _Hidden(MetaPathFinder):
    """Says that libraries are not there."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] in self._names:
            msg = f"{name} is not wanted here"
            raise ModuleNotFoundError(msg, name=name)


@contextmanager
def hidden(*names: str) -> Iterator[None]:
    """Have no library of these names imported while the block runs, unless it is there already."""
    finder = _Hidden(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def use_arrow_without_pandas() -> None:
    """Have Arrow look for pandas now, and not find it."""
    if "pandas" not in sys.modules:
        with hidden("pandas"):
            pa.array([0])

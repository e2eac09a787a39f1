"""One decorator for all that Numba compiles, and where compiled code is kept.

Numba caches a function by its own file only: after an edit in the file of a callee it would run
the old code. So the cache folder is named by a hash of all sources that kernels are made from, and
a new version starts with an empty folder. Numba's own setting, ``NUMBA_CACHE_DIR``, wins over ours.

Compiled code releases the GIL and is not parallel itself: `parallel.py` runs one kernel over
several ranges in threads. That compiles several times faster than Numba's parallel loops, has no
global threading layer that other code of the process could upset, and keeps results independent of
the number of threads.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

#: Where compiled functions, and the numbers and functions that they name, are written.
_FOLDERS = ("host", "layouts")
_FILES = (
    "image.py", "records.py", "cuda/launches.py", "cuda/batch_facts.py", "cuda/batch_launches.py",
    "cuda/own_lists.py", "cuda/ways.py", "cuda/sorting.py", "cuda/edge_buckets.py",
)  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])


def _source_hash() -> str:
    core = Path(__file__).parent.parent
    digest = hashlib.sha256(numba.__version__.encode())
    sources = [path for name in _FOLDERS for path in (core / name).glob("*.py")]
    for path in sorted([*(core / name for name in _FILES), *sources]):
        digest.update(f"{path.parent.name}/{path.name}".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Folder of the compiled kernels of this version of the sources."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
        folder = base / "graphtide" / _FOLDER_NAME
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        # No home, or one that cannot be written: others must not be able to write here, either.
        folder = Path(tempfile.gettempdir()) / f"graphtide-{os.getuid()}" / _FOLDER_NAME
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


_FOLDER_NAME = _source_hash()


def compiled(function: Function) -> Function:
    """Compile with Numba on first call, without the GIL, cached on disk for later processes."""
    return _decorated(function)


def inlined(function: Function) -> Function:
    """Compile a small function that is part of the inner loops of others."""
    return _decorated(function, forceinline=True)


def _decorated(function: Function, **options: bool) -> Function:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        decorate = numba.njit(cache=True, nogil=True, error_model="numpy", **options)
        compiled_function: Function = decorate(function)
        return compiled_function
    finally:
        numba.config.CACHE_DIR = before

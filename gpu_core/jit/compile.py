"""One decorator for all that Numba compiles, and where compiled code is kept.

Numba caches a function by its own file only: after an edit in the file of a callee it would run
the old code. So the cache folder is named by a hash of all sources that kernels are made from, and
a new version starts with an empty folder. Kernels of analytics, which no others call, have a folder
within it by a hash of their own: an author of an analytic need not wait for the rest to be
compiled after each edit. Numba's own setting, ``NUMBA_CACHE_DIR``, wins over ours.

Files of the folder are unpickled and executed, so it is used only where no other user can have put
it there (``trusted_folder.py``). Else the process makes a folder of its own, which goes with it.

Compiled code releases the GIL and is not parallel itself: `parallel.py` runs one kernel over
several ranges in threads. That compiles several times faster than Numba's parallel loops, has no
global threading layer that other code of the process could upset, and keeps results independent of
the number of threads.
"""

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba

from ..errors import NOT_COMPILED, EngineError
from .borrowed_arrays import only_borrow
from .shared_cache import share_compiled
from .trusted_folder import trusted_folder
from .unpickled import keep_unpickled

#: Where compiled functions, and the numbers and functions that they name, are written.
_FOLDERS = ("batch", "host", "image", "jit", "layouts", "names")
_FILES = (
    "properties/table.py", "records.py",
    "cuda/structs.py", "cuda/device/launches.py",
    "cuda/device/sorting/key_buckets.py", "cuda/device/sorting/sorting.py",
    "cuda/memory/free_runs.py", "cuda/memory/scratch.py", "cuda/convert/edge_buckets.py",
    "cuda/update/batch_launches.py", "cuda/update/context.py", "cuda/update/facts.py",
    "cuda/update/launched_batch.py",
    "cuda/update/modes.py", "cuda/update/deltas/delta_launches.py",
    "cuda/update/pages/page_launches.py",
    "cuda/update/rows/row_launches.py", "generators/watts_alpha_kernels.py",
)  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])

if numba.config.DISABLE_JIT:
    raise EngineError(NOT_COMPILED)

keep_unpickled()


_CORE = Path(__file__).parent.parent
_ANALYTICS = _CORE / "host" / "analytics"


def _hash_of(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(sources):
        digest.update(path.relative_to(_CORE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _source_hash() -> str:
    folders = [path for name in _FOLDERS for path in (_CORE / name).rglob("*.py")]
    return _hash_of(
        [
            *(_CORE / name for name in _FILES),
            *(path for path in folders if not path.is_relative_to(_ANALYTICS)),
        ]
    )


@cache
def _folder_of_analytics(folder: Path) -> Path:
    return folder / f"analytics-{_hash_of(_ANALYTICS.rglob('*.py'))}"


@cache
def cache_folder() -> Path:
    """Folder of the compiled kernels of this version of the sources."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    return trusted_folder(_FOLDER_NAME) or _passing_folder()


def _passing_folder() -> Path:
    """A folder of this process alone, removed when it ends."""
    folder = tempfile.TemporaryDirectory(prefix="graphtide-")
    _own.append(folder)
    return Path(folder.name)


#: Keeps `_passing_folder` alive.
_own: list["tempfile.TemporaryDirectory[str]"] = []

_FOLDER_NAME = _source_hash()


def module_of_text(name: str, text: str) -> ModuleType:
    """Module of a text, which is kept beside the kernels of analytics; so is what it compiles.

    The name is to be another one for each text.
    """
    folder = _folder_of_analytics(cache_folder())
    path = folder / f"{name}.py"
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = folder / f"{name}-{os.getpid()}-{threading.get_ident()}.tmp"
        made.write_text(text, encoding="utf-8")
        made.replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Numba looks up the modules of functions that it has kept.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compiled(function: Function) -> Function:
    """Compile with Numba on first call, without the GIL, cached on disk for later processes."""
    # What is not said here, Numba takes from the first function that calls this one.
    return _decorated(function, _nrt=True)


def inlined(function: Function) -> Function:
    """Compile a small function that is part of the inner loops of others."""
    return _decorated(function, forceinline=True, _nrt=True)


def borrowing(function: Function) -> Function:
    """Compile as `inlined` does a function that makes and returns no array (`borrowed_arrays.py`).

    A long kernel can be split into such functions without loss of speed.
    """
    compiled_function = _decorated(function, forceinline=True, _nrt=False, no_cpython_wrapper=True)
    only_borrow(compiled_function)
    return compiled_function


def _decorated(function: Function, **options: bool) -> Function:
    before = numba.config.CACHE_DIR
    folder = cache_folder()
    if Path(function.__code__.co_filename).is_relative_to(_ANALYTICS) and not before:
        folder = _folder_of_analytics(folder)
    numba.config.CACHE_DIR = str(folder)
    try:
        # Nobody calls from C: without functions for that, it takes a tenth less time to compile.
        decorate = numba.njit(
            cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options
        )
        compiled_function: Function = decorate(function)
        # On the way to a GPU the loops are of a dozen words.
        on_device = Path(function.__code__.co_filename).is_relative_to(_CORE / "cuda")
        share_compiled(compiled_function, vectorizes=not on_device)
        return compiled_function
    finally:
        numba.config.CACHE_DIR = before

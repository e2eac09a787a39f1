"""The folder in which compiled code is kept, by a hash of what it is made from.

Numba caches a function by its own file only: after an edit in the file of a callee it would run
the old code. So the cache folder is named by a hash of all sources that kernels are made from, and
a new version starts with an empty folder. Kernels of analytics, which no others call, have a folder
within it by a hash of their own: an author of an analytic need not wait for the rest to be
compiled after each edit. Numba's own setting, ``NUMBA_CACHE_DIR``, wins over ours.

Files of the folder are unpickled and executed, so it is used only where no other user can have put
it there (``trusted_folder.py``). Else the process makes a folder of its own, which goes with it.

Light: who counts what is compiled need not import Numba.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

from .trusted_folder import trusted_folder

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

CORE: Final = Path(__file__).parent.parent
ANALYTICS: Final = CORE / "host" / "analytics"


@cache
def cache_folder() -> Path:
    """Folder of the compiled kernels of this version of the sources."""
    if given := given_folder():
        return Path(given)
    return trusted_folder(_source_hash()) or _passing_folder()


def given_folder() -> str:
    """Folder that Numba was given; empty: none."""
    config = sys.modules.get("numba.core.config")
    given: str = getattr(config, "CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", ""))
    return given


@cache
def folder_of_analytics(folder: Path) -> Path:
    """Folder of the compiled kernels of analytics, within that of the others."""
    return folder / f"analytics-{_hash_of(ANALYTICS.rglob('*.py'))}"


def _passing_folder() -> Path:
    """A folder of this process alone, removed when it ends."""
    folder = tempfile.TemporaryDirectory(prefix="graphtide-")
    _passing.append(folder)
    return Path(folder.name)


#: Keeps `_passing_folder` alive.
_passing: list["tempfile.TemporaryDirectory[str]"] = []


def _source_hash() -> str:
    folders = [path for name in _FOLDERS for path in (CORE / name).rglob("*.py")]
    return _hash_of(
        [
            *(CORE / name for name in _FILES),
            *(path for path in folders if not path.is_relative_to(ANALYTICS)),
        ]
    )


def _hash_of(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256(metadata.version("numba").encode())
    for path in sorted(sources):
        digest.update(path.relative_to(CORE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

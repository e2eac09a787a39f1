"""Checkpoints: the whole graph after a batch, from which a later run goes on.

::

    STATE/checkpoints/batch=<id>/vertices.parquet        vertex_ids, present, out_degree: by index
                                 free_indices.parquet    freed vertex indices in queue order
                                 edges.parquet           dst_index, properties: row after row
                                 manifest.json           format, watermark, settings, state hash,
                                                         checksums of the files

A checkpoint holds vertex indices, not only users' ids, and the order in which freed ones are taken:
the graph read back gives the next batch the same indices that the lost one would have given.

Edges are kept as a CSR: ``out_degree`` tells how many of them each vertex has as source, so an edge
takes the bytes of its destination alone, on disk and on the way there.

Half a checkpoint has no name of its own (``durable.py``). Whole is one of this format, whose files
have the SHA-256 that the manifest gives; the newest whole one counts, and any other is skipped with
a note. The manifest is the last file, so the state hash is worked out while the others are written.
The newest two checkpoints are kept, and older ones go after a new one is in place.

Not here: how a graph becomes arrays and arrays a graph (``DynamicGraph.checkpoint_arrays``).
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from .. import __version__
from ..gpu_core.errors import StateError
from ..gpu_core.records import PROPERTY_DTYPES
from .durable import new_folder, remove_folder
from .parquet_files import fast_encodings
from .state import StateDirectory

#: Checkpoints that are kept.
KEPT = 2

#: What the files hold; another number for any change that an older reader would not understand.
_FORMAT = 2

_MANIFEST = "manifest.json"
_ROW_GROUP_ROWS = 1 << 20

#: File -> its columns and their types.
_FILES: dict[str, dict[str, str]] = {
    "vertices.parquet": {"vertex_ids": "int64", "present": "bool", "out_degree": "uint32"},
    "free_indices.parquet": {"free_indices": "uint32"},
    "edges.parquet": {"dst_index": "uint32", **PROPERTY_DTYPES},
}


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint: its checksums have been compared."""

    #: The graph is the one after this batch.
    batch_id: int
    path: Path
    #: ``format``, ``watermark``, ``graphtide``, ``state_hash``, ``files``, what the writer added.
    manifest: dict[str, Any]

    @property
    def boundary(self) -> int:
        """First batch that is not in it."""
        return self.batch_id + 1

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Read the arrays, by the names of ``DynamicGraph.checkpoint_arrays``."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name in _FILES:
            try:
                table = pq.read_table(self.path / name, memory_map=True)
            except (pa.ArrowException, OSError) as error:
                msg = f"{self.path / name} cannot be read ({error}); run again to use another one"
                raise StateError(msg) from error
            for column in table.column_names:
                arrays[column] = table[column].to_numpy()
        return arrays


def write_checkpoint(
    state: StateDirectory,
    batch_id: int,
    arrays: Mapping[str, npt.NDArray[Any]],
    state_hash: Callable[[], str],
    manifest_extra: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Write a checkpoint, whole or not at all, then let go of older ones.

    Parameters
    ----------
    state
        State that the caller has locked.
    batch_id
        The batch after which the graph was copied; the watermark.
    arrays
        From ``DynamicGraph.checkpoint_arrays``.
    state_hash
        Gives the state hash of the graph. Called in a thread of its own, while the files are
        written.
    manifest_extra
        Plain values to keep with it: settings, counts.
    """
    path = state.checkpoint(batch_id)
    with (
        ThreadPoolExecutor(1, thread_name_prefix="graphtide-state-hash") as pool,
        new_folder(path) as folder,
    ):
        hashing = pool.submit(state_hash)
        files = {}
        for name, columns in _FILES.items():
            _write_columns(folder / name, {c: arrays[c] for c in columns if c in arrays}, columns)
            files[name] = {
                "bytes": (folder / name).stat().st_size,
                "sha256": _checksum(folder / name),
            }
        manifest = {
            **(manifest_extra or {}),
            "format": _FORMAT,
            "watermark": batch_id,
            "graphtide": __version__,
            "state_hash": hashing.result(),
            "files": files,
        }
        text = json.dumps(manifest, indent=1) + "\n"
        (folder / _MANIFEST).write_text(text, encoding="utf-8")
    _let_go(state, batch_id)
    return Checkpoint(batch_id, path, manifest)


def newest_checkpoint(state: StateDirectory, notes: list[str] | None = None) -> Checkpoint | None:
    """Find the newest whole checkpoint; None where there is none.

    Parameters
    ----------
    state
        The state; it need not be locked.
    notes
        Gets one sentence for each broken checkpoint that was skipped.
    """
    skipped: set[int] = set()
    while True:
        # A reader may be overtaken by a writer that lets go of old checkpoints, so look anew.
        ids = [each for each in state.checkpoint_ids() if each not in skipped]
        if not ids:
            return None
        path = state.checkpoint(ids[-1])
        manifest, fault = _check(path, ids[-1])
        if not fault:
            return Checkpoint(ids[-1], path, manifest)
        skipped.add(ids[-1])
        if path.exists() and notes is not None:
            notes.append(f"checkpoint {path} is broken ({fault}) and was skipped")


def _check(path: Path, batch_id: int) -> tuple[dict[str, Any], str]:
    """The manifest of a checkpoint, and what is wrong with it; nothing where it is whole."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
        if manifest.get("format") != _FORMAT:
            return {}, f"its format is not {_FORMAT}, the one of graphtide {__version__}"
        if manifest["watermark"] != batch_id:
            return {}, f"its manifest is of batch {manifest['watermark']}"
        for name in _FILES:
            if _checksum(path / name) != manifest["files"][name]["sha256"]:
                return {}, f"{name} is not as it was written"
    except FileNotFoundError as error:
        return {}, f"{Path(str(error.filename)).name} is missing"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return {}, f"{type(error).__name__}: {error}"
    return manifest, ""


def _let_go(state: StateDirectory, newest: int) -> None:
    """Remove what is older than the newest two, and what a broken newer one left."""
    ids = state.checkpoint_ids()
    # The graph came from the newest whole checkpoint, so any after this batch was found broken.
    older = [each for each in ids if each <= newest]
    for each in {*ids} - {*older[-KEPT:]}:
        remove_folder(state.checkpoint(each))


def _write_columns(
    path: Path, arrays: Mapping[str, npt.NDArray[Any]], types: Mapping[str, str]
) -> None:
    columns = {
        name: pa.array(np.ascontiguousarray(array, dtype=types[name]))
        for name, array in arrays.items()
    }
    table = pa.table(columns)
    encodings = {**fast_encodings(table.schema), "write_statistics": False}
    pq.write_table(table, path, row_group_size=_ROW_GROUP_ROWS, **encodings)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

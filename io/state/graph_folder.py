"""A graph as a folder of files: a checkpoint of a run, or what `DynamicGraph.save` wrote.

::

    vertices.parquet        vertex_ids, present, out_degree: by index; what is maintained by vertex
                            index; "vertex property …" of the user's own
    free_indices.parquet    freed vertex indices in queue order
    edges.parquet           dst_index, properties, "edge property …": row after row
    NAME.parquet            what else a maintained analytic keeps, in the files that it names
    names.parquet           name_keys, names: where ids are names (``gpu_core/names/table.py``)
    manifest.json           format, state hash, checksums of the files, mean_degree where known,
                            what the writer adds

Columns of what is maintained come from the registry of analytics (``Maintained.kept``), so another
analytic needs no line here. An array that is not declared is refused: it would be lost.

It holds vertex indices, not only users' ids, and the order in which freed ones are taken: the graph
read back gives the next batch the same indices that the one written would have given.

Edges are kept as a CSR: ``out_degree`` is how many of them each vertex has as source, so an edge
takes the bytes of its destination alone, on disk and on the way there.

The folder is whole if it has this format, a manifest with the right hash of itself
(``hashed_json.py``), and files that have the SHA-256 in the manifest and as many vertices and edges
as it says. The manifest is the last file, so the state hash is worked out while the others are
written.

Not here: how a graph becomes arrays and arrays a graph (``DynamicGraph.checkpoint_arrays``); how
the folder gets its name at once (``durable.py``).
"""

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ... import __version__
from ...gpu_core.algorithms.registry import kept_arrays
from ...gpu_core.copies.checkpoint import EDGE_PREFIX, VERTEX_PREFIX
from ...gpu_core.errors import StateError
from ...gpu_core.records import RECORDS
from ..hashed_json import DamagedJsonError, json_text, read_json
from ..parquet.arrow_paths import arrow_path
from ..parquet.encodings import fast_encodings
from ..parquet.file_writer import write_file

#: What the files hold; another number for any change that an older reader would not understand.
_FORMAT = 2

MANIFEST = "manifest.json"

#: File -> its columns and their types, without those of what is maintained; not every graph has all
#: of them.
_FILES: dict[str, dict[str, str]] = {
    "vertices.parquet": {
        "vertex_ids": "int64",
        "present": "bool",
        "out_degree": "uint32",
    },
    "free_indices.parquet": {"free_indices": "uint32"},
    "edges.parquet": {"dst_index": "uint32", **RECORDS["semantic"].dtypes},
}

#: File -> what the names of its properties of the user's own begin with.
_OWN = {"vertices.parquet": VERTEX_PREFIX, "edges.parquet": EDGE_PREFIX}

#: The file of names, and what its columns are as arrays.
_NAMES = "names.parquet"
_NAME_ARRAYS = ("name_keys", "name_starts", "name_bytes")
#: Arrays that are in no file, as the manifest or the state has their value.
_ELSEWHERE = ("time_unit", "mean_degree")


def write_graph(
    folder: Path,
    arrays: Mapping[str, npt.NDArray[Any]],
    state_hash: Callable[[], str],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the files into a folder that is not in use yet; returns the manifest.

    Parameters
    ----------
    folder
        Empty.
    arrays
        From ``DynamicGraph.checkpoint_arrays``.
    state_hash
        Gives the state hash of the graph. Called in a thread of its own, while the files are
        written.
    facts
        Plain values to keep in the manifest.

    Raises
    ------
    StateError
        One of the arrays is not declared, or does not fit into the type declared.
    """
    all_files = _files()
    _check_declared(arrays, all_files)
    with ThreadPoolExecutor(1, thread_name_prefix="graphtide-state-hash") as pool:
        hashing = pool.submit(state_hash)
        files = {}
        for name, columns in all_files.items():
            there = {column: arrays[column] for column in columns if column in arrays}
            if name not in _FILES and not there:
                continue
            # Weights of 64 bits stay so.
            types = {c: "float64" if there[c].dtype == "f8" else columns[c] for c in there}
            own = {c: a for c, a in arrays.items() if name in _OWN and c.startswith(_OWN[name])}
            there |= own
            types |= {column: str(array.dtype) for column, array in own.items()}
            _write_columns(folder / name, there, types)
            files[name] = _facts_of(folder / name)
        if "name_keys" in arrays:
            _write_names(folder / _NAMES, arrays)
            files[_NAMES] = _facts_of(folder / _NAMES)
        if "mean_degree" in arrays:
            facts = {**facts, "mean_degree": float(arrays["mean_degree"][0])}
        manifest = {
            **facts,
            "format": _FORMAT,
            "graphtide": __version__,
            "state_hash": hashing.result(),
            "files": files,
        }
        (folder / MANIFEST).write_text(json_text(manifest), encoding="utf-8")
    return manifest


def _files() -> dict[str, dict[str, str]]:
    """File -> its columns and their types, with those of what is maintained."""
    files = {name: dict(columns) for name, columns in _FILES.items()}
    for file, columns in kept_arrays().items():
        files.setdefault(f"{file}.parquet", {}).update(columns)
    return files


def _check_declared(
    arrays: Mapping[str, npt.NDArray[Any]], files: Mapping[str, Mapping[str, str]]
) -> None:
    """Refuse arrays that would be left out, or changed, without a word."""
    kept = {name: kind for each in kept_arrays().values() for name, kind in each.items()}
    known = {*_NAME_ARRAYS, *_ELSEWHERE, *(name for each in files.values() for name in each)}
    for name, array in arrays.items():
        if name not in known and not name.startswith(tuple(_OWN.values())):
            msg = (
                f"the graph has an array {name!r} that no file of a checkpoint has room for, so it "
                f"would be lost; declare it in `kept` of the class that maintains it"
            )
            raise StateError(msg)
        if name in kept and not np.can_cast(array.dtype, kept[name]):
            msg = (
                f"the array {name!r} is {array.dtype}, which does not fit into the {kept[name]} "
                f"declared in `kept` of the class that maintains it"
            )
            raise StateError(msg)


def read_graph(path: Path, cure: str) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays, by the names of ``DynamicGraph.checkpoint_arrays``.

    ``cure``: what to do where that fails, for the message of the `StateError`.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name in _files():
        if name not in _FILES and not (path / name).exists():
            continue
        try:
            table = pq.read_table(arrow_path(path / name), memory_map=True)
        except MemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            msg = f"{path / name} cannot be read ({error}); {cure}"
            raise StateError(msg) from error
        for column in table.column_names:
            arrays[column] = table[column].to_numpy()
    if (path / _NAMES).exists():
        arrays.update(_read_names(path / _NAMES, cure))
    # A folder is removed as a whole, so it was there until now where this is there last.
    try:
        manifest = read_json(path / MANIFEST, must_have_hash=False)
    except (FileNotFoundError, DamagedJsonError) as error:
        msg = f"{path} was removed or changed while it was read; {cure}"
        raise StateError(msg) from error
    mean_degree = manifest.get("mean_degree")
    if mean_degree is not None:
        arrays["mean_degree"] = np.array([mean_degree], np.float64)
    return arrays


def check_graph(
    path: Path, facts: Mapping[str, Any], *, must_have_hash: bool = True
) -> tuple[dict[str, Any], str]:
    """Read the manifest, and say what is wrong with the folder; nothing where it is whole.

    Parameters
    ----------
    path
        The folder.
    facts
        What the manifest must say.
    must_have_hash
        Whether a manifest without a hash of itself is a damaged one.
    """
    try:
        manifest = read_json(path / MANIFEST, must_have_hash=must_have_hash)
        if manifest.get("format") != _FORMAT:
            return {}, f"its format is not {_FORMAT}, the one of graphtide {__version__}"
        fault = _fault(path, manifest, facts)
    except DamagedJsonError as error:
        return {}, f"{MANIFEST} is damaged: {error}"
    except FileNotFoundError as error:
        return {}, f"{Path(str(error.filename)).name} is missing"
    except (KeyError, TypeError, AttributeError) as error:
        return {}, f"{MANIFEST} is damaged: {error!r}"
    except MemoryError:
        raise
    except (OSError, pa.ArrowException) as error:
        return {}, f"{type(error).__name__}: {error}"
    return manifest, fault


def _fault(path: Path, manifest: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """First difference between a manifest and its files, or what it lacks; empty: none."""
    for name, value in facts.items():
        if manifest[name] != value:
            return f"its {MANIFEST} says {name}: {manifest[name]}"
    if not isinstance(manifest["state_hash"], str):
        return f"its {MANIFEST} has no state hash"
    if not set(_FILES) <= set(manifest["files"]) <= {*_files(), _NAMES}:
        return f"its {MANIFEST} does not name its files"
    for name, file in manifest["files"].items():
        there = (path / name).stat().st_size
        if there != file["bytes"] or _checksum(path / name) != file["sha256"]:
            return f"{name} is not as it was written"
    counts = _counts(path)
    for name, count in counts.items():
        # Callers that write a graph need not count.
        if manifest.get(name, count) != count:
            return f"its {MANIFEST} tells of {manifest[name]} {name}, its files of {count}"
    edges = pq.read_metadata(arrow_path(path / "edges.parquet")).num_rows
    if counts["num_edges"] != edges:
        return f"its vertices have {counts['num_edges']} edges, edges.parquet has {edges}"
    return ""


def _counts(path: Path) -> dict[str, int]:
    """Numbers of vertices and edges, by the columns of the vertices."""
    vertices = arrow_path(path / "vertices.parquet")
    table = pq.read_table(vertices, columns=["present", "out_degree"])
    present, degrees = (pc.sum(table[name]).as_py() or 0 for name in ("present", "out_degree"))
    return {"num_vertices": int(present), "num_edges": int(degrees)}


def _write_columns(
    path: Path, arrays: Mapping[str, npt.NDArray[Any]], types: Mapping[str, str]
) -> None:
    columns = {
        name: pa.array(np.ascontiguousarray(array, dtype=types[name]))
        for name, array in arrays.items()
    }
    table = pa.table(columns)
    encodings = {**fast_encodings(table.schema), "write_statistics": False}
    write_file(path, table, **encodings)


def _write_names(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    keys, starts, data = (arrays[name] for name in _NAME_ARRAYS)
    # Bytes: names may be text, or 16 bytes of a UUID.
    names = pa.Array.from_buffers(
        pa.large_binary(),
        keys.size,
        [None, pa.py_buffer(np.ascontiguousarray(starts)), pa.py_buffer(data)],
    )
    table = pa.table({"name_keys": np.ascontiguousarray(keys), "names": names})
    # Keys are hashes, which nothing makes smaller.
    write_file(
        path, table, use_dictionary=False, write_statistics=False,
        compression={"name_keys": "none", "names": "zstd"},
    )  # fmt: skip


def _read_names(path: Path, cure: str) -> dict[str, npt.NDArray[Any]]:
    try:
        table = pq.read_table(arrow_path(path), memory_map=True)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        msg = f"{path} cannot be read ({error}); {cure}"
        raise StateError(msg) from error
    chunks = [chunk.cast(pa.large_binary()) for chunk in table["names"].chunks]
    names = pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_binary())
    starts = np.zeros(1, np.int64)
    data = np.empty(0, np.uint8)
    if len(names):
        _, offsets, values = names.buffers()
        starts = np.frombuffer(offsets, np.int64, len(names) + 1, names.offset * 8)
        data = np.frombuffer(values, np.uint8) if values else data
    return dict(zip(_NAME_ARRAYS, (table["name_keys"].to_numpy(), starts, data), strict=True))


def _facts_of(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": _checksum(path)}


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

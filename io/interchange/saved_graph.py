"""`DynamicGraph.save` and `load`: one graph as a folder, in the form of checkpoints.

The folder has its name when it is whole (``durable.py``), so a reader meanwhile, or after a crash,
finds the graph that was there before, or the new one. Where the earlier one was just set
aside when the machine went down, it is loaded from there.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...gpu_core.copies.state_hash import state_hash
from ...gpu_core.errors import StateError
from ...gpu_core.face.graph_copies import SETTINGS, settings_of, with_given
from ...gpu_core.face.graph_reader import GraphReader
from ...gpu_core.graph import DynamicGraph
from ..durable import new_folder, set_aside_as
from ..file_systems import is_local_address
from ..given_paths import path_text
from ..hashed_json import DamagedJsonError, read_json
from ..state.graph_folder import MANIFEST, read_graph, write_graph
from ..state.graph_folder import check_graph as check_folder
from .given_graph import check_graph

#: What the manifest says of itself; the one of a checkpoint does not.
_FACTS = {"kind": "saved graph"}


def save_graph(graph: GraphReader, path: str | Path) -> Path:
    """Write a graph to a folder, which is new or has a saved graph, and is replaced as a whole.

    Parameters
    ----------
    graph
        The graph, or an epoch.
    path
        The folder, on a disk of this machine.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    StateError
        The path has something that is no saved graph, or is no path of this machine; or the disk
        cannot be written.
    SettingsError
        ``graph`` is none.
    """
    check_graph(graph)
    folder = _local(path)
    if folder.exists() and not _is_saved_graph(folder):
        msg = f"{folder} is there and is no saved graph; give a new path"
        raise StateError(msg)
    with graph.lock:
        arrays, csr = graph.checkpoint_arrays(), graph.csr_of_keys()
        facts = {
            **_FACTS,
            "settings": settings_of(graph.kind),
            "time_unit": graph.time_unit,
            "num_vertices": graph.num_vertices,
            "num_edges": graph.num_edges,
        }
    # The copies do not change any more, so batches may go on.
    with new_folder(folder) as temporary:
        write_graph(temporary, arrays, partial(state_hash, csr, records=graph.records), facts)
    return folder


def load_graph(path: str | Path, **settings: Any) -> DynamicGraph:
    """Read a graph that `save_graph` has written, and check its digests.

    Parameters
    ----------
    path
        The folder.
    **settings
        Arguments of `DynamicGraph` that may differ from those of the saved graph: engine, layout,
        memory; see `DynamicGraph.copy`.

    Raises
    ------
    StateError
        There is no saved graph, it is damaged, or it has a setting of a later version.
    SettingsError
        Another argument is given.
    """
    folder = _local(path)
    if not folder.exists() and set_aside_as(folder).exists():
        folder = set_aside_as(folder)
    if not (folder / MANIFEST).exists():
        msg = f"there is no saved graph at {folder}; give a folder that DynamicGraph.save wrote"
        raise StateError(msg)
    if folder.parent.name == "checkpoints":
        msg = f"{folder} is a checkpoint of a run; use graphtide.open({str(folder.parents[1])!r})"
        raise StateError(msg)
    manifest, fault = check_folder(folder, _FACTS)
    if fault:
        msg = f"the graph in {folder} is damaged ({fault}); use another copy of it"
        raise StateError(msg)
    if unknown := sorted(manifest["settings"].keys() - SETTINGS):
        msg = (
            f"the graph in {folder}, saved by graphtide {manifest['graphtide']}, has the setting "
            f"{unknown[0]}, which this graphtide {__version__} does not know; load it with the "
            f"graphtide that saved it"
        )
        raise StateError(msg)
    arrays = read_graph(folder, "load it again")
    if manifest["time_unit"] is not None:
        arrays["time_unit"] = np.array([manifest["time_unit"]])
    graph = DynamicGraph.from_checkpoint_arrays(
        arrays, **with_given(manifest["settings"], settings)
    )
    if graph.state_hash() != manifest["state_hash"]:
        msg = f"the graph in {folder} does not have the state hash of its {MANIFEST}; save it again"
        raise StateError(msg)
    return graph


def _local(path: str | Path) -> Path:
    """The path of a folder; refuses one in a store, which would be made here by its name."""
    text = path_text("path", path)
    if not is_local_address(text):
        msg = f"a saved graph is on a local disk, not at {text}; give a path, and copy the folder"
        raise StateError(msg)
    return Path(text.removeprefix("file://"))


def _is_saved_graph(folder: Path) -> bool:
    try:
        manifest = read_json(folder / MANIFEST, must_have_hash=True)
    except (OSError, DamagedJsonError):
        return False
    return all(manifest.get(name) == value for name, value in _FACTS.items())

"""New graphs from an existing one: copies, subgraphs, pickles, graphs read from files.

All go by the arrays of `GraphReader.checkpoint_arrays` and the settings that the graph was made
with. Some settings may be others then, for they change neither what the graph is nor what it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..copies.checkpoint import EDGE_PREFIX, VERTEX_PREFIX
from ..errors import SettingsError
from ..kind import ArenaSizes, GraphKind
from ..properties.kinds import missing_column

Arrays = Mapping[str, npt.NDArray[Any]]

#: Arguments of `DynamicGraph` by which a copy may differ.
FREE = (
    "reverse", "layout", "storage", "page_bytes", "mean_degree", "engine", "device",
    "arena_bytes", "max_arena_bytes", "arena_growth", "arena_grow_at",
    "expected_edges",
)  # fmt: skip

#: Names of what `settings_of` gives.
SETTINGS = frozenset({"records", *(field.name for field in fields(GraphKind))} - {"record"})


def settings_of(kind: GraphKind) -> dict[str, Any]:
    """Arguments of `DynamicGraph` for the kind of the graph and its storage."""
    settings = asdict(kind)
    del settings["record"]
    for name in ("properties", "vertex_properties"):
        settings[name] = dict(settings[name])
    return {"records": kind.record.name, **settings}


def settings_of_copy(
    kind: GraphKind,
    sizes: ArenaSizes,
    engine: str,
    device: int | None,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Arguments of `DynamicGraph` for a copy, of which the caller gives some."""
    kept = {
        **settings_of(kind), "engine": engine, "device": device,
        "arena_bytes": sizes.arena_bytes, "max_arena_bytes": sizes.max_arena_bytes,
        "arena_growth": sizes.arena_growth, "arena_grow_at": sizes.arena_grow_at,
    }  # fmt: skip
    return with_given(kept, given)


def with_given(kept: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a graph with some of `FREE` replaced.

    Raises
    ------
    SettingsError
        Something else is given.
    """
    for name, value in given.items():
        if name not in FREE:
            msg = f"{name}={value!r}: a copy can be given another {', '.join(FREE)} only"
            raise SettingsError(msg)
    if given.get("layout", kept["layout"]) != kept["layout"]:
        # The size of a page goes with the layout.
        kept = {**kept, "page_bytes": None}
    if given.get("device") is not None:
        # A GPU that is named is asked for, whatever the graph is on.
        kept = {**kept, "engine": "auto"}
    return {**kept, **given}


def arrays_of_subgraph(kind: GraphKind, csr: Any, chosen: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Arrays of the graph of some vertices and all edges among them.

    Parameters
    ----------
    kind
        Of the graph.
    csr
        The whole graph, a `CsrSnapshot`.
    chosen
        bool[n], of ``csr.vertices``.
    """
    degrees, columns, properties = csr.each_edge_once()
    rows = np.repeat(np.arange(degrees.size), degrees)
    kept = chosen[rows] & chosen[columns]
    ids = csr.vertices[chosen]
    # Dense ids are the vertex indices; others are numbered in their order.
    indices = ids if kind.dense_ids else np.arange(ids.size)
    count = int(indices.max(initial=-1)) + 1
    index_of = np.zeros(chosen.size, np.uint32)
    index_of[chosen] = indices
    present = np.zeros(count, np.bool_)
    present[indices] = True
    vertex_ids = np.zeros(count, np.int64)
    vertex_ids[indices] = ids
    return {
        "vertex_ids": vertex_ids,
        "present": present,
        "out_degree": np.bincount(index_of[rows[kept]], minlength=count).astype(np.uint32),
        "free_indices": np.empty(0, np.uint32),
        "dst_index": index_of[columns[kept]],
        **{
            name if name in kind.record.properties else EDGE_PREFIX + name: _plain(column[kept])
            for name, column in properties.items()
        },
        **_by_index(csr.vertex_properties, chosen, indices, count),
        **({} if csr.time_unit is None else {"time_unit": np.array([csr.time_unit])}),
    }


def _by_index(
    values: Mapping[str, npt.NDArray[Any]],
    chosen: npt.NDArray[np.bool_],
    indices: npt.NDArray[Any],
    count: int,
) -> dict[str, npt.NDArray[Any]]:
    """Properties of the vertices chosen, by their indices; missing at others."""
    out = {VERTEX_PREFIX + name: missing_column(str(v.dtype), count) for name, v in values.items()}
    for name, column in values.items():
        out[VERTEX_PREFIX + name][indices] = column[chosen]
    return out


def _plain(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Times as integers."""
    return column.view(np.int64) if column.dtype.kind == "M" else column

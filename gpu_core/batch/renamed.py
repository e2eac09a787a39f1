"""A batch with other keys for some ids: names whose own key belongs to another name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .update_batch import UpdateBatch

Int64s = npt.NDArray[np.int64]


def renamed(batch: UpdateBatch, moved: Mapping[int, int]) -> UpdateBatch:
    """The batch with other keys in place of some.

    Parameters
    ----------
    batch
        Valid.
    moved
        Old key -> new key; no two ids become one.
    """
    old = np.array(sorted(moved), np.int64)
    new = np.array([moved[key] for key in old.tolist()], np.int64)

    def keys(ids: Int64s) -> Int64s:
        at = np.minimum(np.searchsorted(old, ids), old.size - 1)
        return np.where(old[at] == ids, new[at], ids)

    fields: dict[str, Any] = {}
    for kind in ("put", "delete"):
        rows, indptr, indices = (
            getattr(batch, f"{kind}_{part}") for part in ("rows", "indptr", "indices")
        )
        src, dst = keys(np.repeat(rows, np.diff(indptr))), keys(indices)
        if not batch.directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        order = np.lexsort((dst, src))
        found, counts = np.unique(src, return_counts=True)
        fields[f"{kind}_rows"], fields[f"{kind}_indices"] = found, dst[order]
        fields[f"{kind}_indptr"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        if kind == "put":
            for name in ("weight", "type", "first", "last", "reset"):
                values = getattr(batch, f"put_{name}")
                fields[f"put_{name}"] = None if values is None else values[order]
            fields["put_values"] = {name: each[order] for name, each in batch.put_values.items()}
            if batch.repeat_puts is not None and batch.repeat_weight is not None:
                position = np.empty(order.size, np.uint32)
                position[order] = np.arange(order.size)
                numbers = position[batch.repeat_puts]
                # Stable: the inserts of an edge stay in their order.
                by_put = np.argsort(numbers, kind="stable")
                fields["repeat_puts"] = numbers[by_put]
                fields["repeat_weight"] = batch.repeat_weight[by_put]
        vertices = keys(getattr(batch, f"{kind}_vertices"))
        order = np.argsort(vertices)
        fields[f"{kind}_vertices"] = vertices[order]
        fields[f"{kind}_vertex_rows"] = getattr(batch, f"{kind}_vertex_rows")[order]
        if kind == "put":
            own = batch.put_vertex_values
            fields["put_vertex_values"] = {name: each[order] for name, each in own.items()}
    return replace(batch, **fields, names=None)

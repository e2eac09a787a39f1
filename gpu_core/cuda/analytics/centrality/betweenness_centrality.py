"""Betweenness centrality in CUDA (Brandes): searches from many sources run level by level together.

Stages of a level, and their order: ``betweenness_centrality.cu``; how rows are walked once for 16
sources, and in which order sums are taken: ``betweenness_stages.cuh``; how launches are started
that do the stages of a batch of sources: `parts/frontier.py`.

Numbers of paths have exponents, as the host twin's, in another form of the kernels. Which is
needed shows afterwards, where float64 was too small: then all is counted again.

Rows are read where they are (`rows.Rows`), those of in-neighbors that are not stored in a copy.
"""

from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ....rows import Adjacencies, Rows
from ...device.compile import WIDE_PATHS
from ...device.declarations import constant, structure, word_of, words_of
from ...device.device import Array, Device
from ...device.flags import all_set
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, in_rows, in_rows_bytes, zeros
from ..parts.frontier import Groups
from ..parts.row_arguments import fields

_SOURCE: Final = "betweenness_centrality.cu"

_SLOTS: Final = constant(_SOURCE, "SLOTS")
_FRONTS: Final = constant(_SOURCE, "FRONTS")
_PART_ENTRIES: Final = constant(_SOURCE, "PART_ENTRIES")
_SEARCH: Final = structure(_SOURCE, "Search")
_BATCH: Final = structure(_SOURCE, "Batch")
_DIRECTION: Final = structure(_SOURCE, "Direction")

#: Vertices of a batch, one for each of its sources, of 24 bytes each, 28 with exponents: sources
#: are as many as fit, at least one.
MOST_VERTICES = 1 << 26
#: Entries by eight, and one a row, of a level that is a small one: a few short rows for each team
#: of the blocks that meet.
SMALL_COST = 1024
#: A level is pulled whose rows have more than one of so many entries.
PULL_SHARE = 8
_GROUPS: Final = Groups(
    first=3, most=16, large_levels=8, large_blocks=6,
    small_threads=constant(_SOURCE, "MEETING_THREADS"),
)  # fmt: skip


def centrality(
    workspace: Workspace,
    adjacencies: Adjacencies,
    sources: npt.NDArray[np.uint32],
    *,
    endpoints: bool,
    scale: float,
    scale_of_sources: float,
) -> Array:
    """float64[vertex_count] on the device: betweenness by vertex index.

    Waits for all searches.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored.
    sources
        uint32[k] in host memory, indices of different vertices.
    endpoints
        Whether the ends of a path are on it.
    scale, scale_of_sources
        What sums are multiplied by, of vertices and of sources.
    """
    device, count = workspace.device, adjacencies.out.count
    total = device.empty(count, np.float64)
    total.fill(0)
    if not sources.size:
        return total
    _add(workspace, adjacencies, sources, total, endpoints=endpoints, is_wide=False)
    # A number of paths was infinite, and times a share of 0 no number.
    if not all_set(device.xp.isfinite(total)):
        total.fill(0)
        _add(workspace, adjacencies, sources, total, endpoints=endpoints, is_wide=True)
    is_source = device.empty(count, np.bool_)
    is_source.fill(False)
    is_source[device.to_device(sources)] = True
    device.launch(
        _SOURCE, "scale_sums", blocks_for(count), THREADS, is_source, np.uint64(count),
        np.float64(scale), np.float64(scale_of_sources), total,
    )  # fmt: skip
    return total


class _Arrays(NamedTuple):
    """Scratch of a batch of sources, in the order of ``Batch``, which describes it."""

    search: Array
    list: Array
    masks: Array
    levels: Array
    costs: Array
    seen: Array
    fronts: Array
    paths: Array
    share: Array
    exponents: Array
    sums: Array
    sum_exponents: Array
    tickets: Array


class _Sizes(NamedTuple):
    """Sizes of what a batch of sources works in."""

    vertices: int
    #: Sources of a batch, of a bundle, and bundles of a batch.
    batch: int
    slots: int
    bundles: int
    #: Parts of long rows at most.
    parts: int
    #: Whether numbers of paths have exponents.
    is_wide: bool

    @classmethod
    def of(cls, sources: int, out: Rows, *, is_wide: bool) -> Self:
        """As many sources a batch as `MOST_VERTICES` allows, in whole bundles if there are more."""
        batch = min(sources, max(1, MOST_VERTICES // out.count))
        if _SLOTS < batch < sources:
            batch -= batch % _SLOTS
        bundles = blocks_for(batch, _SLOTS)
        return cls(out.count, batch, min(batch, _SLOTS), bundles, _most_parts(out), is_wide)

    @property
    def cells(self) -> int:
        """Vertices of all bundles."""
        return self.bundles * self.vertices

    @property
    def lengths(self) -> tuple[tuple[int, npt.DTypeLike], ...]:
        """Length and type of each of `_Arrays`."""
        cells, items = self.cells, self.batch * self.vertices
        numbers, sums = cells * self.slots, self.bundles * self.parts * self.slots
        wide = int(self.is_wide)
        return (
            (words_of(_SEARCH), np.uint64), (items, np.uint32), (items, np.uint16),
            (self.vertices + 1, np.uint64), (self.vertices + 1, np.uint64), (cells, np.uint32),
            (_FRONTS * cells, np.uint32), (numbers, np.float64), (numbers, np.float64),
            (wide * numbers, np.int32), (sums, np.float64), (wide * sums, np.int32),
            (self.bundles * self.parts, np.uint32),
        )  # fmt: skip

    @property
    def scratch_bytes(self) -> int:
        """Bytes of `arrays`, and of the parts of both directions."""
        of_parts = (2 * self.parts, np.uint64), (2, np.uint32)
        return bytes_of(*self.lengths, *of_parts)

    def arrays(self, scratch: DeviceScratch) -> _Arrays:
        """Take them; ``tickets`` are 0."""
        arrays = _Arrays(*(scratch.take(*each) for each in self.lengths))
        arrays.tickets.fill(0)
        return arrays


def _add(
    workspace: Workspace,
    adjacencies: Adjacencies,
    sources: npt.NDArray[np.uint32],
    total: Array,
    *,
    endpoints: bool,
    is_wide: bool,
) -> None:
    """Add what sources give to every vertex, batch after batch; ``is_wide``: with exponents."""
    device, out, count = workspace.device, adjacencies.out, adjacencies.out.count
    sizes = _Sizes.of(sources.size, out, is_wide=is_wide)
    with workspace.scratch(sizes.scratch_bytes + in_rows_bytes(device, adjacencies)) as scratch:
        into = in_rows(device, scratch, adjacencies)
        of_out = _direction(device, scratch, out, sizes.parts)
        of_in = of_out if into is out else _direction(device, scratch, into, sizes.parts)
        arrays = sizes.arrays(scratch)
        given = np.array(
            (
                *map(address, arrays), count, sizes.cells, sizes.slots, sizes.parts,
                out.num_entries, SMALL_COST, PULL_SHARE,
            ),
            dtype=_BATCH,
        )  # fmt: skip
        read = of_out, of_in, given
        small, large = ("small_batch_stages", *read), ("batch_stage", *read)
        for first in range(0, sources.size, sizes.batch):
            some = device.to_device(sources[first : first + sizes.batch])
            number = np.uint64(some.size)
            for array in (arrays.search, arrays.seen, arrays.fronts, arrays.exponents):
                array.fill(0)
            device.launch(
                _SOURCE, "begin_batch", blocks_for(some.size), THREADS, some, number, out.degree,
                into.degree, given,
            )  # fmt: skip
            _GROUPS.start(
                device, _SOURCE, small, large, arrays.search, word_of(_SEARCH, "size"),
                defines=WIDE_PATHS if is_wide else {},
            )  # fmt: skip
            device.launch(
                _SOURCE, "add_batch", blocks_for(count), THREADS, some, number, given,
                np.uint32(endpoints), total,
            )  # fmt: skip


def _most_parts(rows: Rows) -> int:
    """Parts of long rows at most: a row has less than twice the entries of whole ones."""
    return rows.num_entries // (_PART_ENTRIES // 2)


def _direction(device: Device, scratch: DeviceScratch, rows: Rows, room: int) -> Array:
    """``Direction``: rows, and the parts of the long ones, ``room`` of them at most."""
    parts, count = scratch.take(room, np.uint64), zeros(scratch, 1, np.uint32)
    device.launch(
        _SOURCE, "list_parts", blocks_for(rows.count), THREADS, rows.degree,
        np.uint64(rows.count), parts, count,
    )  # fmt: skip
    return np.array((fields(rows), address(parts), address(count)), dtype=_DIRECTION)

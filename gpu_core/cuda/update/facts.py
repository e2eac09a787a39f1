"""`FACTS`: the int64 record from which the launches of a batch are written.

It lies in `context.LaunchContext` and holds for many batches; what is of one batch is filled in
before its launches are written (`launched_batch.py`, `apply.py`), and some of it by the writer.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ...image.fields import Field, ImageTable, Shape
from ..device.packed_arguments import address, packer
from ..device.sorting.sorting import KERNELS as SORT_KERNELS
from ..memory.arena import DeviceArena
from ..memory.free_runs import KERNELS as RUN_KERNELS
from ..structs import DELTA, LISTS, PROPERTIES
from .modes import EXTENT

_SHAPE: Final = len(Shape._fields)

#: Kernels that are compiled for the entries of a direction, and the others.
DIRECTED_KERNELS: Final = (
    ("plan.cu", "plan_rows"), ("commit.cu", "commit_rows"),
    ("long_rows_plan.cu", "find_long"), ("long_rows_plan.cu", "search_long"),
    ("long_rows_plan.cu", "reopen_long"), ("long_rows_commit.cu", "commit_long"),
    ("few_rows.cu", "apply_few_rows"), ("commit.cu", "close_batch"),
    ("paged_plan.cu", "count_listed"), ("paged_plan.cu", "list_rows"),
    ("paged_plan.cu", "search_entries"), ("paged_plan.cu", "plan_listed"),
    ("paged_plan.cu", "plan_few_listed"), ("paged_settled.cu", "commit_settled"),
    ("paged_commit.cu", "place_rows"), ("paged_commit.cu", "stage_entries"),
    ("paged_commit.cu", "write_entries"), ("paged_commit.cu", "write_few_listed"),
)  # fmt: skip
PLAIN_KERNELS: Final = (
    *RUN_KERNELS,  # first, as `write_allocation` takes them
    ("vertices.cu", "clear_records"), ("vertices.cu", "enter_lists"),
    ("vertices.cu", "map_vertices"), ("dictionary.cu", "map_ids"),
    ("deltas.cu", "pack_lists"), ("deltas.cu", "merge_lists"),
    ("deltas.cu", "count_rows"), ("deltas.cu", "unpack_keys"), ("deltas.cu", "order_rows"),
    ("row_buckets.cu", "group_rows"), *SORT_KERNELS,
)  # fmt: skip
#: Number of the first kernel of a sort in `PLAIN_KERNELS`.
SORTING: Final = len(PLAIN_KERNELS) - len(SORT_KERNELS)

#: Words of a `DELTA` that its plan takes: its number, the last one.
DELTA_WORDS: Final = DELTA.words - 1


def directed_kernel(name: str) -> int:
    """Number of a kernel in `DIRECTED_KERNELS`: where its handle is in `KERNELS`."""
    return [kernel for _, kernel in DIRECTED_KERNELS].index(name)


def plain_kernel(name: str) -> int:
    """Number of a kernel in `PLAIN_KERNELS`: where its handle is in `KERNELS`."""
    return [kernel for _, kernel in PLAIN_KERNELS].index(name)


def _record(*fields: str | tuple[str, tuple[int, ...]]) -> np.dtype[np.void]:
    """Record of int64 words: fields of one word, and of arrays of them."""
    named = [(field, ()) if isinstance(field, str) else field for field in fields]
    return np.dtype([(name, np.int64, shape) for name, shape in named])


#: What holds of a graph until it expects other rows than before: `state.UpdateState`.
BOUNDS: Final = (
    # Whether inserting an edge creates its end points.
    "create_vertices",
    # With more tiles or runs than this: larger tiles, and the whole device looks for free runs.
    "most_tiles", "few_runs",
    # Rows of a batch that one launch may apply, at most.
    "few_rows",
    # Whether long rows are looked for, and words for old entries that are put aside.
    "long_expected", "staging_words",
    # Room of a delta on pages for rows, entries and old entries that are listed; before it, whether
    # this is so little that one block works on all of them.
    "lists_few", "listed_rows", "listed_entries", "listed_old_entries",
)  # fmt: skip
#: What is filled in for every batch, after `BOUNDS`.
CALL: Final = _record(
    *BOUNDS,
    # `modes.Mode`; the scratch that the launches take: first byte, and the byte after it.
    "mode", "scratch", "scratch_end",
    # Whether entries that are sorted may be partitioned into buckets: `key_buckets.Skew`.
    "in_buckets",
    # Vertex records before and after.
    "before", "after",
    # Address of the report, if these launches end the batch; else 0.
    "report",
    # Addresses of the runs that were allocated, where these launches do not; and of the pages
    # that came from the page queue, how many.
    "allocation", "taken", "recycled", "recycled_pages",
    # Left by the writer: how many deltas have entries; address of int64[CLASSES], runs to be
    # taken; what is provided for long rows: rows, tiles of entries, tiles of old entries.
    "deltas", "need", "long_rows", "entry_tiles", "old_tiles",
)  # fmt: skip
#: What follows from the image: `pack_image`; directions are ``out`` and ``in``.
IMAGE: Final = _record(
    # Address of the image, and the direction's `Shape`.
    ("shapes", (2, 1 + _SHAPE)),
    # The dictionary: address of its slots, how many, address of users' ids; 0 for dense ids.
    "slots", "slot_count", "ids",
    "tree", "geometry",
    # Classes that have a tree, and groups of words that the trees are searched by; address of what
    # the blocks that search them publish to one another.
    "trees", "tree_groups", "block_numbers",
    # Entries of an edge in the forward delta; whether puts carry properties.
    "entries_per_edge", "with_source",
    "multiprocessors",
    # Of a layout of pages: address of the page queue and its slots, a power of two; words of the
    # longest entry; entries of a page by direction, 0: rows lie on runs.
    "page_queue", "page_slots", "entry_words", ("page_entries", (2,)),
)  # fmt: skip
#: Handles of the kernels, and what they are compiled with: `kernels.UpdateKernels.pack`.
KERNELS: Final = _record(
    ("directed", (2, len(DIRECTED_KERNELS))),
    ("plain", (len(PLAIN_KERNELS),)),
    # Of each direction: LONG_DEGREE, LONG_ENTRIES, OLD_TILE.
    ("thresholds", (2, 3)),
    # Addresses of words that are 0 between launches: of sorts, and of others.
    "tickets",
    "ticket",
)
#: Extent of a batch, its lists as kernels take them, their row counts: `batch.DeviceBatch.facts`.
BATCH: Final = np.dtype([
    ("extent", EXTENT),
    ("lists", np.int64, (LISTS.words,)),
    ("row_counts", np.int64, (2,)),
    ("properties", np.int64, (PROPERTIES.words,)),
])  # fmt: skip
#: The lists by vertex index, and what deleted vertices add: by the writer, or `mapped.Mapped`.
MAPPED: Final = _record(
    ("lists", (LISTS.words,)),
    # Addresses: number of the row of each put and of each delete; row counts of both lists.
    ("entry_rows", (2,)), ("row_counts", (2,)),
    # Of each direction: addresses of rows and columns of dangling references, how many.
    ("dangling", (2, 3)),
    # Address of a flag for each vertex: its rows are cleared; 0: none.
    "clear",
    # Whether indices grow with users' ids over all that the batch names.
    "ordered",
)  # fmt: skip
#: Each delta: its direction (0 or 1), `DELTA` but for its number, and its entries.
DELTAS: Final = _record(("each", (2, 2 + DELTA_WORDS)))

#: All of them, one after the other.
FACTS: Final = np.dtype([
    ("call", CALL), ("image", IMAGE), ("kernels", KERNELS), ("batch", BATCH), ("mapped", MAPPED),
    ("deltas", DELTAS),
])  # fmt: skip

_MORE: Final = packer(*(IMAGE.names or ())[1:-1], "out", "in")


def pack_image(arena: DeviceArena) -> bytes:
    """`IMAGE` of an arena; the number of vertices in it may be an old one."""
    dense = bool(arena[Field.DENSE_IDS])
    tables = 0, 0, 0
    if not dense:
        slots, ids = ImageTable.DICTIONARY, ImageTable.VERTEX_IDS
        tables = arena.table_address(slots), arena.table_words(slots), arena.table_address(ids)
    pages = 0, 0, 0, 0, 0
    if arena.layout.is_paged:
        words = [arena.entry_words(direction) for direction in arena.directions()]
        entries = [arena.layout.page_entries(arena[Field.PAGE_WORDS], each) for each in words]
        queue = arena.table_address(ImageTable.PAGE_QUEUE), arena.table_words(ImageTable.PAGE_QUEUE)
        pages = *queue, max(words), entries[0], entries[-1]
    more = _MORE(
        *tables, address(arena.tree), address(arena.geometry), arena.trees, arena.tree_groups,
        address(arena.block_numbers), 1 if arena[Field.DIRECTED] else 2,
        arena[Field.ENTRY_WORDS] > 1, arena.device.multiprocessors, *pages,
    )  # fmt: skip
    return b"".join([arena.image_argument("out"), arena.image_argument("in"), more])

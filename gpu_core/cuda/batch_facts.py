"""What launches of a batch are written from: one record of facts, int64 words all of it.

Who packs them: `plan.py`, `arena.py`, `batch.py`, `half.py`; who reads them: `batch_launches.py`.
"""

from typing import Final

import numpy as np

from ..image import Shape
from .ways import NAMES

_SHAPE: Final = len(Shape._fields)

#: Words of ``Half`` (``rows.cuh``) but for its number.
HALF_WORDS: Final = 11
#: Words of ``Lists`` (``tiles.cuh``).
LISTS_WORDS: Final = 12
#: Words of ``Properties`` (``rows.cuh``).
PROPERTIES_WORDS: Final = 5

#: Kernels that are compiled for the entries of a direction, and the others.
DIRECTED_KERNELS: Final = (
    ("plan.cu", "plan_rows"), ("commit.cu", "commit_rows"),
    ("long_rows.cu", "find_long"), ("long_rows.cu", "search_long"),
    ("long_rows.cu", "reopen_long"), ("long_rows.cu", "commit_long"),
    ("few_rows.cu", "apply_few_rows"), ("few_rows.cu", "apply_cluster_of_rows"),
)  # fmt: skip
PLAIN_KERNELS: Final = (
    ("free_runs.cu", "serve_demand"), ("free_runs.cu", "serve_groups"),
    ("vertices.cu", "clear_records"), ("vertices.cu", "enter_lists"),
)  # fmt: skip
PLAN_ROWS, COMMIT_ROWS, FIND_LONG, SEARCH_LONG, REOPEN_LONG, COMMIT_LONG = range(6)
FEW_ROWS, CLUSTER_OF_ROWS = range(6, 8)
SERVE_DEMAND, SERVE_GROUPS, CLEAR_RECORDS, ENTER_LISTS = range(4)


def _record(*fields: str | tuple[str, tuple[int, ...]]) -> np.dtype[np.void]:
    """Record of int64 words: fields of one word, and of arrays of them."""
    named = [(field, ()) if isinstance(field, str) else field for field in fields]
    return np.dtype([(name, np.int64, shape) for name, shape in named])


#: What is said anew of every batch: `plan.write_list`.
CALL: Final = _record(
    # How many, and the scratch that the launches take: first byte, and the byte behind it.
    "halves", "scratch", "scratch_end",
    # Vertex records before and after.
    "before", "after",
    # Address of the report, if these launches end the batch; else 0.
    "report",
    # Addresses of the runs that were handed out, where these launches do not.
    "service", "taken",
    # With more tiles or runs than this: larger tiles, and the whole device looks for free runs.
    "most_tiles", "few_runs",
    # What is provided for long rows (`plan.LongRows`).
    "long_rows", "entry_tiles", "old_tiles", "staging_words",
)  # fmt: skip
#: What follows from the image: `arena.DeviceArena.facts`; directions are ``out`` and ``in``.
IMAGE: Final = _record(
    # Address of the image, and the direction's `Shape`.
    ("shapes", (2, 1 + _SHAPE)),
    "tree", "geometry",
    # Classes that have a tree, and groups of words that the trees are searched by; address of what
    # the blocks that search them tell one another.
    "trees", "tree_groups", "turns",
    # Entries of an edge in the forward half.
    "sides",
    "multiprocessors",
)  # fmt: skip
#: Handles of the kernels: `plan.kernels_of`.
KERNELS: Final = _record(
    ("directed", (2, len(DIRECTED_KERNELS))),
    ("plain", (len(PLAIN_KERNELS),)),
)
#: What a batch names, and its lists, as kernels take them: `batch.DeviceBatch.facts`.
BATCH: Final = np.dtype([
    ("names", NAMES),
    ("lists", np.int64, (LISTS_WORDS,)),
    ("properties", np.int64, (PROPERTIES_WORDS,)),
])  # fmt: skip
#: Each half: its direction (0 or 1), ``Half`` of the kernels, and its entries.
HALVES: Final = _record(("halves", (2, 2 + HALF_WORDS)))

#: The last two, of a batch whose lists are its only half: `batch.DeviceBatch.own_lists`.
OWN_LISTS: Final = np.dtype([("batch", BATCH), ("each", HALVES)])
#: All of them, one behind the other.
FACTS: Final = np.dtype(
    [("call", CALL), ("image", IMAGE), ("kernels", KERNELS), ("batch", BATCH), ("each", HALVES)]
)

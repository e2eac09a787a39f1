"""Constants and structures that Python modules and kernels share, declared once.

`device/compile.py` generates ``constants.cuh`` from this file and from `image/fields.py`.
`LONG_ROW`, `LISTED_ROW` and `LISTED_TOTALS` lie in device memory. All others are passed to a kernel
by value: their fields have 8 bytes, so that Python packs them as int64 words and nothing lies
between two of them.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from ..image.fields import CLASSES

# -- launches --------------------------------------------------------------------------------------

#: Threads of a block of the kernels that plan and write rows.
BLOCK: Final = 256
#: Threads of a block, and entries of a tile, of kernels that take a CSR by tiles.
TILE_THREADS: Final = 256
TILE_ITEMS: Final = 8
TILE_ENTRIES: Final = TILE_THREADS * TILE_ITEMS
#: Digits of a pass of the radix sort; a block has a thread for each.
DIGIT_BITS: Final = 8
DIGITS: Final = 1 << DIGIT_BITS
SORT_THREADS: Final = DIGITS
#: Blocks of a pass whose counts are summed up together.
GROUP_BLOCKS: Final = 16
#: Threads of a block that sorts a bucket of keys, and keys of the largest one.
BUCKET_THREADS: Final = 512
BUCKET_KEYS: Final = 9 * BUCKET_THREADS

# -- rows of a batch -------------------------------------------------------------------------------

#: Tiles of rows at most, of a batch.
MOST_TILES: Final = 2048
#: Entries of a batch that are a tile of a long row.
ENTRY_TILE: Final = BLOCK
#: Lengths that tests may set lower: macros of the kernels.
THRESHOLDS: Final = {"LONG_ENTRIES": 512, "OLD_TILE": 2048}
#: Entries of a batch's row up to which `unpack_keys` puts them in order: rows of more are long.
ORDERED_ENTRIES: Final = THRESHOLDS["LONG_ENTRIES"]

#: Entries of a tile, of rows on pages that are listed: few, so that a batch that lists little
#: still has more than one block at work.
LISTED_TILE: Final = 2 * BLOCK
#: Listed rows up to which one block works on all of them.
FEW_LISTED: Final = 2 * BLOCK

#: How `commit_rows` stands to other launches: beside the one before, or the next one beside it.
RUNS_BESIDE: Final = 1
LEADS: Final = 2

# -- free runs -------------------------------------------------------------------------------------

#: Cuts of runs that one demand may ask for.
MOST_CUTS: Final = 640
#: int64 words of an allocation: four a class, then the list of cuts.
CUTS_AT: Final = 4 * CLASSES
ALLOCATION_WORDS: Final = 2048
#: Words of the lowest level of a tree that a block of `allocate_groups` takes.
GROUP_WORDS: Final = 1024


class Struct(NamedTuple):
    """A structure of the kernels: its fields in their order, as C declares them."""

    name: str
    fields: tuple[tuple[str, str], ...]
    template: str = ""

    @property
    def nbytes(self) -> int:
        """Its size, nothing lying between two fields, as a ``static_assert`` checks."""
        return sum(map(_bytes_of, self.fields))

    @property
    def words(self) -> int:
        """Number of its fields: its size in 8-byte words, if it is passed by value."""
        return len(self.fields)

    def at(self, name: str) -> int:
        """Word of a field."""
        return [field for _, field in self.fields].index(name)

    @property
    def pack(self) -> Callable[..., bytes]:
        """Function that packs its fields, one integer each, in their order."""
        return struct.Struct(f"{self.words}q").pack

    @property
    def source(self) -> str:
        """Its declaration."""
        lines = [self.template] if self.template else []
        lines += [f"struct {self.name} {{", *(f"    {kind} {name};" for kind, name in self.fields)]
        return "\n".join([*lines, "};"])


def _bytes_of(field: tuple[str, str]) -> int:
    """Size of a field; a name like ``tally[5]`` is that of an array."""
    kind, name = field
    item = 4 if kind == "u32" else 8
    return item * int(name.rstrip("]").partition("[")[2] or 1)


#: Puts and deletes of a batch, CSRs both, and vertices to put. Ids are vertex indices or users'
#: ids; ``…_rows`` of 0: kernels that say so take the numbers of the rows.
LISTS: Final = Struct(
    "Lists",
    (
        ("const Id*", "put_rows"), ("const u32*", "put_indptr"), ("i64", "put_row_count"),
        ("const Id*", "put_columns"), ("i64", "puts"),
        ("const Id*", "delete_rows"), ("const u32*", "delete_indptr"), ("i64", "delete_row_count"),
        ("const Id*", "delete_columns"), ("i64", "deletes"),
        ("const Id*", "put_vertices"), ("i64", "vertices"),
    ),
    "template <class Id>",
)  # fmt: skip

#: What puts carry, by their numbers; 0: no such property. ``first`` and ``last``: two words a put,
#: low word first; ``reset``: the first time is reset.
PROPERTIES: Final = Struct(
    "Properties",
    (
        ("const u32*", "weight"), ("const u32*", "type"), ("const u32*", "first"),
        ("const u32*", "last"), ("const u8*", "reset"),
    ),
)  # fmt: skip

#: Entries of a batch for one direction: rows of distinct vertices, as many as ``row_count`` says,
#: at most ``max_rows``; entries sorted by (column, kind) within a row. ``kinds`` 0: all are
#: ``kind``; ``source``: number of the put of each entry, 0: the entry's own number; ``clear``: of
#: each vertex, whether its row is cleared, 0: none is; ``puts``, ``deletes``: whether there may be
#: puts, and deletes or dangling references; ``number`` 0: the first, which the report counts.
DELTA: Final = Struct(
    "Delta",
    (
        ("const u32*", "rows"), ("const u32*", "indptr"), ("const u32*", "row_count"),
        ("const u32*", "columns"), ("const u8*", "kinds"), ("const u32*", "source"),
        ("const u8*", "clear"), ("i64", "max_rows"), ("i64", "kind"), ("i64", "puts"),
        ("i64", "deletes"), ("i64", "number"),
    ),
)  # fmt: skip

#: A row too long for one group of lanes, listed by `find_long`: where it begins in the delta, what
#: its record said, its tiles of entries (a large row has none) and of old entries, how many tiles
#: of entries were searched, and the first word of its old entries in the staging.
LONG_ROW: Final = Struct(
    "LongRow",
    (
        ("u32", "delta"), ("u32", "row"), ("u32", "begin"), ("u32", "count"), ("u32", "degree"),
        ("u32", "clear"), ("u32", "tiles"), ("u32", "tile_at"), ("u32", "old_at"), ("u32", "done"),
        ("i64", "staging"), ("u32", "vertex"), ("u32", "first"), ("u32", "room"), ("u32", "unused"),
    ),
)  # fmt: skip

#: What is known of a delta before anything is written. ``words``: plan word of each row;
#: ``counts``, [CLASSES][stride]: rows that outgrow their run, by tile of 2^tile_shift rows, then
#: those before it; ``need``, [CLASSES]: runs to be taken; ``first_tile`` of this delta, ``tiles``
#: of all. Then of long rows, 0 where none are expected: the long row of each tile; ``tile_sums``:
#: sum of the changes over the row's tiles before; of long rows alone, ``after``: degree after, or
#: MERGED_IN_BLOCK, and of their entries position, sum of the changes before within the tile, and
#: code; ``staging``: old entries of those that stay in place.
PLAN: Final = Struct(
    "Plan",
    (
        ("u32*", "words"), ("u32*", "counts"), ("i64*", "need"), ("i64", "tile_shift"),
        ("i64", "first_tile"), ("i64", "tiles"), ("i64", "stride"),
        ("LongRow*", "long_rows"), ("u32*", "entry_tiles"), ("u32*", "old_tiles"),
        ("i32*", "tile_sums"), ("u32*", "after"), ("u32*", "positions"), ("i32*", "sums"),
        ("u8*", "codes"), ("u32*", "staging"), ("i64", "staging_words"),
    ),
)  # fmt: skip

#: A listed row of a delta on pages: its vertex, its entries in the delta, its degree before and
#: after, whether it is cleared; ``start``: old entries before this one stay as they are; where its
#: old pages, its entries, new pages and pages that it leaves are among those of all listed rows
#: (``grown_at``, ``freed_at``: of its tile first).
LISTED_ROW: Final = Struct(
    "ListedRow",
    (
        ("u32", "vertex"), ("u32", "begin"), ("u32", "count"), ("u32", "degree"), ("u32", "clear"),
        ("u32", "after"), ("u32", "start"), ("u32", "page_at"), ("u32", "entry_at"),
        ("u32", "grown_at"), ("u32", "freed_at"), ("u32", "unused"),
    ),
)  # fmt: skip

#: Of the listed rows of a delta: how many, their entries, old entries and pages; pages to be taken
#: and pages that are left; old entries that may move; the tally of entries, as in the header; rows
#: that moved, were appended to, were merged.
LISTED_TOTALS: Final = Struct(
    "ListedTotals",
    (
        ("i64", "rows"), ("i64", "entries"), ("i64", "old_entries"), ("i64", "pages"),
        ("i64", "grown"), ("i64", "freed"), ("i64", "staged"), ("i64", "tally[5]"),
        ("i64", "fates[3]"), ("i64", "unused"),
    ),
)  # fmt: skip

#: What is known of a delta on pages before anything is written. ``totals``, one a delta;
#: ``is_listed``: a bit for each row of the delta, whole blocks of rows; ``rows``; ``entry_at``,
#: ``staged_at``, one more than rows: entries and staged entries of the rows before; ``pages`` of
#: each row as they lie before the batch; of each entry ``marks``, position << CODE_BITS | code, and
#: ``sums``, of changes over the tile's entries before; ``tile_sums``, over the tiles before;
#: ``row_sums``, [4][row_tiles]; ``staging``, [ENTRY_WORDS][old_room]: planes of old entries.
#: ``tile_rows`` is a multiple of BLOCK; then how many rows, entries and old entries there is room
#: for.
LISTED_PLAN: Final = Struct(
    "ListedPlan",
    (
        ("ListedTotals*", "totals"), ("u32*", "is_listed"), ("ListedRow*", "rows"),
        ("u32*", "entry_at"), ("i64*", "staged_at"), ("u32*", "pages"), ("u32*", "marks"),
        ("i32*", "sums"), ("i64*", "tile_sums"), ("i64*", "row_sums"), ("u32*", "staging"),
        ("i64", "row_tiles"), ("i64", "tile_rows"), ("i64", "rows_room"), ("i64", "entries_room"),
        ("i64", "old_room"),
    ),
)  # fmt: skip

#: What the ``last`` plan of a batch on pages finds out: ``need`` as in `PLAN`, beyond the
#: ``queued`` pages of the page queue, which has ``queue_words`` slots.
PAGES_TO_TAKE: Final = Struct(
    "PagesToTake",
    (("i64*", "need"), ("i64", "queued"), ("i64", "queue_words"), ("i64", "last")),
)

#: The page queue that rows leave their pages to: its slots, their number less 1, where the next
#: page goes; ``pops``: whether the pages that the batch took are still to be taken off its front,
#: which the ``last`` delta does.
PAGE_QUEUE: Final = Struct(
    "PageQueue",
    (("u32*", "pages"), ("i64", "mask"), ("i64", "back"), ("i64", "pops"), ("i64", "last")),
)

#: Pages allocated for a batch, in the order of their ranks: ``queue[(front + rank) & mask]`` for
#: ranks below ``queued``, then runs of class 0 as `run_of_rank` takes them.
TAKEN_PAGES: Final = Struct(
    "TakenPages",
    (
        ("const u32*", "queue"), ("i64", "mask"), ("i64", "front"), ("i64", "queued"),
        ("const i64*", "allocation"), ("const u32*", "taken"),
    ),
)  # fmt: skip

STRUCTS: Final = (
    LISTS, PROPERTIES, DELTA, LONG_ROW, PLAN, LISTED_ROW, LISTED_TOTALS, LISTED_PLAN, PAGES_TO_TAKE,
    PAGE_QUEUE, TAKEN_PAGES,
)  # fmt: skip

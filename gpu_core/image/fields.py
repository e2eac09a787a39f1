"""Numbers of the arena image: fields, sizes, sentinels. The one source of truth for every engine.

::

    | header | vertex table ►      free      ◄ pages | scratch |

The image is one array of 32-bit words. Vertex records grow from the bottom, pages from the top of
the page area (aimGraph); page ``p`` lies at ``page_end - (p + 1) * page_words``, so vertices and
pages share what is free between them. A *run* is ``2**c`` pages whose first page is a multiple of
``2**c``; ``c`` is its size class, and its words start at the address of its **last** page.

Everything that lives long lies on runs: adjacencies, and the *tables* below. Header fields are
int64, two words each. Nothing here touches memory: arithmetic and names only.
"""

from enum import IntEnum
from typing import Final, NamedTuple

WORD_BYTES: Final = 4
MIN_PAGE_BYTES: Final = 16
MAX_PAGE_BYTES: Final = 4096

#: "No page", "no vertex index", "free dictionary slot".
NONE: Final = 0xFFFFFFFF

#: Vertex records an image can have: two indices and the kind of an entry fit one 64-bit sort key,
#: and positions of vertices fit the int32 indices of a `CsrSnapshot`.
MAX_VERTICES: Final = 1 << 31

#: Size classes a run can have: 2**0 … 2**31 pages.
CLASSES: Final = 32

MAGIC: Final = 0x6772617068746964  # "graphtid"
VERSION: Final = 1


def even(words: int) -> int:
    """Round up to an even number of words, so that int64 items are aligned."""
    return words + (words & 1)


class Field(IntEnum):
    """Header fields, in int64 units from the start of the image."""

    MAGIC = 0
    VERSION = 1
    #: Total words of the image.
    IMAGE_WORDS = 2
    #: Word where the vertex table begins.
    VERTEX_BASE = 3
    #: Words of one vertex record.
    VERTEX_WORDS = 4
    #: Vertex records in use: indices below it are alive or wait in the vertex queue.
    VERTEX_COUNT = 5
    #: Word after the page area; the scratch stack begins here.
    PAGE_END = 6
    PAGE_WORDS = 7
    #: Pages allocated from the top so far; pages from here on were never used.
    PAGE_BUMP = 8
    #: Pages below the bump mark that hold nothing.
    PAGES_FREE = 9
    #: Vertices and edges of the graph (an undirected edge counts once).
    NUM_VERTICES = 10
    NUM_EDGES = 11
    #: Settings that define the image.
    DIRECTED = 12
    LAYOUT = 13
    #: Words of an entry, forward and reverse; 0 where there is no reverse adjacency.
    ENTRY_WORDS = 14
    REVERSE_ENTRY_WORDS = 15
    #: 1: structure of arrays within a block, 0: array of structures.
    SOA = 16
    #: 1: users' ids are vertex indices, 0: through the dictionary.
    DENSE_IDS = 17
    #: Vertex queue (ring of freed indices): both only grow, ``& (capacity - 1)`` finds the slot.
    VERTEX_QUEUE_FRONT = 18
    VERTEX_QUEUE_BACK = 19
    #: Page queue of layouts of pages, likewise.
    PAGE_QUEUE_FRONT = 20
    PAGE_QUEUE_BACK = 21
    #: Slots of the dictionary that are taken.
    DICTIONARY_USED = 22
    #: Batches applied since the image was made.
    BATCHES = 23
    #: First of the tables: see `ImageTable`.
    TABLES = 24


class ImageTable(IntEnum):
    """Long-lived tables on runs; table ``t`` has two header fields, from ``Field.TABLES + 2 * t``.

    The fields are the first page of its run (`NONE`: no run yet) and the run's size class.
    """

    #: Bit trees of free runs (`image/free_runs.py`).
    FREE_TREE = 0
    #: int64 users' id of each vertex index.
    VERTEX_IDS = 1
    #: uint32 vertex index in each dictionary slot.
    DICTIONARY = 2
    #: uint32 freed vertex indices.
    VERTEX_QUEUE = 3
    #: uint32 freed pages of layouts of pages.
    PAGE_QUEUE = 4


class BatchField(IntEnum):
    """Header fields of the batch being applied by the `cuda` engine; all 0 between batches.

    Kernels add to them and the host reads them back once a batch, with the rest of the header.
    """

    #: What became of the batch so far: a `BatchStatus`.
    STATUS = 40
    #: Entries of one delta by what became of them (`host/update/tally.py: Tally`).
    ADDED = 41
    FOUND_PUTS = 42
    FOUND_DELETES = 43
    REMOVED = 44
    REPLACED = 45
    #: Vertices that the batch puts and that were not there, where kernels find them.
    CREATED = 47
    #: Bytes of scratch that `BatchStatus.NEEDS_SCRATCH` demands.
    SCRATCH_BYTES = 52
    #: Rows too long for one group of lanes, and the tiles that they are cut into.
    LONG_ROWS = 53
    LONG_TILES = 54
    #: Rows of all deltas by what became of them (`host/update/tally.py: Tally`).
    MOVED_ROWS = 55
    APPENDED_ROWS = 56
    MERGED_ROWS = 57
    #: Eight uint32 counters by which a kernel's last block detects that it is the last; it resets
    #: them.
    TICKETS = 60


class BatchStatus(IntEnum):
    """Why kernels left the image as it was; a kernel that changes it goes on at ``OK`` only."""

    OK = 0
    #: An id is not in the dictionary: the host maps the ids of the batch.
    UNKNOWN_IDS = 1
    #: A run must be split, buddies merged, or the image rebuilt: the host decides.
    NEEDS_HOST = 2
    #: More scratch is needed than was taken: see ``BatchField.SCRATCH_BYTES``.
    NEEDS_SCRATCH = 3
    #: A bucket of rows has more entries than a block sorts: the batch is sorted without buckets.
    OVERFULL = 4


#: Kinds of an entry of a batch: the neighbor is deleted, the edge is deleted, the edge is put;
#: applied in this order.
KIND_DANGLING: Final = 0
KIND_DELETE: Final = 1
KIND_PUT: Final = 2

HEADER_FIELDS: Final = 64
HEADER_WORDS: Final = 2 * HEADER_FIELDS

#: Words of a vertex record: state, then (first page, degree) forward and reverse.
STATE_WORD: Final = 0
OUT_FIRST_WORD: Final = 1
OUT_DEGREE_WORD: Final = 2
IN_FIRST_WORD: Final = 3
IN_DEGREE_WORD: Final = 4

#: Bits of the state word: the vertex is in the graph; size class + 1 of its runs, 0 = no run.
PRESENT_BIT: Final = 1
OUT_CLASS_SHIFT: Final = 8
IN_CLASS_SHIFT: Final = 16
CLASS_MASK: Final = 0xFF


class Shape(NamedTuple):
    """Parameters of one direction's adjacencies in the image, for kernels.

    A tuple of numbers, not an array: compiled code keeps it in registers.
    """

    #: ``Layout.code``.
    layout: int
    vertex_base: int
    vertex_words: int
    vertex_count: int
    #: Words of first page and degree within a vertex record.
    first_word: int
    degree_word: int
    #: Bit position of the size class in the state word.
    class_shift: int
    page_end: int
    page_words: int
    entry_words: int
    #: 1: structure of arrays within a segment, 0: array of structures.
    soa: int

    @property
    def entry_step(self) -> int:
        """Words from one entry of a run to the next."""
        return 1 if self.soa else self.entry_words

    @property
    def in_pairs(self) -> bool:
        """Whether rows on runs may be read two entries at a time, as `Rows.in_pairs` says."""
        # Words of an image are in pairs; a run of an odd number of them would not be.
        return self.soa == 1 and self.page_end % 2 == 0 and self.page_words % 2 == 0

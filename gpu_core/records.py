"""Edge records: which properties an edge carries, and in which 32-bit words of its entry.

Word 0 of every entry is the neighbour's vertex index. The words are the same in both storages:
structure of arrays (``soa``) and array of structures (``aos``) differ only in the distance between
the words of one entry and in the distance between the entries of one block (``image.Shape``).

===========  ===============================================================  =====
record       words                                                            total
===========  ===============================================================  =====
``simple``   neighbour                                                            1
``weighted`` neighbour, weight float32                                            2
``semantic`` neighbour, weight, type int32, first int64, last int64               7
===========  ===============================================================  =====

The reverse adjacency holds the neighbour, and the weight where there are weights.

Source: the thesis' simple, weighted and semantic modes (Winter 2017, papers/000).
"""

from dataclasses import dataclass

from .errors import SettingsError

#: Word of each property within an entry; int64 properties take two words, low word first.
WEIGHT_WORD = 1
TYPE_WORD = 2
FIRST_WORD = 3
LAST_WORD = 5


@dataclass(frozen=True)
class Record:
    """One kind of edge record."""

    #: ``simple``, ``weighted`` or ``semantic``.
    name: str
    #: 32-bit words of an entry of the adjacency.
    words: int
    #: 32-bit words of an entry of the reverse adjacency.
    reverse_words: int
    #: Property columns, in the order of their words.
    properties: tuple[str, ...]

    @property
    def has_weight(self) -> bool:
        """Whether an edge carries a weight."""
        return "weight" in self.properties

    @property
    def has_times(self) -> bool:
        """Whether an edge carries a type, a first and a last time."""
        return "first" in self.properties


RECORDS = {
    record.name: record
    for record in (
        Record("simple", 1, 1, ()),
        Record("weighted", 2, 2, ("weight",)),
        Record("semantic", 7, 2, ("weight", "type", "first", "last")),
    )
}

#: NumPy dtype of each property column, as batches, snapshots and exports carry it.
PROPERTY_DTYPES = {"weight": "float32", "type": "int32", "first": "int64", "last": "int64"}

STORAGES = ("soa", "aos")


def record_named(name: str) -> Record:
    """Look up a record by name; `SettingsError` names the ones there are."""
    try:
        return RECORDS[name]
    except KeyError:
        msg = f"records={name!r} is unknown; use one of {', '.join(RECORDS)}"
        raise SettingsError(msg) from None

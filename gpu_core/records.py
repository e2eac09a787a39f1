"""Edge records: which properties an edge carries, and in which 32-bit words of its entry.

Word 0 of every entry is the neighbor's vertex index. The words are the same in both storages:
structure of arrays (``soa``) and array of structures (``aos``) differ only in the distance between
the words of one entry and in the distance between the entries of one block (``image.Shape``).

==============  ============================================================  =====
record          words                                                         total
==============  ============================================================  =====
``simple``      neighbor                                                          1
``weighted``    neighbor, weight float32                                          2
``weighted64``  neighbor, low word of weight float64, its high word               3
``semantic``    neighbor, weight, type int32, first int64, last int64             7
``semantic64``  neighbor, low word of weight, type, first, last, its high word    8
==============  ============================================================  =====

The reverse adjacency holds the neighbor, and the weight where there are weights. The high word of a
float64 weight is the last one of its entry, so all other words are where they are without it.

Source: the thesis' simple, weighted and semantic modes (Winter 2017, papers/000).
"""

from dataclasses import dataclass
from enum import IntEnum

from .choices import one_of
from .errors import SettingsError

#: Word of each property within an entry; int64 properties take two words, low word first.
WEIGHT_WORD = 1
TYPE_WORD = 2
FIRST_WORD = 3
LAST_WORD = 5


@dataclass(frozen=True)
class Record:
    """One kind of edge record."""

    #: ``simple``, ``weighted``, ``semantic``, ``weighted64`` or ``semantic64``.
    name: str
    #: 32-bit words of an entry of the adjacency.
    words: int
    #: 32-bit words of an entry of the reverse adjacency.
    reverse_words: int
    #: Property columns, in their canonical order.
    properties: tuple[str, ...]
    #: ``float32`` or ``float64``; None: there are no weights.
    weights: str | None

    @property
    def has_weight(self) -> bool:
        """Whether an edge carries a weight."""
        return self.weights is not None

    @property
    def has_times(self) -> bool:
        """Whether an edge carries a type, a first and a last time."""
        return "first" in self.properties

    @property
    def dtypes(self) -> dict[str, str]:
        """NumPy type of each property column, as batches, snapshots and exports carry it."""
        all_of_them = {"weight": str(self.weights), **_DTYPES}
        return {name: all_of_them[name] for name in self.properties}

    def words_of(self, name: str) -> tuple[int, ...]:
        """Words of a property in an entry of the adjacency, low word first."""
        low = _WORDS[name]
        if name == "weight":
            return (low, self.words - 1) if self.weights == "float64" else (low,)
        return (low,) if name == "type" else (low, low + 1)


_WORDS = {"weight": WEIGHT_WORD, "type": TYPE_WORD, "first": FIRST_WORD, "last": LAST_WORD}
_DTYPES = {"type": "int32", "first": "int64", "last": "int64"}

RECORDS = {
    record.name: record
    for record in (
        Record("simple", 1, 1, (), None),
        Record("weighted", 2, 2, ("weight",), "float32"),
        Record("semantic", 7, 2, ("weight", "type", "first", "last"), "float32"),
        Record("weighted64", 3, 3, ("weight",), "float64"),
        Record("semantic64", 8, 3, ("weight", "type", "first", "last"), "float64"),
    )
}

#: Words of entries, of either direction, that have a float64 weight.
WIDE_WORDS = tuple(
    sorted(
        {n for r in RECORDS.values() if r.weights == "float64" for n in (r.words, r.reverse_words)}
    )
)

WEIGHTS = ("float32", "float64")


def weights_of_entry(words: int) -> str:
    """``float32`` or ``float64``: type of the weight of an entry of ``words`` words."""
    return "float64" if words in WIDE_WORDS else "float32"


class OnRepeat(IntEnum):
    """Which weight an edge has that was inserted again: ``batch/net_effect/repeats.py``."""

    LAST = 0
    SUM = 1
    MIN = 2
    MAX = 3
    COUNT = 4
    FIRST = 5


#: Their names, as settings have them.
ON_REPEAT = tuple(rule.name.lower() for rule in OnRepeat)

#: Properties that are times.
TIME_PROPERTIES = ("first", "last")

STORAGES = ("soa", "aos")


def record_named(name: str, weights: str | None = None) -> Record:
    """Look up a record.

    Parameters
    ----------
    name
        Of the record.
    weights
        ``float32`` or ``float64``: what its weights are to be; None: as the name says.

    Raises
    ------
    SettingsError
        There is no such record.
    """
    one_of("records", name, RECORDS)
    if weights is not None:
        one_of("weights", weights, WEIGHTS)
    record = RECORDS[name]
    if weights == "float64" and record.weights != "float64":
        wide = RECORDS.get(f"{name}64")
        if wide is None:
            msg = f"weights='float64', but {name} records keep no weights; use records='weighted'"
            raise SettingsError(msg)
        return wide
    if weights == "float32" and record.weights == "float64":
        msg = f"weights='float32' contradicts records={name!r}; leave one of them out"
        raise SettingsError(msg)
    return record

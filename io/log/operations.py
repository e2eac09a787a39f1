"""The words of a log that mean insert and delete.

Numbers: 1 inserts; -1 and 0 delete. Booleans: true inserts. Words are compared in small letters;
a log may have others, which the settings ``op_insert`` and ``op_delete`` name.

Not here: columns of operations that are numbers, and the rows of a log that have an unknown word
(``conversion.py``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

#: Words that every log may have.
INSERT_WORDS = ("insert", "add", "i", "a", "+", "1", "+1", "true")
DELETE_WORDS = ("delete", "remove", "d", "-", "-1", "0", "false")


@dataclass(frozen=True)
class Operations:
    """The words of one log: those that every log may have, and before them its own."""

    insert: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()

    @classmethod
    def of_reading(cls, reading: Mapping[str, Sequence[str]]) -> "Operations":
        """Those of ``op_insert`` and ``op_delete``, where they are set."""
        return cls(tuple(reading.get("op_insert", ())), tuple(reading.get("op_delete", ())))

    @property
    def words(self) -> dict[str, int]:
        """Word in small letters -> 1 or -1."""
        return {
            **dict.fromkeys(INSERT_WORDS, 1),
            **dict.fromkeys(DELETE_WORDS, -1),
            **{word.lower(): 1 for word in self.insert},
            **{word.lower(): -1 for word in self.delete},
        }

    def kinds(self, words: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int8]:
        """Each word as 1 or -1; 0 where it is null or unknown."""
        known = self.words
        encoded = words.cast(pa.string()).dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
        # A column has few different ones. Python makes their letters small, as it does those of
        # settings: Arrow has other small letters for some.
        kinds = [known.get(word_shown(each).lower(), 0) for each in encoded.dictionary]
        places = pc.fill_null(encoded.indices, len(kinds)).to_numpy()
        return np.array([*kinds, 0], np.int8)[places]

    @property
    def described(self) -> str:
        """Advice of a message on what to write."""
        own = [*self.insert, *self.delete]
        return "insert or delete, or 1 or -1" + "".join(f", or {word}" for word in own)


#: The words that every log may have, and no others.
USUAL = Operations()


def word_shown(word: pa.Scalar) -> str:
    """A word of a column, also where its bytes are no UTF-8; ``null`` where there is none."""
    if pa.types.is_dictionary(word.type):
        word = word.value
    if not word.is_valid:
        return "null"
    return bytes(word.as_buffer()).decode(errors="backslashreplace")

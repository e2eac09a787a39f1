"""NumberedBatch: an `UpdateBatch` of names that holds their numbers until keys are needed.

A graph finds the vertex of each name of a batch once, and has those of all ids by their numbers
(``host/update/map_ids.py``); and a number takes half of the room of a key on the way there. Code
that reads ids, as of any batch, gets keys: they are made then, and kept.

Not here: what rows come to (`net_effect/row_effect.py`); names under other keys than their own,
which need a batch of keys (`renamed.py`).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..jit.arrays import readonly
from ..kind import RowMeaning
from .net_effect.named_rows import IDS
from .update_batch import UpdateBatch


class NumberedBatch(UpdateBatch):
    """As an `UpdateBatch`, made by `of_rows` alone."""

    _is_numbered = True

    #: Field -> int[n], each a number of one of ``names``; None: the fields have the keys.
    numbers: dict[str, npt.NDArray[Any]] | None = None

    @classmethod
    def _of_effect(cls, effect: dict[str, Any], meaning: RowMeaning) -> Self:
        numbers = {name: effect.pop(name) for name in IDS}
        return super()._of_effect({**effect, "numbers": numbers}, meaning)

    def __getattr__(self, name: str) -> npt.NDArray[np.int64]:
        """Keys of a field that is numbers."""
        numbers = self.__dict__.get("numbers")
        if numbers is None or name not in numbers:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)
        assert self.names is not None
        keys = readonly(self.names.keys[numbers[name]])
        self.__dict__[name] = keys
        return keys

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays: what a transfer moves."""
        return super().nbytes + sum(array.nbytes for array in (self.numbers or {}).values())

    def _freeze(self) -> None:
        super()._freeze()
        if self.numbers is not None:
            frozen = {name: readonly(array) for name, array in self.numbers.items()}
            self.__dict__["numbers"] = frozen

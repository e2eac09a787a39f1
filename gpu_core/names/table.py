"""Names: all names of a graph and their keys; exact also where hashes collide.

A name's key is the hash of its bytes (`hashing.py`), unless another name came with that key
before: then it is *displaced* to another key, which the table keeps from then on. Batches are taken
in their order, so the same log comes to the same keys, and displaced names concern this table
alone: a batch that has one under its hash gets its key from `Names.take`.

The table is cut into shards (`shard.py`) by the upper bits of the keys, which threads work on side
by side.

Names stay as long as the table does, also those of deleted vertices: a name that comes back has the
key that it had. `Names.nbytes` are what they take: 30 to 40 bytes each and their own.

Not here: names of one batch (`distinct.py`), and text (`user_ids.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import CorruptImageError
from ..jit.arrays import readonly
from ..jit.forked_locks import refuse_if_lost
from ..jit.parallel import run_all
from .distinct import BatchNames
from .hashing import ALL_BITS, NO_KEY, keys_of, other_keys
from .shard import (
    KNOWN,
    NEW,
    SHARD_BITS,
    TAKEN,
    Shard,
    find,
    list_names,
    look_up,
    read_names,
)
from .strings import Strings
from .words import SLACK

Int64s = npt.NDArray[np.int64]
Arrays = Mapping[str, npt.NDArray[Any]]

_SHARDS = 1 << SHARD_BITS


class Mark(NamedTuple):
    """Fill of a table at one moment."""

    #: Names of each shard, and words of its heap in use.
    counts: tuple[int, ...]
    words: tuple[int, ...]


class Names:
    """All names of a graph; methods may be called from several threads.

    Parameters
    ----------
    bits
        Of a hash, see `hashing.py`.
    """

    def __init__(self, bits: int = ALL_BITS) -> None:
        self.bits = bits
        self._shards = [Shard() for _ in range(_SHARDS)]
        #: Name -> its key, of displaced names.
        self._displaced: dict[bytes, int] = {}
        self._lock: Any = threading.Lock()
        refuse_if_lost(self, "_lock")

    def __len__(self) -> int:
        return sum(shard.count for shard in self._shards)

    @property
    def nbytes(self) -> int:
        """Bytes of all shards."""
        return sum(shard.nbytes for shard in self._shards)

    def take(self, names: BatchNames) -> dict[int, int]:
        """Enter the names of a batch, which is the next one in order.

        Returns
        -------
        dict
            Key in the batch -> key that the graph knows this name by, where they differ: only
            where names collide. No two names of the batch get the same one.
        """
        with self._lock:
            states = self._look_up(names.keys, names.strings)
            states[names.displaced] = TAKEN
            if self._displaced:
                # Where some names were left out of a copy, the key of one of these may be free.
                own = keys_of(Strings.of(list(self._displaced)), self.bits)
                states[np.isin(names.keys, own)] = TAKEN
            new = states == NEW
            if new.any():
                self._enter(names, new)
            odd = np.flatnonzero(states == TAKEN)
            return self._placed(names, odd) if odd.size else {}

    def _placed(self, names: BatchNames, odd: Int64s) -> dict[int, int]:
        """Find or enter names whose hash is another's, one by one; as `take`."""
        moved: dict[int, int] = {}
        own = keys_of(names.strings.take(odd), self.bits).tolist()
        for at, key in zip(odd.tolist(), own, strict=True):
            name = names.strings[at]
            found = self._displaced.get(name)
            if found is None:
                found = key
                state = self._state(key, name)
                if state == TAKEN:
                    found = next(k for k in other_keys(name) if self._state(k, name) == NEW)
                    self._displaced[name] = found
                if state != KNOWN:
                    self._enter_one(found, name)
            if found != int(names.keys[at]):
                moved[int(names.keys[at])] = found
        return moved

    def keys(self, strings: Strings) -> Int64s:
        """int64[n]: the key of each name; `NO_KEY` of one that the graph never had."""
        keys = keys_of(strings, self.bits)
        order = np.argsort(keys, kind="stable")
        with self._lock:
            states = np.empty(keys.size, np.int8)
            states[order] = self._look_up(keys[order], strings.take(order))
            for at in np.flatnonzero(states != KNOWN).tolist():
                keys[at] = self._displaced.get(strings[at], NO_KEY) if self._displaced else NO_KEY
        return keys

    def strings(self, keys: Int64s) -> Strings:
        """Names of keys that are in the table.

        Raises
        ------
        CorruptImageError
            One is not.
        """
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            positions = np.empty_like(order)
            positions[order] = np.arange(order.size)
            return self.strings(keys[order]).take(positions)
        keys = readonly(keys)
        with self._lock:
            positions = np.empty(keys.size, np.int64)
            starts = np.zeros(keys.size + 1, np.int64)
            runs = list(self._runs(keys))
            for shard, low, high in runs:
                find(low, high, keys, shard.slots, shard.heap, positions, starts)
            if keys.size and positions.min() == 0:
                msg = f"key {keys[positions.argmin()]} has no name; restore the graph"
                raise CorruptImageError(msg)
            np.cumsum(starts, out=starts)
            data = np.empty(int(starts[-1]) + SLACK, np.uint8)
            for shard, low, high in runs:
                read_names(low, high, shard.heap, positions, starts, data)
        return Strings(starts, data[:-SLACK])

    # -- copies ------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Remember how far the table is filled."""
        with self._lock:
            return Mark(
                tuple(shard.count for shard in self._shards),
                tuple(shard.words for shard in self._shards),
            )

    def arrays(self, mark: Mark | None = None) -> dict[str, npt.NDArray[Any]]:
        """All names up to a mark, as a checkpoint keeps them.

        Returns
        -------
        dict of arrays
            ``name_keys`` int64[n], ``name_starts`` int64[n + 1], ``name_bytes`` uint8, in the
            order of the shards and therein in that in which they came.
        """
        mark = mark or self.mark()
        keys = np.empty(sum(mark.counts), np.int64)
        starts = np.zeros(keys.size + 1, np.int64)
        positions = np.empty(keys.size, np.int64)
        with self._lock:
            before = 0
            ends = np.cumsum(mark.counts).tolist()
            for shard, words, end in zip(self._shards, mark.words, ends, strict=True):
                list_names(shard.heap, words, before, keys, positions, starts)
                before = end
            np.cumsum(starts, out=starts)
            data = np.empty(int(starts[-1]) + SLACK, np.uint8)
            before = 0
            for shard, end in zip(self._shards, ends, strict=True):
                read_names(before, end, shard.heap, positions, starts, data)
                before = end
        return {"name_keys": keys, "name_starts": starts, "name_bytes": data[:-SLACK]}

    @classmethod
    def of(cls, arrays: Arrays, bits: int = ALL_BITS) -> Names:
        """Make the table that `arrays` described."""
        names = cls(bits)
        keys = np.ascontiguousarray(arrays["name_keys"], np.int64)
        strings = Strings(arrays["name_starts"], arrays["name_bytes"])
        order = np.argsort(_ranks(keys) >> np.uint64(64 - SHARD_BITS), kind="stable")
        ordered = BatchNames(keys[order], strings.take(order), np.empty(0, np.int64))
        names._enter(ordered, np.ones(keys.size, np.bool_))
        for at in np.flatnonzero(keys_of(strings, bits) != keys).tolist():
            names._displaced[strings[at]] = int(keys[at])
        return names

    # -- shards ------------------------------------------------------------------------------

    def _runs(self, keys: Int64s) -> list[tuple[Shard, int, int]]:
        """Shards that hold keys, which are in the order of their shards, and where those are."""
        for shard in self._shards:
            shard.mend()
        if keys.size == 1:
            only = int(_ranks(keys)[0] >> np.uint64(64 - SHARD_BITS))
            return [(self._shards[only], 0, 1)]
        # The smallest key of each shard but the first.
        borders = np.arange(1 - _SHARDS // 2, _SHARDS // 2, dtype=np.int64) << (64 - SHARD_BITS)
        ends = [0, *np.searchsorted(keys, borders).tolist(), keys.size]
        return [
            (shard, ends[at], ends[at + 1])
            for at, shard in enumerate(self._shards)
            if ends[at] < ends[at + 1]
        ]

    def _look_up(self, keys: Int64s, strings: Strings) -> npt.NDArray[np.int8]:
        """State of each name (new, known, or taken); keys are increasing."""
        states = np.empty(keys.size, np.int8)
        keys = readonly(keys)
        run_all(
            [
                partial(
                    look_up, low, high, keys, strings.starts, strings.data, shard.slots,
                    shard.heap, states,
                )
                for shard, low, high in self._runs(keys)
            ]
        )  # fmt: skip
        return states

    def _enter(self, names: BatchNames, new: npt.NDArray[np.bool_]) -> None:
        """Enter names whose keys are free; the keys are in the order of their shards."""
        keys = readonly(names.keys)
        calls = []
        for shard, low, high in self._runs(keys):
            which = np.flatnonzero(new[low:high]) + low
            if which.size:
                calls.append(partial(shard.add, keys, names.strings, which))
        run_all(calls)

    def _state(self, key: int, name: bytes) -> int:
        return int(self._look_up(np.array([key]), Strings.of([name]))[0])

    def _enter_one(self, key: int, name: bytes) -> None:
        alone = BatchNames(np.array([key]), Strings.of([name]), np.empty(0, np.int64))
        self._enter(alone, np.ones(1, np.bool_))


def _ranks(keys: Int64s) -> npt.NDArray[np.uint64]:
    """Keys as unsigned numbers of the same order."""
    return keys.view(np.uint64) ^ np.uint64(1 << 63)

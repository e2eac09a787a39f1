"""Weights of edges that are inserted again (``on_repeat``), and where they are computed.

The rows of a log are one sequence. A delete of an edge, or of one of its end points, ends the
edge's *life*; the next insert begins a new one. What came before has no part in its weight. For an
undirected graph (u, v) and (v, u) are the same edge. By the graph's ``on_repeat`` the weight is

===========  ====================================================================================
``last``     that of the newest insert of this life
``first``    that of its first insert
``sum``      the sum of all its inserts, taken one by one in their order. Each sum is rounded to the
             type of the weights; one beyond the largest finite number stays there.
``min``      the smallest of them, the largest; of equal ones, such as 0 and -0, the first
``max``
``count``    how many they are. Weights of rows are not looked at. With float32 weights it stays at
             2^24, with float64 at 2^53, where one more would be rounded away.
===========  ====================================================================================

Type and last time are those of the newest insert, the first time that of the first one. How rows
are cut into batches makes no difference, not to a bit. Reports count as for ``last``: an insert of
an edge that exists is *updated*.

It is worked out in two positions. What the rows of a batch come to, after the last of them that
deletes the edge, is found when they are converted (`fold_repeats`); ``put_reset`` tells where
nothing before the batch counts. Then, before a batch is applied, each put that finds its edge gets
the weight of both (`combine_weights`, ``cuda/update/assisted/repeats.cu``). All that follows is as
for ``last``, so the kernels that write rows know nothing of this.

A sum of floats cannot be taken in parts without rounding otherwise: so of a batch of the rule
``sum`` ``put_weight`` is the first insert alone, and the others travel beside, row by row.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...jit.arrays import readonly
from ...jit.compile import compiled, inlined
from ...jit.parallel import for_ranges
from ...records import OnRepeat
from .last_rows import OrderedEdgeRows

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]
UInt32s = npt.NDArray[np.uint32]

#: Fields of an `UpdateBatch` that have the further weights of a sum.
REPEATS = ("repeat_puts", "repeat_weight")

_SUM, _MIN, _MAX, _COUNT = (
    int(rule) for rule in (OnRepeat.SUM, OnRepeat.MIN, OnRepeat.MAX, OnRepeat.COUNT)
)
_FIRST = int(OnRepeat.FIRST)


class Folded(NamedTuple):
    """Net effect of the inserts of each edge to put, after the batch's last delete of it."""

    #: float32 or float64[m]; of a sum that of the first insert alone.
    weight: Floats
    #: bool[m]: the batch deletes the edge before.
    reset: Flags
    #: Of a sum, else None: the inserts that are not the first of their edge, by edge and then in
    #: order. uint32[k], number of the edge among those to put; and their weights.
    repeat_puts: UInt32s | None
    repeat_weight: Floats | None


def fold_repeats(
    ordered: OrderedEdgeRows, weight: Floats | None, dtype: str | None, rule: str
) -> Folded:
    """Fold the inserts of each edge; to be asked before ``last_rows.edge_lists``.

    Parameters
    ----------
    ordered
        Edge rows by edge and position.
    weight
        Of each row; None: 1.
    dtype
        Of the weights.
    rule
        Any rule but ``last``.
    """
    rows = ordered.keys.size
    kind = np.dtype(dtype)
    code = int(OnRepeat[rule.upper()])
    weights = np.ones(1, kind) if weight is None or code == _COUNT else weight
    folded, reset = np.empty(rows, kind), np.empty(rows, np.bool_)
    repeats = rows if code == _SUM else 0
    repeat_puts, repeat_weight = np.empty(repeats, np.uint32), np.empty(repeats, kind)
    puts, repeats = fold_inserts(
        ordered.keys, ordered.tail_bits, readonly(weights), code, most_of(kind, code),
        Folded(folded, reset, repeat_puts, repeat_weight),
    )  # fmt: skip
    lists = (repeat_puts[:repeats].copy(), repeat_weight[:repeats].copy())
    return Folded(
        folded[:puts].copy(), reset[:puts].copy(), *(lists if code == _SUM else (None, None))
    )


def combined_weights(
    rule: str,
    there: Flags,
    old: Floats,
    reset: Flags,
    weight: Floats,
    repeat_puts: UInt32s | None,
    repeat_weight: Floats | None,
) -> Floats:
    """Weight of each put once it is applied.

    Parameters
    ----------
    rule
        Any rule but ``last``.
    there, old
        bool[m], and a weight each: whether the graph has the edge, and with which weight.
    reset, weight, repeat_puts, repeat_weight
        Of the batch, as `Folded` has them.
    """
    code = int(OnRepeat[rule.upper()])
    out = np.empty_like(weight)
    no_puts = readonly(np.empty(0, np.uint32))
    repeated: Any = readonly(weight[:0]) if repeat_weight is None else repeat_weight
    for_ranges(
        combine_weights, weight.size, code, most_of(weight.dtype, code), there, old,
        Folded(
            weight, reset, no_puts if repeat_puts is None else repeat_puts,
            repeated,
        ), out,
    )  # fmt: skip
    return out


def most_of(kind: np.dtype[np.floating], code: int) -> np.floating:
    """Largest value of a sum, or of a count."""
    limits = np.finfo(kind)
    return kind.type(2.0 ** (limits.nmant + 1)) if code == _COUNT else limits.max


@inlined
def combined(rule, old, new, most):
    """Weight of an edge of weight ``old`` that is inserted with ``new``; of a count both count."""
    if rule == _SUM:
        return min(max(old + new, -most), most)
    if rule == _COUNT:
        return min(old + new, most)
    if rule == _MIN:
        return new if new < old else old
    if rule == _MAX:
        return new if new > old else old
    return old if rule == _FIRST else new


@compiled
def fold_inserts(keys, tail_bits, weight, rule, most, out):
    """Fill `Folded`, per edge to put; return how many puts and repeats there are.

    ``weight`` of one item is that of all rows.
    """
    folded, reset, repeat_puts, repeat_weight = out
    shift, one = np.uint64(tail_bits), np.uint64(1)
    row_mask = (one << shift) - one
    count = keys.size
    puts = repeats = begun = 0
    lives, deleted = False, False
    for i in range(count):
        key = keys[i]
        if key & one == 0:
            lives, deleted, repeats = False, True, begun
        else:
            row = np.int64((key & row_mask) >> one)
            new = weight[row if weight.size > 1 else 0]
            if not lives:
                folded[puts] = new
            elif rule == _SUM:
                repeat_puts[repeats], repeat_weight[repeats] = puts, new
                repeats += 1
            else:
                folded[puts] = combined(rule, folded[puts], new, most)
            lives = True
        if i + 1 == count or keys[i + 1] >> shift != key >> shift:
            if lives:
                reset[puts] = deleted
                puts += 1
                begun = repeats
            lives, deleted = False, False
    return puts, repeats


@compiled
def combine_weights(low, high, rule, most, there, old, puts, out):
    """Write the weights of the puts ``low … high - 1``, which are `Folded`."""
    weight, reset, repeat_puts, repeat_weight = puts
    repeat = np.searchsorted(repeat_puts, low)
    for put in range(low, high):
        value = weight[put]
        if there[put] and not reset[put]:
            value = combined(rule, old[put], value, most)
        while repeat < repeat_puts.size and repeat_puts[repeat] == put:
            value = combined(rule, value, repeat_weight[repeat], most)
            repeat += 1
        out[put] = value

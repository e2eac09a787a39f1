"""Free runs of pages: aligned buddies by size class, one bit tree a class.

A run of class ``c`` is ``2**c`` pages that begin at a multiple of ``2**c``. The tree of class ``c``
has one bit for each such position, 1 = a free run of exactly this class begins here; every level
above has one bit for each word below it, 1 = that word is not empty. So the lowest free run is
found in one word a level, and the trees take some 2.1 bits a page.

Runs are allocated in a fixed order, lowest first: of the class itself, then split off the smallest
larger run, then from the bump mark (pages never used). Holes that alignment leaves are free runs.
Neighboring buddies are merged only when a demand is not allocated otherwise.

The table begins with the number of free runs of each class (int64[32]), then the trees.

Invariants
----------
* no page lies in two free runs, or in a free run and in use
* free pages + pages in use = bump mark
* ``counts[c]`` is the number of bits set in the lowest level of class ``c``

Source: Hornet's BlockArrays and bit trees (papers/004); the buddies and the bump mark are ours.
"""

import numpy as np
import numpy.typing as npt

from ..jit.compile import compiled, inlined
from .fields import CLASSES, NONE, Field

#: Levels a tree can have: 32**7 positions cover any 32-bit page index.
LEVELS = 7
#: Words of the table before the trees: one int64 count a class.
COUNT_WORDS = 2 * CLASSES
#: "No run" among size classes.
NO_CLASS = 255

_BUMP = int(Field.PAGE_BUMP)
_FREE = int(Field.PAGES_FREE)
_DE_BRUIJN = np.array(
    [
        *(0, 1, 28, 2, 29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4, 8),
        *(31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5, 10, 9),
    ],
    dtype=np.int64,
)


def tree_geometry(max_pages: int) -> tuple[npt.NDArray[np.int64], int]:
    """Offsets of each level of each class, in words from the start of the table.

    Returns
    -------
    geometry : int64[CLASSES, 2 * LEVELS]
        Column ``l`` is the first word of level ``l``, column ``LEVELS + l`` its number of words
        (0: the level does not exist).
    words : int
        Words of the whole table.
    """
    geometry = np.zeros((CLASSES, 2 * LEVELS), dtype=np.int64)
    word = COUNT_WORDS
    for size_class in range(CLASSES):
        positions = max_pages >> size_class
        for level in range(LEVELS):
            if positions == 0:
                break
            words = -(-positions // 32)
            geometry[size_class, level] = word
            geometry[size_class, LEVELS + level] = words
            word += words
            positions = words if words > 1 else 0
    return geometry, word


@inlined
def lowest_bit(word):
    """Position of the lowest bit set in a word that is not 0."""
    word = np.uint32(word)
    isolated = np.uint32(word & (~word + np.uint32(1)))
    return _DE_BRUIJN[np.int64(np.uint32(isolated * np.uint32(0x077CB531)) >> np.uint32(27))]


@inlined
def set_run(tree, geometry, size_class, position):
    """Enter a free run at ``position`` (first page >> class)."""
    for level in range(LEVELS):
        if geometry[size_class, LEVELS + level] == 0:
            break
        word = geometry[size_class, level] + (position >> 5)
        before = tree[word]
        tree[word] = before | (np.uint32(1) << np.uint32(position & 31))
        if before != 0:
            break
        position >>= 5


@inlined
def clear_run(tree, geometry, size_class, position):
    """Take the free run at ``position`` out of the tree."""
    for level in range(LEVELS):
        if geometry[size_class, LEVELS + level] == 0:
            break
        word = geometry[size_class, level] + (position >> 5)
        after = tree[word] & ~(np.uint32(1) << np.uint32(position & 31))
        tree[word] = after
        if after != 0:
            break
        position >>= 5


@inlined
def next_run(tree, geometry, size_class, position):
    """Return the lowest free run at or after ``position``; -1 where there is none."""
    level = 0
    while True:
        if level == LEVELS or (position >> 5) >= geometry[size_class, LEVELS + level]:
            return np.int64(-1)
        word = tree[geometry[size_class, level] + (position >> 5)] >> np.uint32(position & 31)
        if word != 0:
            position += lowest_bit(word)
            break
        position = (position >> 5) + 1
        level += 1
    while level > 0:
        level -= 1
        position = position * 32 + lowest_bit(tree[geometry[size_class, level] + position])
    return np.int64(position)


@inlined
def largest_class_at(start, end):
    """Class of the largest aligned run that begins at ``start`` and ends by ``end``."""
    size_class = 0
    while (
        size_class + 1 < CLASSES
        and start & ((np.int64(2) << size_class) - 1) == 0
        and start + (np.int64(2) << size_class) <= end
    ):
        size_class += 1
    return size_class


@inlined
def _give_pages(tree, counts, geometry, start, end):
    """Enter pages ``start … end - 1`` as the fewest aligned runs."""
    while start < end:
        size_class = largest_class_at(start, end)
        set_run(tree, geometry, size_class, start >> size_class)
        counts[size_class] += 1
        start += np.int64(1) << size_class


@compiled
def give_back_runs(tree, counts, header, geometry, firsts, classes):
    """Enter runs (first page, class) as free; of class `NO_CLASS` there is none."""
    for i in range(firsts.size):
        size_class = np.int64(classes[i])
        if size_class == NO_CLASS:
            continue
        set_run(tree, geometry, size_class, np.int64(firsts[i]) >> size_class)
        counts[size_class] += 1
        header[_FREE] += np.int64(1) << size_class


@compiled
def take_runs(tree, counts, header, geometry, size_class, out):
    """Hand out ``out.size`` runs of one class; `demand_fits` has made sure that they are there."""
    taken = 0
    position = np.int64(0)
    while taken < out.size and counts[size_class] > 0:
        position = next_run(tree, geometry, size_class, position)
        clear_run(tree, geometry, size_class, position)
        counts[size_class] -= 1
        header[_FREE] -= np.int64(1) << size_class
        out[taken] = position << size_class
        taken += 1
    larger = size_class + 1
    while taken < out.size and larger < CLASSES:
        if counts[larger] == 0:
            larger += 1
            continue
        position = next_run(tree, geometry, larger, np.int64(0))
        clear_run(tree, geometry, larger, position)
        counts[larger] -= 1
        start = position << larger
        end = start + (np.int64(1) << larger)
        while taken < out.size and start < end:
            out[taken] = start
            start += np.int64(1) << size_class
            header[_FREE] -= np.int64(1) << size_class
            taken += 1
        _give_pages(tree, counts, geometry, start, end)
    if taken < out.size:
        bump = header[_BUMP]
        mask = (np.int64(1) << size_class) - 1
        start = (bump + mask) & ~mask
        _give_pages(tree, counts, geometry, bump, start)
        header[_FREE] += start - bump
        while taken < out.size:
            out[taken] = start
            start += mask + 1
            taken += 1
        header[_BUMP] = start


@compiled
def demand_fits(counts, bump, max_pages, demand):
    """Whether `take_runs`, called from the largest class down, can allocate ``demand[class]`` runs.

    Repeats the arithmetic of `take_runs` on a copy of the counts; touches nothing.
    """
    free = counts.copy()
    for size_class in range(CLASSES - 1, -1, -1):
        need = demand[size_class]
        own = min(need, free[size_class])
        free[size_class] -= own
        need -= own
        for larger in range(size_class + 1, CLASSES):
            while need > 0 and free[larger] > 0:
                free[larger] -= 1
                parts = np.int64(1) << (larger - size_class)
                used = min(need, parts)
                need -= used
                # What is left of the run ends aligned, so it falls into one run a bit.
                rest = parts - used
                for bit in range(larger - size_class):
                    if (rest >> bit) & 1:
                        free[size_class + bit] += 1
        if need > 0:
            mask = (np.int64(1) << size_class) - 1
            start = (bump + mask) & ~mask
            while bump < start:
                hole = largest_class_at(bump, start)
                free[hole] += 1
                bump += np.int64(1) << hole
            bump = start + (need << size_class)
            if bump > max_pages:
                return False
    return True


@compiled
def merge_buddies(tree, counts, geometry):
    """Join free buddies, class by class from the smallest, as often as they meet."""
    for size_class in range(CLASSES - 1):
        position = np.int64(0)
        while True:
            position = next_run(tree, geometry, size_class, position)
            if position < 0:
                break
            if (
                position & 1 == 0
                and next_run(tree, geometry, size_class, position + 1) == position + 1
            ):
                clear_run(tree, geometry, size_class, position)
                clear_run(tree, geometry, size_class, position + 1)
                counts[size_class] -= 2
                set_run(tree, geometry, size_class + 1, position >> 1)
                counts[size_class + 1] += 1
            position = (position | 1) + 1


@compiled
def lower_bump(tree, counts, header, geometry):
    """Give free runs that end at the bump mark back to the unused pages."""
    again = True
    while again:
        again = False
        for size_class in range(CLASSES):
            bump = header[_BUMP]
            pages = np.int64(1) << size_class
            if bump < pages or bump & (pages - 1) != 0 or counts[size_class] == 0:
                continue
            position = (bump >> size_class) - 1
            if next_run(tree, geometry, size_class, position) == position:
                clear_run(tree, geometry, size_class, position)
                counts[size_class] -= 1
                header[_BUMP] -= pages
                header[_FREE] -= pages
                again = True


@compiled
def mark_free_runs(tree, geometry, owners):
    """Write `NONE` into ``owners[page]`` for each page of a free run; returns pages met twice."""
    twice = 0
    for size_class in range(CLASSES):
        position = np.int64(0)
        while True:
            position = next_run(tree, geometry, size_class, position)
            if position < 0:
                break
            for page in range(position << size_class, (position + 1) << size_class):
                if page >= owners.size or owners[page] != 0:
                    twice += 1
                else:
                    owners[page] = NONE
            position += 1
    return twice

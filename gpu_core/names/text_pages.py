"""Decode byte strings of a Parquet file's pages into Arrow's layout.

A page has the strings themselves, each behind its length in 32 bits (``PLAIN``), or their numbers
in a dictionary page, in runs: one number repeated, or a multiple of eight numbers of a few bits
each (``RLE_DICTIONARY``). Lengths and numbers are not trusted: where one points outside of the
page, or of the dictionary, the kernel returns `DAMAGED`, and nothing is used.

Arrow's own decoder appends string by string to a builder, for 1 M rows of two names of 12 bytes
each 50 ms; this takes 15 (two cores, shared).

Not here: pages, their headers and compression (``io/parquet/text_columns.py``).

Source: Parquet's ``Encodings.md``.
"""

import numpy as np

from ..jit.compile import compiled, inlined
from .words import copy_bytes, padded_word

#: What a kernel returns of bytes that are no such page.
DAMAGED = -1


@inlined
def _length_at(page, at):
    """Length in front of a string; its four bytes must be there."""
    return np.int64(padded_word(page, at, at + 4))


@compiled
def read_strings(page, at, count, starts, data):
    """Copy the strings of a plain page, one after the other.

    Parameters
    ----------
    page
        uint8, decompressed; strings begin at byte ``at``.
    starts
        Integers[count + 1]: filled in with the position in ``data`` where each string begins, and
        where the last one ends; the first item is given.
    data
        uint8, with room for all of the page and `words.SLACK` bytes after what comes.

    Returns
    -------
    int
        Where the strings end in ``data``, or `DAMAGED`.
    """
    position = np.int64(starts[0])
    for i in range(count):
        if page.size - at < 4:
            return DAMAGED
        length = _length_at(page, at)
        at += 4
        if length > page.size - at:
            return DAMAGED
        copy_bytes(page, at, at + length, data, position)
        at += length
        position += length
        starts[i + 1] = position
    return position


@compiled
def read_numbers(page, at, words, numbers):
    """Unpack the numbers of a page: how many bits each has is its byte ``at``.

    Returns 0, or `DAMAGED`: also where a number is not below ``words``.
    """
    if at >= page.size or page[at] > 32:
        return DAMAGED
    width = np.int64(page[at])
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    at += 1
    done = 0
    while done < numbers.size:
        header, shift = np.int64(0), 0
        while True:
            if at >= page.size or shift > 28:
                return DAMAGED
            byte = np.int64(page[at])
            header |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        runs = header >> 1
        packed = header & 1 != 0
        nbytes = runs * width if packed else (width + 7) >> 3
        if runs == 0 or nbytes > page.size - at:
            return DAMAGED
        end = min(done + (8 * runs if packed else runs), numbers.size)
        bit, step = np.int64(8) * at, width if packed else np.int64(0)
        for i in range(done, end):
            number = (padded_word(page, bit >> 3, page.size) >> np.uint64(bit & 7)) & mask
            if number >= np.uint64(words):
                return DAMAGED
            numbers[i] = number
            bit += step
        done, at = end, at + nbytes
    return 0


@compiled
def total_length(numbers, word_starts):
    """Bytes of the strings that numbers stand for."""
    total = np.int64(0)
    for i in range(numbers.size):
        total += word_starts[numbers[i] + 1] - word_starts[numbers[i]]
    return total


@compiled
def put_strings(numbers, word_starts, words, starts, data):
    """Copy the strings that numbers stand for; as `read_strings`, and never damaged."""
    position = np.int64(starts[0])
    for i in range(numbers.size):
        begin, end = word_starts[numbers[i]], word_starts[numbers[i] + 1]
        copy_bytes(words, begin, end, data, position)
        position += end - begin
        starts[i + 1] = position
    return position

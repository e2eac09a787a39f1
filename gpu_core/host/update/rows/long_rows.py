"""Rewrite rows that are not short: from a copy of their old entries, in one forward pass.

Part of   the apply path: deltas -> plan -> arena.prepare, arena.take -> **commit**
Reads     the segments of a row, and of each of its entries in the batch the position in the row and
          whether it was there (`plan.py`)
Writes    the segments that the row will lie in, from the first one that changes on
Keeps     rows sorted by neighbor

These are steps of `commit.rewrite_rows`. They take the same few numbers together: *segments* of a
row are its first page, and the entries and the pages of each of them; a *place* is the page of a
segment, and its number in the row; a *span* is the first and the end of the row's entries in the
delta.
"""

import numpy as np

from ....image.fields import KIND_PUT
from ....jit.compile import borrowing
from ....layouts import page_after, segment_base, strides
from .entries import write_properties


@borrowing
def segments_kept(image, shape, segments, to_page, most, plan, span):
    """Place of the first segment that changes: whole ones before the batch's entries are kept.

    A row that will begin at ``to_page``, another page, keeps none. ``most`` is the larger one of
    its old and its new degree, after which there is no segment.
    """
    first_page, entries, _ = segments
    begin, end = span
    segment, number, start = first_page, np.int64(0), np.int64(0)
    unchanged = np.int64(0)
    if first_page == to_page and begin < end:
        unchanged = np.int64(plan.position[begin])
    while 0 < entries <= unchanged - start:
        start += entries
        number += 1
        if start < most:
            segment = page_after(image, shape, first_page, segment, number)
    return segment, number


@borrowing
def read_entries(image, shape, segments, place, left, buffer):
    """Copy the last ``left`` entries of a row, from a place on, one after the other."""
    first_page, entries, pages = segments
    segment, number = place
    words = shape.entry_words
    step, field = strides(shape, entries)
    to = np.int64(0)
    while left > 0:
        base = segment_base(shape, segment, pages)
        count = min(entries, left)
        if words == 1:
            for i in range(count):
                buffer[to + i] = image[base + i]
        else:
            for word in range(words):
                for i in range(count):
                    buffer[to + i * words + word] = image[base + i * step + word * field]
        to += count * words
        left -= count
        if left > 0:
            number += 1
            segment = page_after(image, shape, first_page, segment, number)


@borrowing
def write_entries(image, to, step, field, words, buffer, read, count):
    """Write entries ``read … read + count - 1`` of the buffer from word ``to`` on."""
    if words == 1:
        for i in range(count):
            image[to + i] = buffer[read + i]
    else:
        for word in range(words):
            for i in range(count):
                image[to + i * step + word * field] = buffer[(read + i) * words + word]


@borrowing
def write_put(image, slot, field, delta, entry, words, found, buffer, read, properties):
    """Write an entry of the batch to word ``slot``; if it was there, it was old entry ``read``."""
    if words > 1:
        if found:
            for word in range(words):
                image[slot + word * field] = buffer[read * words + word]
        number = np.int64(delta.source[entry])
        write_properties(image, slot, field, words, number, not found, properties)
    image[slot] = delta.columns[entry]


@borrowing
def with_space(image, shape, segments, segment, number, within):
    """Place of the next entry, and its position in the segment: in the next one if this is full."""
    first_page, entries, _ = segments
    if within < entries:
        return segment, number, within
    return page_after(image, shape, first_page, segment, number + 1), number + 1, np.int64(0)


@borrowing
def merge_long(image, shape, segments, place, delta, plan, span, buffer, left, properties):
    """Merge ``left`` old entries and those of the batch into a row, from a place on."""
    first_page, entries, pages = segments
    segment, number = place
    if number == 0:
        segment = first_page
    begin, end = span
    words = shape.entry_words
    step, field = strides(shape, entries)
    start = number * entries
    # `read` counts old entries, `within` those written to the segment.
    read = within = np.int64(0)
    for entry in range(begin, end + 1):
        stop = left
        if entry < end:
            if delta.kinds[entry] != KIND_PUT and not plan.found[entry]:
                continue
            stop = np.int64(plan.position[entry]) - start
        while read < stop:
            segment, number, within = with_space(image, shape, segments, segment, number, within)
            slot = segment_base(shape, segment, pages) + within * step
            count = min(stop - read, entries - within)
            write_entries(image, slot, step, field, words, buffer, read, count)
            read += count
            within += count
        if entry == end:
            break
        found = plan.found[entry]
        if delta.kinds[entry] == KIND_PUT:
            segment, number, within = with_space(image, shape, segments, segment, number, within)
            slot = segment_base(shape, segment, pages) + within * step
            write_put(image, slot, field, delta, entry, words, found, buffer, read, properties)
            within += 1
        if found:
            read += 1

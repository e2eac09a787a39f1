// find_entry.cuh -- where the entry of an edge lies, by binary search in the row of its source.
#pragma once
#include "pages.cuh"

// Word of the image where the entry begins that names the target, of an adjacency that lies on pages,
// read up to the one that may have it; -1: none does.
__device__ __forceinline__ i64 find_on_pages(
        const u32* image, const Shape& shape, i64 source, u32 target) {
    if (source >= shape.vertex_count) return -1;
    const u32* record = image + record_of(shape, source);
    const i64 entries = page_entries(shape);
    const i64 step = entry_step(shape);
    const i64 first = record[shape.first_word];
    const i64 degree = record[shape.degree_word];
    i64 number;
    i64 page = search_start(image, shape, first, pages_of(shape, degree), target, number);
    for (i64 left = degree - number * entries; left > 0; left -= entries) {
        const i64 base = page_base(shape, page);
        const i64 here = min(left, entries);
        if (image[base + (here - 1) * step] >= target) {
            const i64 position = base + lower_bound(image, base, step, here, target) * step;
            return image[position] == target ? position : -1;
        }
        if (left > here) page = page_after(image, shape, first, page, ++number);
    }
    return -1;
}

// Word `word` of the entry, in words of the image; -1 where the row of the source does not name the target, or
// either is no vertex: NONE has no row and stands in none.
__device__ __forceinline__ i64 find_entry(
        const u32* image, const Shape& shape, u32 source, u32 target, i64 word) {
    if (is_paged(shape)) {
        const i64 position = find_on_pages(image, shape, source, target);
        return position < 0 ? -1 : position + word * entry_field(shape, page_entries(shape));
    }
    const Adjacency row = open_adjacency(image, shape, source);
    const i64 at = lower_bound(image, row.base, row.step, row.degree, target);
    const i64 position = row.base + at * row.step;
    return at < row.degree && image[position] == target ? position + word * row.field : -1;
}

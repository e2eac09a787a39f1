// pages.cuh -- adjacencies on pages of one size, by whatever layout links them.
//
// Part of     the segmented update path (cuda/update/segmented.cuh), and kernels that read any layout
// Host twin   gpu_core/layouts/__init__.py, same names and arithmetic
//
// Entry i of an adjacency is entry i % page_entries of its page i / page_entries. A layout says which
// page names which, and where; one more of them is one more line in each function here.
#pragma once
#include "block.cuh"
#include "chain.cuh"

// Whether adjacencies lie on pages of one size, not on one run each.
__device__ __forceinline__ bool is_paged(const Shape& shape) {
    return shape.layout == LAYOUT_CHAIN;
}

// Entries of a page.
__device__ __forceinline__ i64 page_entries(const Shape& shape) {
    return (shape.page_words - CHAIN_LINK_WORDS) / entry_words_of(shape);
}

// Pages that so many entries take.
__device__ __forceinline__ i64 pages_of(const Shape& shape, i64 degree) {
    const i64 entries = page_entries(shape);
    return (degree + entries - 1) / entries;
}

__device__ __forceinline__ i64 parent_of(const Shape& shape, i64 number) {
    return chain::parent_of(number);
}

__device__ __forceinline__ i64 link_word(const Shape& shape, i64 parent, i64 number) {
    return chain::link_word(shape, parent, number);
}

__device__ __forceinline__ i64 page_at(
        const u32* image, const Shape& shape, i64 first, i64 number) {
    return chain::page_at(image, shape, first, number);
}

__device__ __forceinline__ i64 page_after(
        const u32* image, const Shape& shape, i64 first, i64 page, i64 number) {
    return chain::page_after(image, shape, first, page, number);
}

// Pages up to which one thread lists an adjacency, and longer ones a warp.
constexpr i64 FEW_PAGES = 4;

// List the pages of an adjacency of a few pages: page number i goes to out[i].
__device__ __forceinline__ void list_few_pages(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    if (pages > 0) out[0] = first;
    for (i64 i = 1; i < pages; ++i) out[i] = image[link_word(shape, out[parent_of(shape, i)], i)];
}

// The same of many pages, by a warp.
__device__ __forceinline__ void list_many_pages(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    chain::list_pages(image, shape, first, pages, out);
}

// The same of the adjacency of each lane: 0 pages where it has none. All lanes of the warp.
__device__ __forceinline__ void list_pages_of_lanes(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    if (pages <= FEW_PAGES) list_few_pages(image, shape, first, pages, out);
    for (u32 many = __ballot_sync(FULL_WARP, pages > FEW_PAGES); many != 0; many &= many - 1) {
        const int lane = __ffs(many) - 1;
        const u64 place = __shfl_sync(FULL_WARP, reinterpret_cast<u64>(out), lane);
        list_many_pages(image, shape, __shfl_sync(FULL_WARP, first, lane),
                        __shfl_sync(FULL_WARP, pages, lane), reinterpret_cast<u32*>(place));
    }
}

// Word of entry 0 of a page.
__device__ __forceinline__ i64 page_base(const Shape& shape, i64 page) {
    return segment_base(shape, page, 1);
}

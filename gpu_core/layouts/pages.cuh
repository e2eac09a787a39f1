// pages.cuh -- adjacencies on pages of one size, whatever layout links them.
//
// Host twin   gpu_core/layouts/pages.py, same names and arithmetic; the rules: layout.py
//
// A layout says which page names which, and where, in a header with the names of its module and
// `list_pages`. paged_layouts.cuh is generated of those that are registered.
#pragma once
#include "block.cuh"
#include "paged_layouts.cuh"

// Return what the layout of `shape` answers. There are no other codes: `ImageView.shape` refuses them. To
// trap here takes up to 8 registers more, and kernels spill.
#define ASK_LAYOUT(question) \
    ANSWER_OF_LAYOUT(question) \
    __builtin_unreachable()

// Whether adjacencies lie on pages of one size, not on one run each.
__device__ __forceinline__ bool is_paged(const Shape& shape) {
    return shape.layout != LAYOUT_RUNS;
}

// Words of a page that name other pages.
__device__ __forceinline__ i64 link_words(const Shape& shape) { ASK_LAYOUT(LINK_WORDS); }

// Page of an adjacency that names page `number`, which is not the first.
__device__ __forceinline__ i64 parent_of(const Shape& shape, i64 number) {
    ASK_LAYOUT(parent_of(number));
}

// Word of page `parent` that names page `number` of its adjacency.
__device__ __forceinline__ i64 link_word(const Shape& shape, i64 parent, i64 number) {
    ASK_LAYOUT(link_word(shape, parent, number));
}

// Page `number` of the adjacency that begins at page `first`; `page` is the one before.
__device__ __forceinline__ i64 page_after(
        const u32* image, const Shape& shape, i64 first, i64 page, i64 number) {
    ASK_LAYOUT(page_after(image, shape, first, page, number));
}

// Page from which a walk finds `neighbor`, and its number, in an adjacency of `pages` pages.
__device__ __forceinline__ i64 search_start(
        const u32* image, const Shape& shape, i64 first, i64 pages, u32 neighbor, i64& number) {
    ASK_LAYOUT(search_start(image, shape, first, pages, neighbor, number));
}

// List all pages of an adjacency, by a warp: page `number` goes to out[number].
__device__ __forceinline__ void list_many_pages(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    ASK_LAYOUT(list_pages(image, shape, first, pages, out));
}

// Entries of a page: all words but those that name other pages.
__device__ __forceinline__ i64 page_entries(const Shape& shape) {
    return (shape.page_words - link_words(shape)) / entry_words_of(shape);
}

// Pages of an adjacency of so many entries: exactly what they need.
__device__ __forceinline__ i64 pages_of(const Shape& shape, i64 degree) {
    const i64 entries = page_entries(shape);
    return (degree + entries - 1) / entries;
}

// Pages up to which one thread lists an adjacency, and longer ones a warp.
constexpr i64 FEW_PAGES = 4;

// List all pages of an adjacency of a few, by one thread.
__device__ __forceinline__ void list_few_pages(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    if (pages > 0) out[0] = first;
    for (i64 i = 1; i < pages; ++i) out[i] = image[link_word(shape, out[parent_of(shape, i)], i)];
}

// The same of the adjacency of each lane: 0 pages where it has none. All lanes of the warp.
__device__ __forceinline__ void list_pages_of_lanes(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    if (pages <= FEW_PAGES) list_few_pages(image, shape, first, pages, out);
    for (u32 many = __ballot_sync(FULL_WARP, pages > FEW_PAGES); many != 0; many &= many - 1) {
        const int lane = __ffs(many) - 1;
        const u64 position = __shfl_sync(FULL_WARP, reinterpret_cast<u64>(out), lane);
        list_many_pages(image, shape, __shfl_sync(FULL_WARP, first, lane),
                        __shfl_sync(FULL_WARP, pages, lane), reinterpret_cast<u32*>(position));
    }
}

// Word of entry 0 of a page.
__device__ __forceinline__ i64 page_base(const Shape& shape, i64 page) {
    return segment_base(shape, page, 1);
}

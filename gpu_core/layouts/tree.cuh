// tree.cuh -- the layout `tree`: the formulas of tree.py, for kernels.
//
// Host twin   gpu_core/layouts/tree.py, same names and arithmetic; tests hold the two together
#pragma once

namespace tree {

// Page of an adjacency that names page `number`, left or right below it.
__device__ __forceinline__ i64 parent_of(i64 number) { return (number - 1) >> 1; }

// Word of page `parent` that names page `number`: left the last but one, right the last.
__device__ __forceinline__ i64 link_word(const Shape& shape, i64 parent, i64 number) {
    return shape.page_end - parent * shape.page_words - 1 - (number & 1);
}

// Page `number` of the adjacency that begins at page `first`, down from that one.
__device__ __forceinline__ i64 page_after(
        const u32* image, const Shape& shape, i64 first, i64 page, i64 number) {
    page = first;
    for (int level = 63 - __clzll(number + 1); level-- > 0;) {
        page = image[link_word(shape, page, ((number + 1) >> level) - 1)];
    }
    return page;
}

// Page where a search begins, and its number: the last one that begins up to `neighbor`.
//
// Any page is found by its number, so this is a binary search.
__device__ __forceinline__ i64 search_start(
        const u32* image, const Shape& shape, i64 first, i64 pages, u32 neighbor, i64& number) {
    i64 page = first;
    i64 high = pages;
    for (number = 0; high - number > 1;) {
        const i64 middle = (number + high) >> 1;
        const i64 there = page_after(image, shape, first, first, middle);
        if (image[segment_base(shape, there, 1)] <= neighbor) {
            page = there;
            number = middle;
        } else {
            high = middle;
        }
    }
    return page;
}

// List the pages of an adjacency that begins at page `first`, by a warp.
//
// The pages of a level are named by those of the level above, which are listed then. So reads depend
// on one another from level to level alone, and each lane has several under way.
__device__ __forceinline__ void list_pages(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    constexpr u32 READS = 8;
    const u32 count = static_cast<u32>(pages);
    const u32 lane = lane_of_thread();
    if (lane == 0) out[0] = first;
    for (u32 begin = 1; begin < count; begin = 2 * begin + 1) {
        __syncwarp();
        const u32 end = min(2 * begin + 1, count);
        for (u32 at = begin + lane; at < end; at += READS * WARP) {
            u32 named[READS];
            #pragma unroll
            for (u32 i = 0; i < READS; ++i) {
                const u32 number = min(at + i * WARP, end - 1);
                named[i] = image[link_word(shape, out[parent_of(number)], number)];
            }
            #pragma unroll
            for (u32 i = 0; i < READS; ++i) {
                if (at + i * WARP < end) out[at + i * WARP] = named[i];
            }
        }
    }
    __syncwarp();
}

}  // namespace tree

// chain.cuh -- the layout `chain`: the formulas of chain.py, for kernels.
//
// Host twin   gpu_core/layouts/chain.py, same names and arithmetic; tests hold the two together
#pragma once

namespace chain {

// Page of an adjacency that names page `number`: the one before.
__device__ __forceinline__ i64 parent_of(i64 number) { return number - 1; }

// Word of page `parent` that names page `number` of its adjacency: the last one.
__device__ __forceinline__ i64 link_word(const Shape& shape, i64 parent, i64 number) {
    return shape.page_end - parent * shape.page_words - 1;
}

// Page `number` of the adjacency that begins at page `first`, from the one before it.
__device__ __forceinline__ i64 page_after(
        const u32* image, const Shape& shape, i64 first, i64 page, i64 number) {
    return image[link_word(shape, page, number)];
}

// Page where a search begins, and its number: the first one, for the others hang on it.
__device__ __forceinline__ i64 search_start(
        const u32* image, const Shape& shape, i64 first, i64 pages, u32 neighbor, i64& number) {
    number = 0;
    return first;
}

// List the pages of an adjacency that begins at page `first`, by a warp.
//
// Each page is known from the one before, which is a read from far away. But pages that a row took
// together mostly have numbers that follow one another. So it is read at once what the next pages name
// if they do, and they are believed as far as each names the one after it.
__device__ __forceinline__ void list_pages(
        const u32* image, const Shape& shape, u32 first, i64 pages, u32* out) {
    constexpr int READS = 8;
    const u32 lane = lane_of_thread();
    u32 page = first;
    for (i64 done = 0; done < pages;) {
        u32 named[READS];
        #pragma unroll
        for (int i = 0; i < READS; ++i) {
            const i64 word = link_word(shape, i64(page) + i * WARP + lane, 1);
            named[i] = word >= 0 ? image[word] : NONE;
        }
        // Pages from `page` on that name the next number, and what the one after them names.
        u32 follow = 0;
        u32 next = page + READS * WARP;
        #pragma unroll
        for (int i = 0; i < READS; ++i) {
            if (follow < i * WARP) continue;
            const u32 same = __ballot_sync(FULL_WARP, named[i] == page + i * WARP + lane + 1);
            const u32 more = same == FULL_WARP ? WARP : __ffs(~same) - 1;
            follow += more;
            if (more < WARP) next = __shfl_sync(FULL_WARP, named[i], more);
        }
        const bool broken = follow < READS * WARP;
        const i64 here = min(i64(follow) + broken, pages - done);
        for (i64 i = lane; i < here; i += WARP) out[done + i] = page + static_cast<u32>(i);
        done += here;
        page = next;
    }
    __syncwarp();
}

}  // namespace chain

// layout_formulas.cu -- what kernels make of the formulas of a layout, for test_layouts.py.
#include "pages.cuh"

// Launch    one thread a degree
// Writes    out i64[degrees, 4]: of runs the room after, from this room and from none, entries and pages
//           of that room; of pages their number, entries of a page, and where page degree + 1 is named
extern "C" __global__ void formulas(Shape shape, i64 room, const i64* degrees, i64 count, i64* out) {
    const i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    i64* own = out + 4 * i;
    if (is_paged(shape)) {
        own[0] = own[1] = pages_of(shape, degrees[i]);
        own[2] = page_entries(shape);
        own[3] = link_word(shape, parent_of(shape, degrees[i] + 1), degrees[i] + 1);
        return;
    }
    own[0] = room_after(shape, static_cast<int>(room), degrees[i]);
    own[1] = room_after(shape, 0, degrees[i]);
    own[2] = segment_entries(shape, static_cast<int>(own[0]));
    own[3] = segment_pages(static_cast<int>(own[0]));
}

// Launch    one warp
// Writes    listed and walked u32[pages]: the pages of an adjacency, found in the two ways there are
extern "C" __global__ void find_pages(
        const u32* image, Shape shape, i64 first, i64 pages, u32* listed, u32* walked) {
    const bool own = threadIdx.x == 5;
    list_pages_of_lanes(image, shape, own ? static_cast<u32>(first) : 0, own ? pages : 0, listed);
    if (!own) return;
    i64 page = first;
    for (i64 number = 0; number < pages; ++number) {
        if (number > 0) page = page_after(image, shape, first, page, number);
        walked[number] = static_cast<u32>(page);
    }
}

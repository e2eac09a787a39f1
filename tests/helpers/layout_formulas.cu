// layout_formulas.cu -- what kernels make of the formulas of a layout, for test_layouts.py.
#include "pages.cuh"

// Launch    one thread a degree
// Writes    out i64[degrees, 4]: of runs the room after, from this room and from none, entries and pages
//           of that room; of pages their number, entries of a page, and where page 3 names page 4
extern "C" __global__ void formulas(Shape shape, i64 room, const i64* degrees, i64 count, i64* out) {
    const i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    i64* own = out + 4 * i;
    if (is_paged(shape)) {
        own[0] = own[1] = pages_of(shape, degrees[i]);
        own[2] = page_entries(shape);
        own[3] = link_word(shape, parent_of(shape, 4), 4);
        return;
    }
    own[0] = room_after(shape, static_cast<int>(room), degrees[i]);
    own[1] = room_after(shape, 0, degrees[i]);
    own[2] = segment_entries(shape, static_cast<int>(own[0]));
    own[3] = segment_pages(static_cast<int>(own[0]));
}

// runs.cuh -- the layout `runs`: the formulas of runs.py, for kernels.
//
// Host twin   gpu_core/layouts/runs.py, same names and arithmetic; tests hold the two together
#pragma once

// Size class + 1 of the run, from the vertex's state word.
__device__ __forceinline__ int room_of(const Shape& shape, u32 state) {
    return (state >> shape.class_shift) & CLASS_MASK;
}

// Entries that a run of class room - 1 holds.
__device__ __forceinline__ i64 segment_entries(const Shape& shape, int room) {
    return room == 0 ? 0 : (shape.page_words << (room - 1)) / entry_words_of(shape);
}

// Pages of a run of class room - 1.
__device__ __forceinline__ i64 segment_pages(int room) {
    return room == 0 ? 0 : i64(1) << (room - 1);
}

// Room after a batch: the smallest class that holds the degree where it does not fit; one class
// down where it is at most a quarter of the capacity; none at degree 0.
__device__ __forceinline__ int room_after(const Shape& shape, int room, i64 degree) {
    if (degree == 0) return 0;
    const i64 entries = segment_entries(shape, room);
    if (degree > entries) {
        room = room > 1 ? room : 1;
        while (segment_entries(shape, room) < degree) ++room;
        return room;
    }
    if (room > 1 && 4 * degree <= entries && degree <= segment_entries(shape, room - 1)) {
        return room - 1;
    }
    return room;
}

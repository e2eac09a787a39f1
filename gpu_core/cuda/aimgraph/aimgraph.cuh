// aimgraph.cuh -- memory of a graph in aimGraph's data structure, and how its rows are walked.
//
// Rows        aimgraph.cu says what a row is
// Form        LANES threads work at one item: 1, 4, 8, 16, 32 or 128, a block
#pragma once
#include "block.cuh"

// All of the graph: where it lies, and how large it is.
struct Memory {
    u32* records;   // [vertices][RECORD_WORDS]
    u32* pages;     // [room][page_words]
    u32* queue;     // [queue_mask + 1], a ring: pages that came back, NONE where there is none
    u32* counters;  // [COUNTERS]
    i64 page_words;
    i64 room;
    i64 queue_mask;
};

// Words of a vertex record.
constexpr int LOCK = 0;
constexpr int FIRST_PAGE = 1;
constexpr int NEIGHBORS = 2;
constexpr int SLOTS = 3;  // slots of the row in use: entries, and marks of deleted ones
constexpr int RECORD_WORDS = 4;

// Counters of pages: taken from the queue, put there, in it; of those after it, how many were
// allocated. The last may be more than the room: then pages were refused.
constexpr int FRONT = 0;
constexpr int BACK = 1;
constexpr int QUEUED = 2;
constexpr int USED = 3;

__device__ __forceinline__ u32 page_entries(const Memory& m) { return static_cast<u32>(m.page_words) - 1; }

__device__ __forceinline__ u32* page_at(const Memory& m, u32 page) {
    return m.pages + page * m.page_words;
}

__device__ __forceinline__ u32* record_at(const Memory& m, u32 vertex) {
    return m.records + static_cast<i64>(vertex) * RECORD_WORDS;
}

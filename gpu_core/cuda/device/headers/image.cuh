// image.cuh -- the arena image in kernels: constants, Shape, and the layout.
//
// Host twin   gpu_core/layouts/__init__.py, same names and arithmetic
// Numbers     constants.cuh, generated: gpu_core/cuda/device/compile.py
//
// An image is u32[]; pages lie downwards from Shape.page_end, a run's words start at the address
// of its last page. What is said here of adjacencies holds for the layout `runs`: one contiguous run a
// vertex. Room is the size class + 1 of the run, 0 where there is none. Layouts of pages: pages.cuh.
// Words are counted from the start of the image, as i64.
#pragma once
#include "constants.cuh"

// Where the sorted entries of one adjacency lie. Word w of entry i is
//     image[base + i * step + w * field]
struct Adjacency {
    i64 base;     // word of entry 0; 0 where there is no run
    i64 degree;   // entries in use
    i64 entries;  // entries that the run has room for
    i64 step;     // words from one entry to the next
    i64 field;    // words from one word of an entry to the next
    i64 segment;  // first page of the run
    i64 room;     // size class + 1, 0 = no run
};

// Header field as the image keeps it: two words, little-endian, 8-byte aligned.
__device__ __forceinline__ i64* header_of(u32* image) { return reinterpret_cast<i64*>(image); }
__device__ __forceinline__ const i64* header_of(const u32* image) {
    return reinterpret_cast<const i64*>(image);
}

// ENTRY_WORDS is defined where a kernel is compiled for one width of entries: the compiler then
// knows the divisor and unrolls over the words.
__device__ __forceinline__ i64 entry_words_of(const Shape& shape) {
#ifdef ENTRY_WORDS
    return ENTRY_WORDS;
#else
    return shape.entry_words;
#endif
}

// Word of a vertex's record.
__device__ __forceinline__ i64 record_of(const Shape& shape, i64 vertex) {
    return shape.vertex_base + vertex * shape.vertex_words;
}

// Let the next launch begin, where the two may overlap (cuda/device/launches.py), once all blocks are here.
__device__ __forceinline__ void admit_next_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Wait until the launch before has ended, where the two may overlap.
__device__ __forceinline__ void await_previous_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Wait until the launch before has ended, and let the next one do the same. Every kernel that a list
// may have begins so, or as below, before it reads what another kernel of the list writes, or writes
// anything.
__device__ __forceinline__ void follow_previous_launch() {
    admit_next_launch();
    await_previous_launch();
}

// The same of a kernel that the next one may run beside: all that came before has ended when that
// one begins.
__device__ __forceinline__ void follow_and_lead() {
    await_previous_launch();
    admit_next_launch();
}

// Follow the launch before the previous one, which calls `follow_and_lead`: it has ended. A kernel that
// runs `beside` the previous launch neither reads what that one writes nor writes what it reads,
// and awaits it in the block that ends last, or in all blocks, and nowhere else.
__device__ __forceinline__ void run_beside_previous_launch() {
    admit_next_launch();
    __threadfence();  // nothing that was read here before is taken for what is there now
}

#include "runs.cuh"

// Word of entry 0 of a run of `pages` pages whose first page is `segment`.
__device__ __forceinline__ i64 segment_base(const Shape& shape, i64 segment, i64 pages) {
    return shape.page_end - (segment + pages) * shape.page_words;
}

// Words from one entry to the next, and from one word of an entry to the next.
__device__ __forceinline__ i64 entry_step(const Shape& shape) {
    return shape.soa ? 1 : entry_words_of(shape);
}
__device__ __forceinline__ i64 entry_field(const Shape& shape, i64 entries) {
    return shape.soa ? entries : 1;
}

// A run of this room from this page, with this degree.
__device__ __forceinline__ Adjacency adjacency_at(
        const Shape& shape, i64 segment, int room, i64 degree) {
    Adjacency found;
    found.segment = segment;
    found.room = room;
    found.degree = degree;
    found.entries = segment_entries(shape, room);
    found.base = room == 0 ? 0 : segment_base(shape, segment, segment_pages(room));
    found.step = entry_step(shape);
    found.field = entry_field(shape, found.entries);
    return found;
}

// A vertex's adjacency; degree 0 for a vertex that is absent, or at or beyond the table's end.
__device__ __forceinline__ Adjacency open_adjacency(
        const u32* image, const Shape& shape, i64 vertex) {
    if (vertex >= shape.vertex_count) return adjacency_at(shape, 0, 0, 0);
    const u32* record = image + record_of(shape, vertex);
    return adjacency_at(shape, record[shape.first_word], room_of(shape, record[0]),
                        record[shape.degree_word]);
}

// Position of the first of `degree` sorted entries whose neighbor is not below `column`.
__device__ __forceinline__ i64 lower_bound(
        const u32* image, i64 base, i64 step, i64 degree, u32 column) {
    // In 32 bits, with a multiplication that widens: the address of a step is one instruction.
    const u32* row = image + base;
    const u32 stride = static_cast<u32>(step);
    u32 low = 0;
    u32 left = static_cast<u32>(degree);
    while (left > 1) {
        const u32 half = left >> 1;
        if (row[static_cast<u64>(low + half - 1) * stride] < column) low += half;
        left -= half;
    }
    return low + (left && row[static_cast<u64>(low) * stride] < column);
}

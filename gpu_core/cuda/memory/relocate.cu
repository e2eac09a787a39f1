// relocate.cu -- move every adjacency into another image: compaction and growth.
//
// Part of     arena.prepare, where free pages do not suffice; arena.after_batch, where an image aged
// Caller      gpu_core/cuda/memory/relocate.py
// Host twin   gpu_core/host/memory/relocate.py: every run gets the same page as there
//
// A run goes to the next free position of its size class, vertex by vertex in order of index. So its
// position is its rank among the runs of its class: tiles of vertices are counted (`count_runs`),
// the counts added up (`rank_tiles`), and ranks within a tile are counted again where they are used
// (`place_runs`).
//
// Tight runs are the smallest that hold their rows; otherwise each row has the size that it had.
//
// Words are copied by destination (`copy_runs`), so that neighboring threads write neighboring
// words and a long run is spread over the device. Where a run came from is written into its first
// two words in the new image, the one position that is there and not used yet; `copy_first_words` puts
// them right when all others are copied.
#include "pages.cuh"

constexpr int WARPS = THREADS / 32;

// Size class that a vertex's run moves to, -1 where there is none.
__device__ __forceinline__ int class_of_run(
        const u32* image, const Shape& shape, i64 vertex, bool tight) {
    if (vertex >= shape.vertex_count) return -1;
    const u32* record = image + record_of(shape, vertex);
    const int room = room_of(shape, record[STATE_WORD]);
    return (tight ? room_after(shape, 0, record[shape.degree_word]) : room) - 1;
}

// Pages of a vertex's adjacency, in a layout of pages.
__device__ __forceinline__ u32 pages_at(const u32* image, const Shape& shape, i64 vertex) {
    if (vertex >= shape.vertex_count) return 0;
    return static_cast<u32>(pages_of(shape, image[record_of(shape, vertex) + shape.degree_word]));
}

// A run of the old image.
struct Origin {
    i64 base;  // its first word
    int room;
};

// As the first two words of the run in the new image keep it: the page after the run, the room.
__device__ __forceinline__ void mark_origin(u32* run, u32 first, int room) {
    run[0] = first + static_cast<u32>(segment_pages(room));
    run[1] = static_cast<u32>(room);
}

__device__ __forceinline__ Origin origin_of(const u32* run, const Shape& old_shape) {
    return {segment_base(old_shape, run[0], 0), static_cast<int>(run[1])};
}

// Copy words `word` and `word + 1` of a run that has `room` in the new image.
__device__ __forceinline__ void copy_pair(
        const u32* __restrict__ old, const Shape& shape, Origin origin, u32* run, int room,
        i64 word) {
    if (shape.soa && shape.entry_words > 1 && room != origin.room) {
        // The words of an entry lie as far apart as the run has room for entries.
        const i64 entries = segment_entries(shape, room);
        const i64 more = segment_entries(shape, origin.room) - entries;
        for (i64 at = word; at < word + 2; ++at) {
            const i64 field = at / entries;
            run[at] = field < shape.entry_words ? old[origin.base + at + field * more] : 0;
        }
    } else {
        *reinterpret_cast<u64*>(run + word) =
            *reinterpret_cast<const u64*>(old + origin.base + word);
    }
}

// Lanes of the warp whose `size_class`, from -1 to 31, is the same as this one's.
__device__ __forceinline__ u32 same_class(int size_class) {
    u32 same = FULL_WARP;
    for (int bit = 0; bit < 6; ++bit) {
        const bool set = (size_class + 1) >> bit & 1;
        const u32 lanes = __ballot_sync(FULL_WARP, set);
        same &= set ? lanes : ~lanes;
    }
    return same;
}

// Launch    one block a tile of `tile_vertices` vertices, a multiple of THREADS
// Writes    counts u32[CLASSES, tiles]: runs of each class; of a layout of pages the pages, in class 0
extern "C" __global__ void __launch_bounds__(THREADS) count_runs(
        const u32* __restrict__ image, Shape shape, i64 tight, i64 tile_vertices, u32* counts) {
    __shared__ u32 runs[CLASSES];
    if (threadIdx.x < CLASSES) runs[threadIdx.x] = 0;
    __syncthreads();
    const i64 begin = blockIdx.x * tile_vertices;
    if (is_paged(shape)) {
        u32 pages = 0;
        for (i64 i = threadIdx.x; i < tile_vertices; i += THREADS) pages += pages_at(image, shape, begin + i);
        atomicAdd(&runs[0], pages);
    }
    for (i64 i = threadIdx.x; i < tile_vertices && !is_paged(shape); i += THREADS) {
        const int size_class = class_of_run(image, shape, begin + i, tight);
        const u32 same = same_class(size_class);
        if (size_class >= 0 && lane_of_thread() == __ffs(same) - 1) {
            atomicAdd(&runs[size_class], static_cast<u32>(__popc(same)));
        }
    }
    __syncthreads();
    if (threadIdx.x < CLASSES) {
        counts[static_cast<i64>(threadIdx.x) * gridDim.x + blockIdx.x] = runs[threadIdx.x];
    }
}

// Launch    one block of a warp a class
// Writes    counts: replaced by the runs in the tiles before; totals i64[CLASSES]
extern "C" __global__ void __launch_bounds__(32 * CLASSES) rank_tiles(
        i64 tiles, u32* counts, i64* totals) {
    const int size_class = warp_of_thread();
    u32* row = counts + size_class * tiles;
    u32 before = 0;
    for (i64 base = 0; base < tiles; base += WARP) {
        const i64 i = base + lane_of_thread();
        const u32 runs = i < tiles ? row[i] : 0;
        u32 total;
        const u32 rank = before + warp_exclusive_sum(runs, total);
        if (i < tiles) row[i] = rank;
        before += total;
    }
    if (lane_of_thread() == 0) totals[size_class] = before;
}

// Launch    as `count_runs`
// Writes    first pages and rooms in the new records; in each run where it comes from
extern "C" __global__ void __launch_bounds__(THREADS) place_runs(
        const u32* __restrict__ old, Shape old_shape, u32* fresh, Shape new_shape, i64 tight,
        i64 tile_vertices, const u32* __restrict__ ranks, const i64* __restrict__ following) {
    __shared__ u32 next[CLASSES];         // rank of the next run of each class
    __shared__ u32 runs[WARPS][CLASSES];  // of each warp, in this pass
    if (threadIdx.x < CLASSES) {
        next[threadIdx.x] = ranks[static_cast<i64>(threadIdx.x) * gridDim.x + blockIdx.x];
    }
    const i64 begin = blockIdx.x * tile_vertices;
    const u32 warp = warp_of_thread();
    for (i64 i = threadIdx.x; i < tile_vertices; i += THREADS) {
        const i64 vertex = begin + i;
        const int size_class = class_of_run(old, old_shape, vertex, tight);
        const u32 same = same_class(size_class);
        const u32 below = same & ((1u << lane_of_thread()) - 1);
        runs[warp][lane_of_thread()] = 0;
        __syncwarp();
        if (size_class >= 0 && below == 0) runs[warp][size_class] = __popc(same);
        __syncthreads();
        if (size_class >= 0) {
            u32 rank = next[size_class] + __popc(below);
            for (u32 other = 0; other < warp; ++other) rank += runs[other][size_class];
            const i64 position = following[size_class] + (static_cast<i64>(rank) << size_class);
            const i64 pages = i64(1) << size_class;
            const u32* record = old + record_of(old_shape, vertex);
            mark_origin(fresh + segment_base(new_shape, position, pages),
                        record[old_shape.first_word], room_of(old_shape, record[STATE_WORD]));
            u32* moved = fresh + record_of(new_shape, vertex);
            moved[new_shape.first_word] = static_cast<u32>(position);
            reinterpret_cast<u8*>(moved + STATE_WORD)[new_shape.class_shift >> 3] =
                static_cast<u8>(size_class + 1);
        }
        __syncthreads();
        if (threadIdx.x < CLASSES) {
            for (int other = 0; other < WARPS; ++other) next[threadIdx.x] += runs[other][threadIdx.x];
        }
        __syncthreads();
    }
}

// Runs of all classes as one sequence, counted in units of `1 << unit_shift` to a page.
struct Sequence {
    i64 end[CLASSES];
};

__device__ __forceinline__ void open_sequence(
        Sequence& sequence, const i64* __restrict__ counts, bool pages, int unit_shift) {
    if (threadIdx.x < CLASSES) {
        const i64 runs = counts[threadIdx.x];
        const i64 units = pages ? runs << threadIdx.x << unit_shift : runs;
        sequence.end[threadIdx.x] = warp_inclusive_sum(units);
    }
    __syncthreads();
}

// Class of unit `i`; `i` becomes the number within the class.
__device__ __forceinline__ int class_of_unit(const Sequence& sequence, i64& i) {
    int size_class = 0;
    for (int step = CLASSES / 2; step > 0; step /= 2) {
        if (sequence.end[size_class + step - 1] <= i) size_class += step;
    }
    if (size_class > 0) i -= sequence.end[size_class - 1];
    return size_class;
}

// Launch    any grid, for each direction; a thread copies two words at a time
// Reads     begin i64[CLASSES]: first page of the placed runs; counts i64[CLASSES]
// Needs     page areas that end at even words, as they do
extern "C" __global__ void __launch_bounds__(THREADS) copy_runs(
        const u32* __restrict__ old, Shape old_shape, u32* fresh, Shape new_shape,
        const i64* __restrict__ begin, const i64* __restrict__ counts) {
    __shared__ Sequence sequence;
    const int unit_shift = __ffsll(old_shape.page_words) - 2;
    open_sequence(sequence, counts, true, unit_shift);
    const i64 units = sequence.end[CLASSES - 1];
    for (i64 i = thread_of_grid(); i < units; i += threads_of_grid()) {
        i64 unit = i;
        const int size_class = class_of_unit(sequence, unit);
        const i64 pages = i64(1) << size_class;
        const i64 number = unit >> (size_class + unit_shift);
        const i64 word = 2 * (unit - (number << (size_class + unit_shift)));
        if (word == 0) continue;
        const i64 position = begin[size_class] + (number << size_class);
        u32* run = fresh + segment_base(new_shape, position, pages);
        copy_pair(old, old_shape, origin_of(run, old_shape), run, size_class + 1, word);
    }
}

// Launch    any grid; after `copy_runs`, with the same arguments
extern "C" __global__ void __launch_bounds__(THREADS) copy_first_words(
        const u32* __restrict__ old, Shape old_shape, u32* fresh, Shape new_shape,
        const i64* __restrict__ begin, const i64* __restrict__ counts) {
    __shared__ Sequence sequence;
    open_sequence(sequence, counts, false, 0);
    const i64 runs = sequence.end[CLASSES - 1];
    for (i64 i = thread_of_grid(); i < runs; i += threads_of_grid()) {
        i64 number = i;
        const int size_class = class_of_unit(sequence, number);
        const i64 pages = i64(1) << size_class;
        const i64 position = begin[size_class] + (number << size_class);
        u32* run = fresh + segment_base(new_shape, position, pages);
        copy_pair(old, old_shape, origin_of(run, old_shape), run, size_class + 1, 0);
    }
}

// Launch    as `count_runs`
// Reads     ranks u32[tiles]: pages in the tiles before
// Writes    pages of the new image from `following` on, their links, and first pages in its records
// Cost      a dependent read for each page of a row; a warp copies a page at a time
// Registers 64 at most: it spills below them, as soon as there are three layouts of pages
extern "C" __global__ void __launch_bounds__(THREADS, 4) move_pages(
        const u32* __restrict__ old, Shape old_shape, u32* fresh, Shape new_shape,
        i64 tile_vertices, const u32* __restrict__ ranks, i64 following) {
    const i64 begin = blockIdx.x * tile_vertices;
    i64 next = following + ranks[blockIdx.x];
    for (i64 i = threadIdx.x; i < tile_vertices; i += THREADS) {
        const i64 vertex = begin + i;
        const u32 pages = pages_at(old, old_shape, vertex);
        u32 all;
        const i64 position = next + block_exclusive_sum<u32, THREADS>(pages, all);
        next += all;
        i64 page = 0;
        if (pages > 0) {
            page = old[record_of(old_shape, vertex) + old_shape.first_word];
            fresh[record_of(new_shape, vertex) + new_shape.first_word] = static_cast<u32>(position);
        }
        for (u32 waiting = __ballot_sync(FULL_WARP, pages > 0); waiting != 0; waiting &= waiting - 1) {
            const int lane = __ffs(waiting) - 1;
            const u32 count = __shfl_sync(FULL_WARP, pages, lane);
            const i64 to = __shfl_sync(FULL_WARP, position, lane);
            const i64 first = __shfl_sync(FULL_WARP, page, lane);
            i64 from = first;
            for (u32 number = 0; number < count; ++number) {
                const u32* words = old + page_base(old_shape, from);
                u32* copy = fresh + page_base(new_shape, to + number);
                for (i64 word = lane_of_thread(); word < old_shape.page_words; word += WARP) {
                    copy[word] = words[word];
                }
                if (number + 1 < count) from = page_after(old, old_shape, first, from, number + 1);
            }
            // Links last: a page is copied with links into the old image.
            __syncwarp();
            for (i64 number = lane_of_thread() + 1; number < count; number += WARP) {
                fresh[link_word(new_shape, to + parent_of(new_shape, number), number)] =
                    static_cast<u32>(to + number);
            }
        }
    }
}

// raw_edges.cuh -- sorted raw edge rows, and the CSR lists made of them.
//
// Keys        narrow: src | dst | tail, relative to the smallest ids, `dst_bits` and `tail_bits` wide
//             wide: src alone, and `wide_dst` the destinations by row
// Tail        position of the row << 1 | is insert; what is not needed of it is left out. It is the
//             low bits of the key, or, where it does not fit, `tails` beside the keys
// Order       sorted by edge and, within an edge, by position: the sort is stable
#pragma once
#include "block.cuh"

// Rows in order; passed by value.
struct Sorted {
    const u64* keys;
    const u32* tails;
    const i64* wide_dst;
    i64 count;
    i64 src_low;
    i64 dst_low;
    i64 dst_bits;
    i64 tail_bits;
    i64 all_inserts;

    // Of narrow keys.
    __device__ __forceinline__ u64 edge_of(u64 key) const { return key >> tail_bits; }
    __device__ __forceinline__ u32 tail_of(u64 key) const {
        return static_cast<u32>(key & ((u64(1) << tail_bits) - 1));
    }
    __device__ __forceinline__ bool is_insert_key(u64 key) const { return all_inserts || (key & 1); }
    __device__ __forceinline__ i64 src_of(u64 key) const {
        return static_cast<i64>((edge_of(key) >> dst_bits) + static_cast<u64>(src_low));
    }
    __device__ __forceinline__ i64 dst_of(u64 key) const {
        const u64 offset = edge_of(key) & ((u64(1) << dst_bits) - 1);
        return static_cast<i64>(offset + static_cast<u64>(dst_low));
    }

    __device__ __forceinline__ u32 tail(i64 i) const { return tails ? tails[i] : tail_of(keys[i]); }
    __device__ __forceinline__ bool is_insert(i64 i) const { return all_inserts || (tail(i) & 1); }
    __device__ __forceinline__ i64 src(i64 i) const {
        if (!wide_dst) return src_of(keys[i]);
        return static_cast<i64>(edge_of(keys[i]) + static_cast<u64>(src_low));
    }
    __device__ __forceinline__ i64 dst(i64 i) const {
        return wide_dst ? wide_dst[tail(i) >> 1] : dst_of(keys[i]);
    }
    __device__ __forceinline__ bool same(i64 i, i64 j) const {
        if (edge_of(keys[i]) != edge_of(keys[j])) return false;
        return !wide_dst || dst(i) == dst(j);
    }
    // Last row of the edge of row i, by steps that double and then halve.
    __device__ __forceinline__ i64 last_of(i64 i) const {
        i64 step = 1;
        while (i + step < count && same(i, i + step)) step *= 2;
        i64 last = i + step / 2;
        i64 beyond = min(i + step, count);
        if (step == 1) last = i;
        while (beyond - last > 1) {
            const i64 middle = last + (beyond - last) / 2;
            if (same(i, middle)) last = middle;
            else beyond = middle;
        }
        return last;
    }
    __device__ __forceinline__ i64 first_of(i64 i) const {
        i64 step = 1;
        while (i - step >= 0 && same(i, i - step)) step *= 2;
        i64 first = step == 1 ? i : i - step / 2;
        i64 before = max(i - step, i64(-1));
        while (first - before > 1) {
            const i64 middle = before + (first - before) / 2;
            if (same(i, middle)) first = middle;
            else before = middle;
        }
        return first;
    }
};

// What kernels say of a batch: u32 each, 0 before.
struct alignas(8) Counts {
    u32 puts;
    u32 deletes;
    // Loops dropped, and deletes of edges that the batch inserts before.
    u32 loops;
    u32 revoked;
    // Sources of the puts and of the deletes; 1 + their largest ids, where those are narrow.
    u32 rows[2];
    u32 beyond[2];
};
// Words of the report to the host: the counts, then the faults.
constexpr u32 FAULTS_WORD = sizeof(Counts) / sizeof(u32);

enum Fault : u32 { OUT_OF_BOUNDS = 1, BUCKET_OVERFULL = 2 };

// Where counts and faults of a batch are reported; passed by value.
struct Report {
    Counts* counts;
    // Bits of `Fault` so far; 0 before the first launch and after the last one.
    u32* faults;
    // 0 before and after each launch.
    u32* ticket;
    // Page-locked: the counts and the faults, from the batch's last launch.
    u32* host;

    // For all threads of all blocks of the last launch, at its end.
    __device__ __forceinline__ void finish() const {
        if (!is_last_block(ticket)) return;
        const u32 i = threadIdx.x;
        if (i < FAULTS_WORD) host[i] = __ldcg(reinterpret_cast<const u32*>(counts) + i);
        if (i == FAULTS_WORD) {
            host[i] = __ldcg(faults);
            *faults = 0;
        }
    }
};

// Kept rows of one kind, and the CSR that they become; passed by value. Ids are u32 or i64.
struct OutputList {
    // Positions in the order, as many as `Counts` says.
    u32* at;
    // Sources that begin before each tile.
    u32* tiles;
    void* rows;
    u32* indptr;
    void* columns;
    // Of each edge: its deciding row, the first insert after its last delete, and whether a row before
    // says the contrary; null where not asked for.
    u32* positions;
    u32* firsts;
    u8* switched;
};

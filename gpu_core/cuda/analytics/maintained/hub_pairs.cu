// hub_pairs.cu -- maintained triangles: changed edges of hubs, whose rows are looked for in shared memory.
//
// Caller      gpu_core/cuda/analytics/maintained/hub_pairs.py
//
// Pairs whose longer row is of one vertex are put together. Where they have enough entries to look up, that
// vertex is a *hub*: a block puts its row into a hash table in shared memory, and looks there for every entry
// of the shorter rows, where a binary search would take ten accesses to memory and more. A row that is
// too long for the table is taken in parts, of one range of vertices each, and so are the shorter rows.
// Blocks take tiles of the entries of all hubs; of a hub with parts, those parts whose share of its entries
// begins in the tile.
//
// Pairs       in the order of their hubs, all others after them
//             sides    u64[pairs]: vertex of the longer row (of others: all bits set) << 32 | of the shorter
//             numbers  u32[pairs]: where each stands in keys
//             starts   i64[pairs + 1]: entries of the shorter rows before each
//
// Source      hash tables in shared memory as of triangles.cu; that changed edges share them is ours
#include "found_triangles.cuh"

constexpr int HUB_THREADS = 640;
constexpr int HUB_BLOCKS = 2;
constexpr int HUB_WARPS = HUB_THREADS / WARP;
// Blocks that have room in the shared memory of a multiprocessor; before Hopper two have not.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int RESIDENT_BLOCKS = 1;
#else
constexpr int RESIDENT_BLOCKS = HUB_BLOCKS;
#endif
// Keys of a bucket of the table, and how many of them are taken at most.
constexpr u32 TABLE_KEYS = 4;
constexpr u32 TABLE_ENTRIES = 2;
constexpr u32 EMPTY = 0xFFFFFFFFu;
// Entries that a block takes at a time, at least, and of a hub those that a warp takes.
constexpr i64 LEAST_TILE = 16384;
constexpr i64 TILES_A_BLOCK = 24;
constexpr i64 LEAST_CHUNK = 128;
constexpr i64 MOST_CHUNK = 2048;
// Entries whose triangles are counted in 32 bits, before these are added to all.
constexpr i64 MOST_COUNTED = 1 << 30;
// Entries that a thread asks for before it looks at the first.
constexpr int ROUND = 4;

struct PairSides {
    u32 longer;
    u32 shorter;
};

// As of pairs.cuh: of rows of one length that of the lower end is the shorter one.
__device__ __forceinline__ PairSides sides_of(u64 key, const u32* __restrict__ degree) {
    const u32 u = lower_end(key);
    const u32 v = higher_end(key);
    return degree[u] <= degree[v] ? PairSides{v, u} : PairSides{u, v};
}

// Count the entries that are looked up in the row of each vertex, and make a set of the keys.
//
// Launch      one thread a pair
// Adds to     entries        u64[vertices]
//             changed_slots  u64[2^changed_bits], 0 before
extern "C" __global__ void __launch_bounds__(THREADS)
weigh_hubs(const u64* __restrict__ keys, const i64 pairs, const u32* __restrict__ degree, u64* entries,
           u64* changed_slots, const i64 changed_bits) {
    const i64 pair = thread_of_grid();
    if (pair >= pairs) return;
    const PairSides sides = sides_of(keys[pair], degree);
    atomicAdd(&entries[sides.longer], static_cast<u64>(degree[sides.shorter]));
    KeySet{changed_slots, changed_bits}.add(keys[pair]);
}

// Keys that put pairs of one hub together, and all others last.
//
// Launch      one thread a pair
// Parameters  bits       of a vertex index; all ones is none
//             least      entries of a hub's pairs, at least, and not fewer than its own row has
// Writes      sides      the upper half of others has all of these bits set
//             numbers
//             hub_pairs  u64, 0 before: pairs of hubs
extern "C" __global__ void __launch_bounds__(THREADS)
order_pairs(const u64* __restrict__ keys, const i64 pairs, const u32* __restrict__ degree,
            const u64* __restrict__ entries, const u64 least, const i64 bits, u64* __restrict__ sides,
            u32* __restrict__ numbers, u64* hub_pairs) {
    const i64 pair = thread_of_grid();
    bool is_of_hub = false;
    if (pair < pairs) {
        const PairSides own = sides_of(keys[pair], degree);
        is_of_hub = entries[own.longer] >= max(least, static_cast<u64>(degree[own.longer]));
        const u64 longer = is_of_hub ? own.longer : (u64(1) << bits) - 1;
        sides[pair] = longer << 32 | own.shorter;
        numbers[pair] = static_cast<u32>(pair);
    }
    const u32 found = block_sum<u32, THREADS>(is_of_hub);
    if (threadIdx.x == 0 && found) atomicAdd(hub_pairs, static_cast<u64>(found));
}

// Lengths of the shorter rows, and where the pairs of each hub begin and end.
//
// Launch      one thread a pair
// Writes      lengths  u32[pairs]
//             groups   u32[2 vertices], of hubs
extern "C" __global__ void __launch_bounds__(THREADS)
measure_ordered(const u64* __restrict__ sides, const i64 pairs, const u64* __restrict__ hub_pairs,
                const u32* __restrict__ degree, u32* __restrict__ lengths, u32* __restrict__ groups) {
    const i64 pair = thread_of_grid();
    if (pair >= pairs) return;
    const u64 own = sides[pair];
    lengths[pair] = degree[higher_end(own)];
    const i64 end = static_cast<i64>(*hub_pairs);
    if (pair >= end) return;
    const u32 hub = lower_end(own);
    if (pair == 0 || lower_end(sides[pair - 1]) != hub) groups[2 * hub] = static_cast<u32>(pair);
    if (pair + 1 == end || lower_end(sides[pair + 1]) != hub) groups[2 * hub + 1] = static_cast<u32>(pair + 1);
}

// Entries of a hub's row. A bucket is filled from its first key on; what finds it full goes to the next one.
class RowTable {
  public:
    // `keys` is shared memory of 2^bits buckets, aligned to their size.
    __device__ __forceinline__ RowTable(u32* keys, i64 bits) : keys_(keys), bits_(static_cast<u32>(bits)) {}

    // Entries that it holds at once.
    __device__ __forceinline__ u32 entries() const { return TABLE_ENTRIES << bits_; }

    // Take `count` entries that lie `step` words apart, with as many buckets if there are so many. All threads of
    // the block call; nobody reads meanwhile.
    __device__ __forceinline__ void fill(const u32* entries, u32 step, u32 count) {
        const u32 bits = min(max(32 - static_cast<u32>(__clz(count - 1)), 1u), bits_);
        shift_ = 32 - bits;
        mask_ = (1u << bits) - 1;
        uint4* const buckets = reinterpret_cast<uint4*>(keys_);
        for (u32 i = threadIdx.x; i <= mask_; i += HUB_THREADS) {
            buckets[i] = make_uint4(EMPTY, EMPTY, EMPTY, EMPTY);
        }
        __syncthreads();
        for (u32 first = threadIdx.x; first < count; first += ROUND * HUB_THREADS) {
            u32 vertices[ROUND];
#pragma unroll
            for (int k = 0; k < ROUND; ++k) {
                const u32 i = first + k * HUB_THREADS;
                vertices[k] = i < count ? entries[static_cast<u64>(i) * step] : EMPTY;
            }
#pragma unroll
            for (int k = 0; k < ROUND; ++k) {
                if (vertices[k] != EMPTY) insert(vertices[k]);
            }
        }
        __syncthreads();
    }
    // Whether its first bucket has a vertex, or is full: then others may.
    __device__ __forceinline__ bool may_have(u32 vertex) const {
        const uint4 keys = reinterpret_cast<const uint4*>(keys_)[bucket_of(vertex)];
        return keys.x == vertex || keys.y == vertex || keys.z == vertex || keys.w == vertex || keys.w != EMPTY;
    }
    __device__ __forceinline__ bool has(u32 vertex) const {
        u32 bucket = bucket_of(vertex);
        while (true) {
            const uint4 keys = reinterpret_cast<const uint4*>(keys_)[bucket];
            if (keys.x == vertex || keys.y == vertex || keys.z == vertex || keys.w == vertex) return true;
            if (keys.w == EMPTY) return false;
            bucket = (bucket + 1) & mask_;
        }
    }

  private:
    __device__ __forceinline__ u32 bucket_of(u32 vertex) const { return vertex * 0x9E3779B1u >> shift_; }
    __device__ __forceinline__ void insert(u32 vertex) {
        for (u32 at = TABLE_KEYS * bucket_of(vertex);; ++at) {
            at &= TABLE_KEYS * (mask_ + 1) - 1;
            if (atomicCAS(&keys_[at], EMPTY, vertex) == EMPTY) return;
        }
    }
    u32* keys_;
    u32 bits_;
    // Of the buckets that are in use.
    u32 shift_ = 0;
    u32 mask_ = 0;
};

// Triangles at vertices of large degree, which most triangles have, in shared memory: a slot for the vertices
// whose last bits are its number is that of one of them (hub_cache.cu).
class CornerCounts {
  public:
    // `words` is shared memory of 2^(bits + 1) words; `corners` u32[2^bits]: the vertex of each slot. All
    // threads of the block call.
    __device__ __forceinline__ CornerCounts(u32* words, const u32* __restrict__ corners, i64 bits,
                                            u64* triangles, u64 sign)
        : corners_(words), counts_(words + (1u << bits)), mask_((1u << bits) - 1),
          triangles_(triangles), sign_(sign) {
        for (u32 slot = threadIdx.x; slot <= mask_; slot += HUB_THREADS) {
            corners_[slot] = corners[slot];
            counts_[slot] = 0;
        }
        __syncthreads();
    }
    __device__ __forceinline__ void add(u32 vertex, u32 found) {
        const u32 slot = vertex & mask_;
        if (corners_[slot] == vertex) atomicAdd(&counts_[slot], found);
        else atomicAdd(&triangles_[vertex], sign_ * found);
    }
    // Add what is here to all triangles. All threads of the block call.
    __device__ __forceinline__ void flush() {
        __syncthreads();
        for (u32 slot = threadIdx.x; slot <= mask_; slot += HUB_THREADS) {
            const u32 found = counts_[slot];
            if (found) atomicAdd(&triangles_[corners_[slot]], sign_ * found);
            counts_[slot] = 0;
        }
        __syncthreads();
    }

  private:
    u32* corners_;
    u32* counts_;
    u32 mask_;
    u64* triangles_;
    u64 sign_;
};

// Pairs of a hub, in the order that they are walked in.
struct HubPairs {
    const u64* sides;
    const u32* numbers;
    const i64* starts;
};

// Vertices of a part of a hub's row, and all between them.
struct VertexRange {
    u32 first;
    u32 end;  // EMPTY: all from the first on
};

// Call visit(number, entries) for the entries from `from` to `to - 1` that are in the range, by the lanes of a
// warp: up to ROUND a lane, of one row; EMPTY where there is none.
//
// Pairs `low` to `high - 1` have them. Lanes read where 32 rows begin before these are walked one by one.
template <class Visit>
__device__ __forceinline__ void walk_pairs(const HubPairs& pairs, const PairRows& rows, VertexRange range,
                                           i64 from, i64 to, i64 low, i64 high, Visit visit) {
    const u32 lane = lane_of_thread();
    const u32 step = static_cast<u32>(rows.step);
    i64 first = item_of(pairs.starts, low, high - 1, from);
    while (from < to) {
        const i64 own = first + lane;
        const bool is_there = own < high && pairs.starts[own] < to;
        const i64 next = is_there ? pairs.starts[own + 1] : to;
        u32 number = 0, begin = 0, end = 0;  // of a row, and those of its entries that are walked
        i64 row = 0;
        if (is_there) {
            const i64 start = pairs.starts[own];
            number = pairs.numbers[own];
            row = rows.begin[higher_end(pairs.sides[own])];
            begin = static_cast<u32>(max(from - start, i64(0)));
            end = static_cast<u32>(min(next, to) - start);
            const auto not_below = [&](u32 neighbor) {
                const i64 at = row + static_cast<i64>(begin) * step;
                return begin + static_cast<u32>(lower_bound(rows.columns, at, step, end - begin, neighbor));
            };
            if (range.first > 0) begin = not_below(range.first);
            if (range.end != EMPTY) end = not_below(range.end);
        }
        const int count = __popc(__ballot_sync(FULL_WARP, is_there));
        for (int i = 0; i < count; ++i) {
            const u32* const columns = rows.columns + __shfl_sync(FULL_WARP, row, i);
            const u32 row_end = __shfl_sync(FULL_WARP, end, i);
            const u32 of_row = __shfl_sync(FULL_WARP, number, i);
            for (u32 at = __shfl_sync(FULL_WARP, begin, i); at < row_end; at += ROUND * WARP) {
                u32 entries[ROUND];
#pragma unroll
                for (int k = 0; k < ROUND; ++k) {
                    const u32 position = at + k * WARP + lane;
                    entries[k] = position < row_end ? columns[static_cast<u64>(position) * step] : EMPTY;
                }
                visit(of_row, entries);
            }
        }
        from = __shfl_sync(FULL_WARP, next, count - 1);
        first += count;
    }
}

// `count_common` of the pairs of hubs.
//
// Launch      HUB_THREADS threads, HUB_BLOCKS blocks a multiprocessor; shared memory of 2^bucket_bits buckets
//             and 2^(corner_bits + 1) words
// Reads       sides, numbers, starts, hub_pairs, groups
//             corners    u32[2^corner_bits], of hub_cache.cu
//             taken      u64, 0 before: tiles of entries that blocks have taken
// Adds to     triangles  u64[vertices]
// Cost        4 bytes read an entry, and 4 of the hub's row for each block that takes a tile of its pairs
extern "C" __global__ void __launch_bounds__(HUB_THREADS, RESIDENT_BLOCKS) count_common_of_hubs(
        const u64* __restrict__ keys, const u64* __restrict__ sides, const u32* __restrict__ numbers,
        const i64* __restrict__ starts, const u64* __restrict__ hub_pairs, const u32* __restrict__ groups,
        const i64* __restrict__ begin, const u32* __restrict__ degree, const u32* __restrict__ columns,
        const i64 step, u64* changed_slots, const i64 changed_bits, const i64 sign, u64* triangles,
        u64* taken, const i64 bucket_bits, const u32* __restrict__ corners, const i64 corner_bits) {
    extern __shared__ u32 words[];
    __shared__ FoundQueue<ROUND>::Held held[HUB_WARPS];
    __shared__ i64 next_tile;
    __shared__ u32 next_chunk;
    const i64 all_pairs = static_cast<i64>(*hub_pairs);
    const i64 all = starts[all_pairs];
    const i64 tile_entries = max(all / (gridDim.x * TILES_A_BLOCK) + 1, LEAST_TILE);
    const PairRows rows{{begin, degree, columns, step}};
    const HubPairs pairs{sides, numbers, starts};
    const ChangedPairs changed{keys, {changed_slots, changed_bits}};
    RowTable table(words, bucket_bits);
    CornerCounts counts(words + (TABLE_KEYS << bucket_bits), corners, corner_bits, triangles,
                        static_cast<u64>(sign));
    const auto add = [&](u32 vertex, u32 found) { counts.add(vertex, found); };
    const auto count = [&](bool is_there, u32 number, u32 w) {
        const u64 key = is_there ? keys[number] : 0;
        changed.count(is_there && table.has(w), number, lower_end(key), higher_end(key), w, add);
    };
    FoundQueue<ROUND> queue(held[warp_of_thread()]);
    const u32 lane = lane_of_thread();
    i64 counted = 0;

    // Look for entries `position` to `end - 1` of a hub's pairs `low` to `high - 1` in `length` entries of its
    // row from `first` on.
    const auto count_part = [&](u32 hub, u32 first, u32 length, i64 position, i64 end, i64 low, i64 high) {
        // An entry changes what is counted of a vertex by one at most.
        counted += end - position;
        if (counted > MOST_COUNTED) {
            counts.flush();
            counted = end - position;
        }
        const u32* const row = columns + begin[hub] + first * step;
        const VertexRange range{first ? *row : 0, first + length < degree[hub] ? row[length * step] : EMPTY};
        const i64 chunk = min(max((end - position) / (2 * HUB_WARPS), LEAST_CHUNK), MOST_CHUNK);
        if (threadIdx.x == 0) next_chunk = 0;
        table.fill(row, static_cast<u32>(step), length);
        while (true) {
            u32 number = 0;
            if (lane == 0) number = atomicAdd(&next_chunk, 1u);
            number = __shfl_sync(FULL_WARP, number, 0);
            const i64 from = position + number * chunk;
            if (from >= end) break;
            walk_pairs(pairs, rows, range, from, min(from + chunk, end), low, high,
                       [&](u32 number, const u32(&entries)[ROUND]) {
#pragma unroll
                           for (int k = 0; k < ROUND; ++k) {
                               queue.push(entries[k] != EMPTY && table.may_have(entries[k]), number, entries[k]);
                           }
                           queue.use_full(count);
                       });
        }
        queue.end(count);
        __syncthreads();  // the table has been read: it may be filled again
    };
    while (true) {
        if (threadIdx.x == 0) next_tile = atomicAdd(taken, u64(1));
        __syncthreads();
        i64 position = next_tile * tile_entries;
        if (position >= all) break;
        const i64 tile_end = min(position + tile_entries, all);
        i64 pair = item_of(starts, 0, all_pairs - 1, position);
        while (position < tile_end) {
            const u32 hub = lower_end(sides[pair]);
            const i64 low = groups[2 * hub], high = groups[2 * hub + 1];
            const i64 group = starts[low], group_end = starts[high];
            const i64 end = min(group_end, tile_end);
            const u32 parts = (degree[hub] - 1) / table.entries() + 1;
            if (parts == 1) {
                count_part(hub, 0, degree[hub], position, end, pair, high);
            } else {
                const i64 share = (group_end - group) / parts;
                for (i64 part = (position - group + share - 1) / share; part < parts; ++part) {
                    if (group + part * share >= end) break;
                    const u32 first = static_cast<u32>(part) * table.entries();
                    const u32 length = min(degree[hub] - first, table.entries());
                    for (i64 from = group; from < group_end; from += MOST_COUNTED) {
                        count_part(hub, first, length, from, min(from + MOST_COUNTED, group_end), low, high);
                    }
                }
            }
            position = end;
            pair = high;
        }
        __syncthreads();  // all have read which tile it was
    }
    counts.flush();
}

// hubs.cuh -- an order of rows by which what entries name often lies close together.
//
// Caller      gpu_core/cuda/analytics/parts/hubs/hubs.py
//
// Half of the entries of a skewed graph name a few thousand *hubs*. What a kernel gathers for each
// entry it then has in shared memory for hubs. Half of the other entries, or more, name *warm* vertices:
// some hundred thousand, whose values stay in the L2 cache where they lie side by side. So rows of such a
// graph have an order of their own: hubs, then warm vertices, then all others that are there (cold). Within
// a class neighboring vertices have neighboring rows; absent vertices have none. Entries of slices name rows,
// vectors are by row, and a row below `hubs.count()` is a hub's.
//
// Rows of about as many entries come to lie together: a slice (slices.cuh) takes as many rounds as its
// longest row, and of the cold ones few.
//
// Hubs and warm vertices are all from a certain degree on, so there may be fewer of them than there is room
// for; where hubs are named too seldom there are none, and rows are in the order of vertices.
#pragma once
#include "block.cuh"

// Row of an absent vertex.
constexpr u32 NO_ROW = 0xFFFFFFFFu;
// Degrees of hubs begin here.
constexpr u32 LEAST_HUB_DEGREE = 64;
// Classes of degrees below 2^31: one each below 32, then 16 for each power of two.
constexpr u32 DEGREE_CLASSES = 448;

// Which vertices are hubs; all 0 before they are chosen.
struct HubChoice {
    u32 classes[DEGREE_CLASSES];  // vertices of each class; of degree 0 they are not counted
    u32 hubs;
    u32 warm;
    u32 least_hub;   // degree of a hub
    u32 least_warm;  // degree of a hub or a warm vertex
    u32 rows;        // vertices that are there
    u32 listed[3];   // hubs, warm and cold vertices that have their rows
};

// Rows of 32 neighboring vertices. A vertex is a hub where it has both bits, warm where it has the high one,
// cold where it has the low one.
struct RowGroup {
    u32 low;
    u32 high;
    u64 firsts;  // first row of each class
};
// Bits of the first hub and of the first warm row; the first cold one has the others.
constexpr u32 HUB_BITS = 15;
constexpr u32 WARM_BITS = 21;
constexpr u32 COLD_BITS = 28;
static_assert(HUB_BITS + WARM_BITS + COLD_BITS == 64, "all of RowGroup::firsts");

__device__ __forceinline__ u64 firsts_of(u64 hub, u64 warm, u64 cold) {
    return hub | warm << HUB_BITS | cold << (HUB_BITS + WARM_BITS);
}
// Row of the vertex of a group that has this bit.
__device__ __forceinline__ u32 row_in(const RowGroup& group, u32 bit) {
    const bool is_low = group.low & bit;
    const bool is_high = group.high & bit;
    if (!is_low && !is_high) return NO_ROW;
    const u32 alike = (is_low ? group.low : ~group.low) & (is_high ? group.high : ~group.high);
    const u32 shift = !is_high ? HUB_BITS + WARM_BITS : is_low ? 0 : HUB_BITS;
    const u32 most = !is_high ? NO_ROW : is_low ? (1u << HUB_BITS) - 1 : (1u << WARM_BITS) - 1;
    return (static_cast<u32>(group.firsts >> shift) & most) + __popc(alike & (bit - 1));
}

// What kernels are given of them.
struct HubArrays {
    const HubChoice* choice;  // null: no hubs were asked for
    const uint4* groups;      // RowGroup[slices]
    const u32* order;         // u32[rows], the vertex of each; undefined, as groups, where there are no hubs
};

// The order of rows; that of vertices where there are no hubs.
class Hubs {
  public:
    __device__ __forceinline__ explicit Hubs(const HubArrays& arrays)
        : arrays_(arrays), count_(arrays.choice ? arrays.choice->hubs : 0) {}

    __device__ __forceinline__ u32 count() const { return count_; }
    // Number of rows, where there are hubs.
    __device__ __forceinline__ u32 rows() const { return arrays_.choice->rows; }
    __device__ __forceinline__ u32 row_of(u32 vertex) const {
        if (count_ == 0) return vertex;
        const uint4 words = __ldg(&arrays_.groups[vertex / WARP]);
        return row_in({words.x, words.y, static_cast<u64>(words.w) << 32 | words.z},
                      1u << (vertex % WARP));
    }
    __device__ __forceinline__ i64 vertex_of(i64 row) const { return count_ ? arrays_.order[row] : row; }

  private:
    const HubArrays& arrays_;
    u32 count_;
};

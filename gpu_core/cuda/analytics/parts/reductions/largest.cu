// largest.cu -- the vertices of the largest values, one a launch.
//
// Caller      gpu_core/cuda/analytics/parts/reductions/largest.py
// Host twin   gpu_core/table.py: largest()
#include "block.cuh"

constexpr int LARGEST_THREADS = 256;
// Of those that are finite.
constexpr double LARGEST_NUMBER = 1.7976931348623157e308;

// A vertex and its value; a value of -infinity stands for none.
struct Valued {
    double value;
    i64 key;
};

__device__ __forceinline__ Valued none() { return {__longlong_as_double(0xFFF0000000000000ll), 0}; }

// Whether a comes before b: the larger value does, of equal ones the smaller key.
__device__ __forceinline__ bool comes_before(const Valued& a, const Valued& b) {
    return a.value > b.value || (a.value == b.value && a.key < b.key);
}

// The first of the block, in every thread.
__device__ __forceinline__ Valued first_of_block(Valued own) {
    __shared__ Valued firsts[LARGEST_THREADS];
    firsts[threadIdx.x] = own;
    __syncthreads();
    for (u32 half = LARGEST_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half && comes_before(firsts[threadIdx.x + half], firsts[threadIdx.x])) {
            firsts[threadIdx.x] = firsts[threadIdx.x + half];
        }
        __syncthreads();
    }
    const Valued first = firsts[0];
    __syncthreads();
    return first;
}

// The vertex that comes next after those found.
//
// Launch      LARGEST_THREADS a block; once for each rank, 0 first
// Reads       values  f64[n]; those below `least`, infinity and what is no number are passed over
//             keys    i64[n], all different; null: 0, 1, 2 …
//             found   f64[ranks] values, then i64[ranks] keys; those before `rank`
// Writes      found   of `rank`: value and key; a value of -infinity: there is no other vertex
// Scratch     firsts  Valued[gridDim.x];  ticket  u32, 0
// Order       no two vertices are equal, so the order of comparisons makes no difference
extern "C" __global__ void __launch_bounds__(LARGEST_THREADS)
find_next_largest(const double* __restrict__ values, const i64* __restrict__ keys, const i64 n,
                  const double least, const i64 rank, const i64 ranks, u64* found, u64* firsts,
                  u32* ticket) {
    auto* found_values = reinterpret_cast<double*>(found);
    auto* found_keys = reinterpret_cast<i64*>(found + ranks);
    auto* candidates = reinterpret_cast<Valued*>(firsts);
    const bool is_first = rank == 0;
    const Valued before = is_first ? none() : Valued{found_values[rank - 1], found_keys[rank - 1]};
    Valued first = none();
    for (i64 i = thread_of_grid(); i < n; i += threads_of_grid()) {
        const double value = values[i];
        if (!(value >= least) || value > LARGEST_NUMBER) continue;
        const Valued here{value, keys ? keys[i] : i};
        if ((is_first || comes_before(before, here)) && comes_before(here, first)) first = here;
    }
    first = first_of_block(first);
    if (threadIdx.x == 0) candidates[blockIdx.x] = first;
    if (!is_last_block(ticket)) return;
    first = none();
    for (u32 block = threadIdx.x; block < gridDim.x; block += LARGEST_THREADS) {
        const Valued other{__ldcg(&candidates[block].value), __ldcg(&candidates[block].key)};
        if (comes_before(other, first)) first = other;
    }
    first = first_of_block(first);
    if (threadIdx.x == 0) {
        found_values[rank] = first.value;
        found_keys[rank] = first.key;
    }
}

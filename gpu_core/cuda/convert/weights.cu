// weights.cu -- weights in the type of a graph's records.
//
// Caller      gpu_core/cuda/convert/raw_edges.py
// Host twin   NumPy's astype
#include "block.cuh"
#include "floats.cuh"

// Weights as another type; CuPy's astype makes 0 of what is below 2^-126 as float32.
//
// Launch      one thread a weight
// Reads       wide    f64[count]
// Writes      narrow  f32[count]
extern "C" __global__ void narrow_weights(const double* __restrict__ wide, const i64 count,
                                          float* __restrict__ narrow) {
    const i64 i = thread_of_grid();
    if (i < count) narrow[i] = narrowed(wide[i]);
}

// Launch      one thread a weight
// Reads       narrow  f32[count]
// Writes      wide    f64[count]
extern "C" __global__ void widen_weights(const float* __restrict__ narrow, const i64 count,
                                         double* __restrict__ wide) {
    const i64 i = thread_of_grid();
    if (i < count) wide[i] = widened(narrow[i]);
}

// Whether each is another number when rounded.
//
// Launch      one thread a weight
// Reads       wide        f64[count]
// Writes      is_rounded  u8[count]
extern "C" __global__ void find_rounded(const double* __restrict__ wide, const i64 count,
                                        u8* __restrict__ is_rounded) {
    const i64 i = thread_of_grid();
    if (i < count) is_rounded[i] = widened(narrowed(wide[i])) != wide[i];
}

// spmv.cu -- sparse matrix-vector product, one warp a row.
//
// Caller      gpu_core/cuda/analytics/spmv.py
// Host twin   gpu_core/host/analytics/spmv.py
#include "block.cuh"
#include "floats.cuh"

constexpr int SPMV_THREADS = 256;

// y[row] = sum of w x over the row: lanes add up every 32nd entry, then the warp adds up its lanes.
//
// Launch      a warp a row
// Reads       rows of gpu_core/rows.py; weights f32 or wide_weights f64: one or none, others null
//             x       f64[vertices]
// Writes      y       f64[rows]
extern "C" __global__ void __launch_bounds__(SPMV_THREADS) multiply_rows(
        const i64* __restrict__ begin, const u32* __restrict__ degree, const u32* __restrict__ columns,
        const i64 step, const i64 rows, const float* __restrict__ weights,
        const double* __restrict__ wide_weights, const i64* __restrict__ weight_begin,
        const double* __restrict__ x, double* __restrict__ y) {
    const i64 row = thread_of_grid() / WARP;
    if (row >= rows) return;
    const i64 entries = degree[row];
    double sum = 0;
    for (i64 i = lane_of_thread(); i < entries; i += WARP) {
        const double value = x[columns[begin[row] + i * step]];
        if (wide_weights) {
            sum += wide_weights[weight_begin[row] + i * step] * value;
        } else if (weights) {
            sum += widened(weights[weight_begin[row] + i * step]) * value;
        } else {
            sum += value;
        }
    }
    sum = warp_sum(sum);
    if (lane_of_thread() == 0) y[row] = sum;
}

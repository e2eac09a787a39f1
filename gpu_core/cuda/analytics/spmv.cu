// spmv.cu -- sparse matrix-vector product, one warp a row.
//
// Caller      gpu_core/cuda/analytics/spmv.py
// Host twin   gpu_core/host/analytics/spmv.py
#include "row_arguments.cuh"


// y[row] = sum of w x over the row: lanes add up every 32nd entry, then the warp adds up its lanes.
//
// Launch      a warp a row
// Reads       x       f64[vertices]
// Writes      y       f64[rows]
extern "C" __global__ void __launch_bounds__(THREADS) multiply_rows(
        const WeightedRows weighted, const i64 count, const double* __restrict__ x,
        double* __restrict__ y) {
    const i64 row = thread_of_grid() / WARP;
    if (row >= count) return;
    const i64 entries = weighted.rows.degree[row];
    double sum = 0;
    for (i64 i = lane_of_thread(); i < entries; i += WARP) {
        sum += weighted.weight(row, i) * x[weighted.rows.neighbor(row, i)];
    }
    sum = warp_sum(sum);
    if (lane_of_thread() == 0) y[row] = sum;
}

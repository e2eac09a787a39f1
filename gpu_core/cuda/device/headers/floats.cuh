// floats.cuh -- arithmetic with float32 that keeps the smallest numbers.
//
// CuPy has NVRTC take floats below 2^-126 for 0 (-ftz=true, behind whatever options it is given), and edges
// may have such weights. What is written in assembler is compiled as it stands.
#pragma once

#ifdef __CUDA_ARCH__
__device__ __forceinline__ double widened(float value) {
    double wide;
    asm("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(value));
    return wide;
}
__device__ __forceinline__ float sum_of(float a, float b) {
    float sum;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
}
#else
__device__ __forceinline__ double widened(float value) { return value; }
__device__ __forceinline__ float sum_of(float a, float b) { return a + b; }
#endif
// Whether weights that add up to this can be divided by it, or drawn by: LEAST_STRENGTH of
// gpu_core/algorithms/centrality/pagerank.py.
__device__ __forceinline__ bool can_be_shared(double strength) {
    return strength == 0 || (strength >= 1e-280 && strength <= 1.7976931348623157e308);
}
// So that what is compiled for either type of weights reads alike.
__device__ __forceinline__ double widened(double value) { return value; }
__device__ __forceinline__ double sum_of(double a, double b) { return a + b; }

// alpha_draws.cu -- a kernel that hands out what `drawn_class` of watts_alpha.cuh answers.
//
// Launch      one block of 32 threads, so that few classes are several tiles
#include "watts_alpha.cuh"

extern "C" __global__ void __launch_bounds__(32) draw_classes(
        u64* sizes, const double* propensity, const i64 classes, const u64 start, const i64 choices, i64* found) {
    Model m{};
    m.sizes = sizes;
    m.propensity = propensity;
    m.classes = classes;
    m.start = static_cast<i64>(start);
    for (i64 choice = 0; choice < choices; ++choice) {
        const i64 common = drawn_class<32>(m, choice);
        if (threadIdx.x == 0) found[choice] = common;
    }
}

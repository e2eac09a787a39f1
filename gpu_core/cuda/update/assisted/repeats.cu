// repeats.cu -- combined weights of edges that a batch inserts again (on_repeat).
//
// Part of     what precedes the apply path where a graph's on_repeat is not "last"
// Caller      gpu_core/cuda/update/assisted/repeats.py
// Host twin   gpu_core/batch/net_effect/repeats.py: combined, combine_weights
#include "floats.cuh"
#include "search.cuh"

// Weights of a type: their largest finite number, and the largest count that one can be added to.
template <class Weight>
struct Most;
template <>
struct Most<float> {
    static constexpr float finite = 3.402823466e+38f;
    static constexpr float count = 16777216.f;
};
template <>
struct Most<double> {
    static constexpr double finite = 1.7976931348623157e+308;
    static constexpr double count = 9007199254740992.;
};

// Weight of an edge of weight `old` that is inserted with `fresh`; of a count both are counts.
template <class Weight>
__device__ __forceinline__ Weight combined(i64 rule, Weight old, Weight fresh) {
    if (rule == ON_REPEAT_SUM || rule == ON_REPEAT_COUNT) {
        const bool is_sum = rule == ON_REPEAT_SUM;
        const Weight most = is_sum ? Most<Weight>::finite : Most<Weight>::count;
        const Weight least = is_sum ? -Most<Weight>::finite : -Most<Weight>::count;
        const Weight sum = sum_of(old, fresh);
        return widened(sum) > widened(most) ? most : widened(sum) < widened(least) ? least : sum;
    }
    const bool is_less = widened(fresh) < widened(old), is_more = widened(fresh) > widened(old);
    if (rule == ON_REPEAT_MIN) return is_less ? fresh : old;
    if (rule == ON_REPEAT_MAX) return is_more ? fresh : old;
    return rule == ON_REPEAT_FIRST ? old : fresh;
}

// Weight of one put: `old` and `there` as the graph has its edge.
template <class Weight>
__device__ __forceinline__ Weight weight_of_put(
        i64 put, i64 rule, bool there, Weight old, const Weight* weight, const u32* repeat_puts,
        const Weight* repeat_weight, i64 repeats) {
    Weight value = weight[put];
    if (there) value = combined(rule, old, value);
    i64 at = first_not_before(0, repeats, [&](i64 i) { return repeat_puts[i] < put; });
    for (; at < repeats && repeat_puts[at] == put; ++at) {
        value = combined(rule, value, repeat_weight[at]);
    }
    return value;
}

// Weights of the puts of a batch once it is applied.
//
// Launch      one thread a put
// Reads       low, high      i64[puts]: word of the image where the edge's weight lies, -1: there is
//                            none; high null: weights are float32
//             reset          u8[puts]: what the graph has does not count
//             weight         float[puts] or double[puts]
//             repeat_puts    u32[repeats]: puts with further inserts, increasing; their weights beside
// Writes      out            as weight
// Cost        a search among the repeats a put
extern "C" __global__ void combine_weights(
        const u32* __restrict__ image, const i64* __restrict__ low, const i64* __restrict__ high,
        const u8* __restrict__ reset, const void* __restrict__ weight,
        const u32* __restrict__ repeat_puts, const void* __restrict__ repeat_weight,
        const i64 repeats, const i64 puts, const i64 rule, void* __restrict__ out) {
    const i64 put = thread_of_grid();
    if (put >= puts) return;
    const bool there = low[put] >= 0 && !reset[put];
    if (high) {
        u64 bits = 0;
        if (there) bits = static_cast<u64>(image[high[put]]) << 32 | image[low[put]];
        static_cast<double*>(out)[put] = weight_of_put(
            put, rule, there, __longlong_as_double(static_cast<i64>(bits)),
            static_cast<const double*>(weight), repeat_puts,
            static_cast<const double*>(repeat_weight), repeats);
    } else {
        static_cast<float*>(out)[put] = weight_of_put(
            put, rule, there, there ? __uint_as_float(image[low[put]]) : 0.f,
            static_cast<const float*>(weight), repeat_puts,
            static_cast<const float*>(repeat_weight), repeats);
    }
}

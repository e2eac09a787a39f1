// for_edges.cu -- an example of operator_text.py, for the check of the kernels: shortest paths.
//
// Never launched: each operator of a user is a text of its own. A test compares it with what is written.

#include "program_operations.cuh"

struct Arguments {
    const f64* a0;  // distance
    i64 num_vertices;
};

__device__ __forceinline__ f64 edge_of(f64 v_source_distance, f64 v_weight) {
    return (v_source_distance + v_weight);
}

typedef f64 Message;
typedef u64 Word;
constexpr bool WEIGHTED = true;
constexpr bool IS_SUM_OF_WHOLES = false;

__device__ __forceinline__ Message message_of(
        const Arguments& arguments, u32 source, u32 target, f64 weight, i64 degree) {
    return stored_real(edge_of(arguments.a0[source], weight));
}
__device__ __forceinline__ bool improves(Message one, Message other) {
    return other < one || (other != other && one == one);
}
__device__ __forceinline__ Message both(Message one, Message other) {
    return improves(one, other) ? other : one;
}
__device__ __forceinline__ Message neutral() { return infinity(); }

#include "for_edges.cuh"

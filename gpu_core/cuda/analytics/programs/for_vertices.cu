// for_vertices.cu -- an example of operator_text.py, for the check of the kernels: a filter.
//
// Never launched: each operator of a user is a text of its own. A test compares it with what is written.

#include "program_operations.cuh"

struct Arguments {
    const i64* a0;  // left
    const bool* a1;  // is_gone
    i64 n0;  // k
    i64 num_vertices;
};

__device__ __forceinline__ bool vertex_of(i64 v_left, bool v_is_gone, i64 v_k) {
    return ((v_left <= v_k) && (!v_is_gone));
}

constexpr bool FILTERS = true;

__device__ __forceinline__ bool visit(
        const Arguments& arguments, u32 vertex, i64 degree) {
    return vertex_of(arguments.a0[vertex], arguments.a1[vertex], arguments.n0);
}

#include "for_vertices.cuh"

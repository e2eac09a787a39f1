// programs.cu -- an example of program_text.py, for the check of the kernels: shortest paths.
//
// Never launched: each program of a user is a text of its own. A test compares it with what is written.

#include "program_operations.cuh"

typedef f64 Value;
typedef f64 Message;
typedef u64 Word;
constexpr bool WEIGHTED = true;
constexpr bool OF_ALL = false;
constexpr bool STOPS = false;
constexpr bool IS_SUM_OF_WHOLES = false;
constexpr u32 SHORT_ROW = 32;
constexpr u32 PIECE = 1024;
struct Changed { f64 value; bool is_active; };

__device__ __forceinline__ f64 edge_of(f64 v_source_value, f64 v_weight, i64, i64, i64, f64) {
    return (v_source_value + v_weight);
}

__device__ __forceinline__ Changed vertex_of(f64 v_old, f64 v_message, i64, i64, i64, f64) {
    return {least_real(v_old, v_message), (v_message < v_old)};
}

__device__ __forceinline__ bool wants_value(f64 v_value) {
    return true;
}

__device__ __forceinline__ f64 total_of(f64 v_value, i64, i64, i64, f64) {
    return 0.0;
}

__device__ __forceinline__ f64 change_of(f64 before, f64 after) {
    return change_real(before, after);
}

__device__ __forceinline__ f64 combined_of(f64 one, f64 other) {
    return other < one || other != other ? other : one;
}

__device__ __forceinline__ Message both(Message one, Message other) {
    return static_cast<Message>(combined_of(one, other));
}
__device__ __forceinline__ Message neutral() { return static_cast<Message>(infinity()); }
__device__ __forceinline__ Message identity() { return static_cast<Message>(infinity()); }

#include "programs.cuh"

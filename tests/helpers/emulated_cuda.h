// emulated_cuda.h -- enough of CUDA C++ to run the kernels of graphtide on a CPU, in g++.
//
// One thread of the host runs everything. The blocks of a grid run one after another; the threads
// of a block are fibers that hand over where CUDA makes them wait for one another: at barriers and
// at collectives of a warp. A collective is complete when every lane that its mask names, and that
// has not ended, is there; threads that meet at different lines of the source are an error, as is
// a wait that cannot end. Atomics are plain operations.
//
// Here is what kernels are compiled with. What is the same for all of them, the fibers and their
// order, is compiled once: emulated_cuda.cpp.
//
// Not here: memory order (everything is seen at once), races that need true concurrency, launches
// with more than one dimension, textures, double-precision atomics.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>


// What kernels share: everything else is hidden in the library of each.
#define EMULATED_SHARED __attribute__((visibility("default")))

namespace emulated {

struct Dim3 {
    unsigned x, y, z;
};

// Where in the source a thread waits. There is one of each for the life of the program, or one for
// each instance of a template.
struct Site {
    const char* what;
    const char* file;
    int line;
};

// --- threads, warps, blocks -------------------------------------------------------------------

struct Thread {
    Dim3 index{};
    unsigned lane = 0, warp = 0;
};

// The thread that runs, in its block and grid.
struct Running {
    Thread* thread;
    Dim3 block_index, block_dim, grid_dim;
};
extern EMULATED_SHARED Running running;

// A collective of the lanes of a mask. Lanes cannot be two collectives apart, so two sets of values
// are enough: a lane reads those of its own collective while others may fill the next.
struct Group {
    unsigned mask = 0, arrived = 0, generation = 0;
    const Site* site = nullptr;
    uint64_t values[2][32];
    unsigned present[2];  // lanes that took part
    // What one of the lanes has made of the values, for all.
    bool is_combined[2];
    uint64_t combined[2];
};

struct Gathered {
    Group& group;
    unsigned side;
    uint64_t value(unsigned lane) const { return group.values[side][lane]; }
    bool is_present(unsigned lane) const { return group.present[side] >> lane & 1; }
};

// Waits for the lanes of the mask; every one of them gets the values of all.
EMULATED_SHARED Gathered gather(unsigned mask, uint64_t value, const Site& site);

// Waits for the threads of the block; how many of them said that they count.
EMULATED_SHARED unsigned barrier(const Site& site, bool counts = false);

// Gives up the launch.
[[noreturn]] EMULATED_SHARED void trap();

// Shared memory of which the launch says how much; `emulated_device.py` says so in the place of
// ``extern __shared__``, and lets no launch have more.
constexpr size_t DYNAMIC_SHARED_BYTES = 4096;
extern EMULATED_SHARED char dynamic_shared_bytes[DYNAMIC_SHARED_BYTES];
template <class T>
T* dynamic_shared() {
    return reinterpret_cast<T*>(dynamic_shared_bytes);
}

// --- launching a function through void*, and saying what it takes --------------------------------

EMULATED_SHARED int launch(void (*run)(void**), void** arguments, unsigned blocks, unsigned threads, uint64_t seed,
           char* message, size_t message_bytes);

// What a kernel takes: numbers and structs of so many bytes, or what is at addresses.
struct Type {
    unsigned pointers;
    char kind;
    unsigned bytes;
};

template <class T>
constexpr Type type_of() {
    using Plain = std::remove_cv_t<T>;
    if constexpr (std::is_pointer_v<Plain>) {
        using Target = std::remove_cv_t<std::remove_pointer_t<Plain>>;
        if constexpr (std::is_void_v<Target>) return {1, 'v', 0};
        else return {type_of<Target>().pointers + 1, type_of<Target>().kind, type_of<Target>().bytes};
    } else if constexpr (std::is_same_v<Plain, bool>) {
        return {0, 'b', 1};
    } else if constexpr (std::is_floating_point_v<Plain>) {
        return {0, 'f', sizeof(Plain)};
    } else if constexpr (std::is_integral_v<Plain> || std::is_enum_v<Plain>) {
        return {0, std::is_signed_v<Plain> ? 'i' : 'u', sizeof(Plain)};
    } else {
        static_assert(alignof(Plain) == 8, "a launch puts structs at multiples of 8 bytes");
        return {0, 'V', sizeof(Plain)};
    }
}

EMULATED_SHARED void write_types(const Type* types, size_t count, char* text, size_t bytes);

template <class... P>
void signature(void (*)(P...), char* text, size_t bytes) {
    constexpr Type types[] = {type_of<P>()..., {}};
    write_types(types, sizeof...(P), text, bytes);
}

// The first of the numbers of ``__launch_bounds__``.
template <class... Rest>
constexpr unsigned first(unsigned bound, Rest...) {
    return bound;
}

template <class... P, size_t... I>
void call(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<P>*>(arguments[I])...);
}

template <class... P>
void call(void (*kernel)(P...), void** arguments) {
    call(kernel, arguments, std::index_sequence_for<P...>{});
}

template <class T>
uint64_t bits_of(T value) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "a shuffle moves 8 bytes at most");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
T value_of(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

inline unsigned lane() { return running.thread->lane; }

template <class T>
T shuffle(unsigned mask, T value, int source, int width, const Site& site) {
    const Gathered got = gather(mask, bits_of(value), site);
    // Outside the section of `width` lanes a lane keeps its own value.
    const int section = lane() / width;
    if (source < 0 || source / width != section) return value;
    return value_of<T>(got.value(source));
}

// The same for every lane: the first one that asks computes it.
template <class Combine>
uint64_t combined(const Gathered& got, Combine combine) {
    Group& group = got.group;
    if (!group.is_combined[got.side]) {
        group.combined[got.side] = combine();
        group.is_combined[got.side] = true;
    }
    return group.combined[got.side];
}

template <class T, class Operation>
T reduce(unsigned mask, T value, Operation operation, const Site& site) {
    const Gathered got = gather(mask, bits_of(value), site);
    return value_of<T>(combined(got, [&] {
        bool first = true;
        T result{};
        for (unsigned i = 0; i < 32; ++i) {
            if (!got.is_present(i)) continue;
            const T other = value_of<T>(got.value(i));
            result = first ? other : operation(result, other);
            first = false;
        }
        return bits_of(result);
    }));
}

inline unsigned ballot(unsigned mask, bool predicate, const Site& site) {
    const Gathered got = gather(mask, predicate, site);
    return combined(got, [&] {
        unsigned votes = 0;
        for (unsigned i = 0; i < 32; ++i) votes |= unsigned(got.is_present(i) && got.value(i)) << i;
        return votes;
    });
}

template <class T>
unsigned match_any(unsigned mask, T value, const Site& site) {
    const Gathered got = gather(mask, bits_of(value), site);
    unsigned same = 0;
    for (unsigned i = 0; i < 32; ++i) {
        same |= unsigned(got.is_present(i) && got.value(i) == bits_of(value)) << i;
    }
    return same;
}

}  // namespace emulated

#define EMULATED_SITE(what)                                             \
    (*[] {                                                              \
        static constexpr emulated::Site site{what, __FILE__, __LINE__}; \
        return &site;                                                   \
    }())
#define threadIdx (emulated::running.thread->index)
#define blockIdx (emulated::running.block_index)
#define blockDim (emulated::running.block_dim)
#define gridDim (emulated::running.grid_dim)
#define warpSize 32

#define __syncthreads() emulated::barrier(EMULATED_SITE("__syncthreads"))
#define __syncthreads_count(p) emulated::barrier(EMULATED_SITE("__syncthreads_count"), (p))
#define __syncthreads_or(p) (emulated::barrier(EMULATED_SITE("__syncthreads_or"), (p)) != 0)
#define __syncthreads_and(p) (emulated::barrier(EMULATED_SITE("__syncthreads_and"), !(p)) == 0)
#define __syncwarp(...) emulated::sync_warp(EMULATED_SITE("__syncwarp") __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(mask, ...) emulated::shfl(EMULATED_SITE("__shfl_sync"), mask, __VA_ARGS__)
#define __shfl_up_sync(mask, ...) emulated::shfl_up(EMULATED_SITE("__shfl_up_sync"), mask, __VA_ARGS__)
#define __shfl_down_sync(mask, ...) \
    emulated::shfl_down(EMULATED_SITE("__shfl_down_sync"), mask, __VA_ARGS__)
#define __shfl_xor_sync(mask, ...) \
    emulated::shfl_xor(EMULATED_SITE("__shfl_xor_sync"), mask, __VA_ARGS__)
#define __ballot_sync(mask, p) emulated::ballot(mask, (p), EMULATED_SITE("__ballot_sync"))
#define __any_sync(mask, p) (emulated::ballot(mask, (p), EMULATED_SITE("__any_sync")) != 0)
#define __all_sync(mask, p) (emulated::ballot(mask, !(p), EMULATED_SITE("__all_sync")) == 0)
#define __match_any_sync(mask, v) emulated::match_any(mask, v, EMULATED_SITE("__match_any_sync"))
#define __reduce_add_sync(mask, v) \
    emulated::reduce(mask, v, [](auto a, auto b) { return a + b; }, EMULATED_SITE("__reduce_add_sync"))
#define __reduce_min_sync(mask, v) \
    emulated::reduce(mask, v, [](auto a, auto b) { return b < a ? b : a; }, EMULATED_SITE("__reduce_min_sync"))
#define __reduce_max_sync(mask, v) \
    emulated::reduce(mask, v, [](auto a, auto b) { return b > a ? b : a; }, EMULATED_SITE("__reduce_max_sync"))
#define __reduce_or_sync(mask, v) \
    emulated::reduce(mask, v, [](auto a, auto b) { return a | b; }, EMULATED_SITE("__reduce_or_sync"))
#define __reduce_and_sync(mask, v) \
    emulated::reduce(mask, v, [](auto a, auto b) { return a & b; }, EMULATED_SITE("__reduce_and_sync"))
#define __reduce_xor_sync(mask, v) \
    emulated::reduce(mask, v, [](auto a, auto b) { return a ^ b; }, EMULATED_SITE("__reduce_xor_sync"))

namespace emulated {
inline void sync_warp(const Site& site, unsigned mask = ~0u) { gather(mask, 0, site); }
template <class T>
T shfl(const Site& site, unsigned mask, T value, int source, int width = 32) {
    return shuffle(mask, value, lane() / width * width + (source & (width - 1)), width, site);
}
template <class T>
T shfl_up(const Site& site, unsigned mask, T value, unsigned distance, int width = 32) {
    return shuffle(mask, value, int(lane()) - int(distance), width, site);
}
template <class T>
T shfl_down(const Site& site, unsigned mask, T value, unsigned distance, int width = 32) {
    return shuffle(mask, value, int(lane()) + int(distance), width, site);
}
template <class T>
T shfl_xor(const Site& site, unsigned mask, T value, int bits, int width = 32) {
    return shuffle(mask, value, int(lane()) ^ bits, width, site);
}
}  // namespace emulated

// Which lanes happen to run together is not defined; one lane alone is a possible answer.
inline unsigned __activemask() { return 1u << emulated::lane(); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
#define __trap() emulated::trap()

// --- atomics ------------------------------------------------------------------------------------

#define EMULATED_ATOMIC(name, T, expression)              \
    inline T name(T* address, T value) {                  \
        const T old = *address;                           \
        *address = (expression);                          \
        return old;                                       \
    }
#define EMULATED_ATOMICS(T)                               \
    EMULATED_ATOMIC(atomicAdd, T, old + value)            \
    EMULATED_ATOMIC(atomicExch, T, value)                 \
    EMULATED_ATOMIC(atomicMin, T, value < old ? value : old) \
    EMULATED_ATOMIC(atomicMax, T, value > old ? value : old) \
    EMULATED_ATOMIC(atomicOr, T, old | value)             \
    EMULATED_ATOMIC(atomicAnd, T, old & value)            \
    EMULATED_ATOMIC(atomicXor, T, old ^ value)            \
    inline T atomicCAS(T* address, T compare, T value) {  \
        const T old = *address;                           \
        if (old == compare) *address = value;             \
        return old;                                       \
    }
EMULATED_ATOMICS(int)
EMULATED_ATOMICS(unsigned)
EMULATED_ATOMICS(unsigned long long)
EMULATED_ATOMIC(atomicSub, int, old - value)
EMULATED_ATOMIC(atomicSub, unsigned, old - value)
EMULATED_ATOMIC(atomicAdd, float, old + value)
EMULATED_ATOMIC(atomicAdd, double, old + value)
EMULATED_ATOMIC(atomicExch, float, value)

// --- numbers ------------------------------------------------------------------------------------

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(unsigned(x))) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return uint64_t(a) * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>((unsigned __int128)a * b >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (uint64_t(high) << 32 | low) << (shift & 31) >> 32;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (uint64_t(high) << 32 | low) >> (shift & 31);
}
#define EMULATED_BITS(name, From, To) \
    inline To name(From value) { return emulated::value_of<To>(emulated::bits_of(value)); }
EMULATED_BITS(__float_as_uint, float, unsigned)
EMULATED_BITS(__uint_as_float, unsigned, float)
EMULATED_BITS(__float_as_int, float, int)
EMULATED_BITS(__int_as_float, int, float)
EMULATED_BITS(__double_as_longlong, double, long long)
EMULATED_BITS(__longlong_as_double, long long, double)
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline long long __double2ll_rn(double value) { return std::llrint(value); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }

template <class T>
T __ldg(const T* address) { return *address; }
template <class T>
T __ldcg(const T* address) { return *address; }
template <class T>
T __ldcs(const T* address) { return *address; }
template <class T>
void __stcs(T* address, T value) { *address = value; }
template <class T>
void __stcg(T* address, T value) { *address = value; }

// The overloads that CUDA has: the wider type, unsigned where one is.
template <class A, class B>
std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B>
std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(b) > T(a) ? T(b) : T(a);
}

struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) double2 { double x, y; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

#define EMULATED_EXPORT extern "C" EMULATED_SHARED

// Last: these names are used by the headers above.
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

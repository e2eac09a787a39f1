// emulated_cuda.h -- enough of CUDA C++ to run the kernels of graphtide on a CPU, in g++.
//
// One thread of the host runs everything. The blocks of a grid run one after another; the threads
// of a block are fibers that hand over where CUDA makes them wait for one another: at barriers and
// at collectives of a warp. A collective is complete when every lane that its mask names, and that
// has not ended, is there; threads that meet at different lines of the source are an error, as is
// a wait that cannot end. Atomics are plain operations.
//
// Not here: memory order (everything is seen at once), races that need true concurrency, launches
// with more than one dimension, textures, double-precision atomics.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <sys/mman.h>
#if !defined(__x86_64__) || defined(EMULATED_SANITIZE)
#define EMULATED_UCONTEXT
#include <ucontext.h>
#endif
#ifdef EMULATED_SANITIZE
#include <sanitizer/common_interface_defs.h>
#endif

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
    bool operator==(const Site& other) const {
        return this == &other || (line == other.line && !std::strcmp(file, other.file) &&
                                  !std::strcmp(what, other.what));
    }
};

constexpr size_t STACK_BYTES = 256 * 1024;

// --- switching between stacks -----------------------------------------------------------------

#ifdef EMULATED_UCONTEXT
struct Context {
    ucontext_t saved;
    void* fake_stack = nullptr;
    const void* bottom = nullptr;
    size_t size = 0;
};
inline void switch_context(Context& from, Context& to, bool ends = false) {
#ifdef EMULATED_SANITIZE
    __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
    swapcontext(&from.saved, &to.saved);
#ifdef EMULATED_SANITIZE
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}
inline void prepare_context(Context& context, char* stack, unsigned, void (*body)()) {
    getcontext(&context.saved);
    context.saved.uc_stack.ss_sp = stack;
    context.saved.uc_stack.ss_size = STACK_BYTES;
    context.saved.uc_link = nullptr;
    context.bottom = stack;
    context.size = STACK_BYTES;
    makecontext(&context.saved, body, 0);
}
#else
// The registers that a call must keep, and the stack pointer: a hundred times cheaper than
// swapcontext, which also asks the kernel for the signal mask. It ends with `ret`, whose target the
// processor predicts: lanes come back to where the one before them called from.
struct Context {
    void* stack_pointer = nullptr;
};
extern "C" void emulated_switch(void** from, void* to);
asm(".text\n.type emulated_switch,@function\nemulated_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
__attribute__((noinline)) inline void switch_context(Context& from, Context& to, bool = false) {
    asm volatile("" ::: "memory");
    emulated_switch(&from.stack_pointer, to.stack_pointer);
    asm volatile("" ::: "memory");
}
inline void prepare_context(Context& context, char* stack, unsigned lane, void (*body)()) {
    // As after the six pushes of a call of `body`, with the alignment that a call has. Lanes begin
    // apart, as one set of the cache does not hold a warp's.
    char* begin = stack + STACK_BYTES - lane % 8 * 512;
    void** top = reinterpret_cast<void**>(begin) - 1;
    *--top = reinterpret_cast<void*>(body);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    context.stack_pointer = top;
}
#endif

// --- threads, warps, blocks -------------------------------------------------------------------

struct Fiber {
    Context context;
    char* stack = nullptr;  // while it runs
    Dim3 index{};
    unsigned lane = 0, warp = 0;
    const Site* site = nullptr;  // where it waits
};

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

// Sets of lanes, a bit for each.
struct Warp {
    unsigned alive = 0;
    unsigned waits = 0;       // reset by whoever completes the wait
    unsigned at_barrier = 0;  // those that wait for the block
    std::vector<Group> groups;
    unsigned ready() const { return alive & ~waits; }
};

struct Block {
    const char* kernel = "";
    void (*run)(void**) = nullptr;
    void** arguments = nullptr;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<char*> spare_stacks;
    Context scheduler;
    // Lanes go on one after another; else the scheduler draws who is next.
    bool in_order = true;
    Fiber* current = nullptr;
    unsigned threads = 0, alive = 0, at_barrier = 0;
    const Site* barrier_site = nullptr;
    // Of __syncthreads_count/and/or: counted while threads arrive, read after.
    unsigned counted = 0, count_result = 0;
    std::string error;
    Dim3 block_index{}, block_dim{}, grid_dim{};
};

static Block block;

// Shared memory of which the launch says how much; `emulated_device.py` says so in the place of
// ``extern __shared__``, and lets no launch have more.
constexpr size_t DYNAMIC_SHARED_BYTES = 4096;
alignas(16) static char dynamic_shared_bytes[DYNAMIC_SHARED_BYTES];
template <class T>
T* dynamic_shared() {
    return reinterpret_cast<T*>(dynamic_shared_bytes);
}

inline std::string place(const Site& site) {
    return std::string(site.what) + " (" + site.file + ":" + std::to_string(site.line) + ")";
}

inline std::string place(const Fiber& fiber) {
    return "thread " + std::to_string(fiber.index.x) + " of block " +
           std::to_string(block.block_index.x) + " at " + place(*fiber.site);
}

// Gives up the launch: the message goes to the caller, the fibers are left where they are.
__attribute__((noinline)) inline void fail(const std::string& message) {
    if (block.error.empty()) block.error = message;
    switch_context(block.current->context, block.scheduler);
}

// The next of these lanes: after the last one comes the first.
inline unsigned lane_after(unsigned lanes, unsigned lane) {
    const unsigned higher = lanes & ~1u << lane;
    return __builtin_ctz(higher ? higher : lanes);
}

inline Fiber& fiber_of(unsigned warp, unsigned lane) { return block.fibers[warp * 32 + lane]; }

// Hands over to the next lane of the warp, without a stop at the scheduler where that has begun.
__attribute__((always_inline)) inline void wait_here(Fiber& self, const Warp& warp) {
    while (warp.waits >> self.lane & 1) {
        const unsigned ready = block.in_order ? warp.ready() : 0;
        Fiber* next = ready ? &fiber_of(self.warp, lane_after(ready, self.lane)) : nullptr;
        if (next && next->stack) {
            block.current = next;
            switch_context(self.context, next->context);
        } else {
            switch_context(self.context, block.scheduler);
        }
    }
}

inline void complete_barrier() {
    block.at_barrier = 0;
    block.count_result = block.counted;
    block.counted = 0;
    for (Warp& warp : block.warps) {
        warp.waits &= ~warp.at_barrier;
        warp.at_barrier = 0;
    }
}

__attribute__((noinline)) inline void barrier(const Site& site, bool counts = false) {
    Fiber& self = *block.current;
    Warp& warp = block.warps[self.warp];
    self.site = &site;
    if (block.at_barrier == 0) block.barrier_site = &site;
    if (!(*block.barrier_site == site)) {
        fail("threads of a block meet at different barriers: " + place(self) + ", others at " +
             place(*block.barrier_site));
    }
    warp.waits |= 1u << self.lane;
    warp.at_barrier |= 1u << self.lane;
    block.counted += counts;
    if (++block.at_barrier == block.alive) complete_barrier();
    wait_here(self, warp);
}

inline void complete_group(Warp& warp, Group& group) {
    const unsigned side = group.generation & 1;
    group.present[side] = group.arrived;
    group.is_combined[side] = false;
    // What a lane that has ended would say is undefined: say something that shows.
    for (unsigned missing = ~group.arrived; missing; missing &= missing - 1) {
        group.values[side][__builtin_ctz(missing)] = 0xDEADBEEFDEADBEEFull;
    }
    warp.waits &= ~group.arrived;
    group.arrived = 0;
    ++group.generation;
}

struct Gathered {
    Group& group;
    unsigned side;
    uint64_t value(unsigned lane) const { return group.values[side][lane]; }
    bool is_present(unsigned lane) const { return group.present[side] >> lane & 1; }
};

// Waits for the lanes of the mask; every one of them gets the values of all.
__attribute__((noinline)) inline Gathered gather(unsigned mask, uint64_t value, const Site& site) {
    Fiber& self = *block.current;
    Warp& warp = block.warps[self.warp];
    self.site = &site;
    if (!(mask >> self.lane & 1)) fail("the mask does not name its own lane: " + place(self));
    Group* group = nullptr;
    for (Group& known : warp.groups) {
        if (known.mask == mask) group = &known;
        else if (known.arrived & mask) fail("lanes meet with different masks: " + place(self));
    }
    if (!group) {
        warp.groups.emplace_back();
        group = &warp.groups.back();
        group->mask = mask;
    }
    const size_t number = group - warp.groups.data();
    if (group->arrived == 0) group->site = &site;
    if (!(*group->site == site)) {
        fail("lanes of a warp meet at different collectives: " + place(self) + ", others at " +
             place(*group->site));
    }
    const unsigned side = group->generation & 1;
    group->values[side][self.lane] = value;
    group->arrived |= 1u << self.lane;
    warp.waits |= 1u << self.lane;
    if (group->arrived == (mask & warp.alive)) complete_group(warp, *group);
    wait_here(self, warp);
    return {warp.groups[number], side};
}

inline void end_thread(Fiber& self) {
    Warp& warp = block.warps[self.warp];
    warp.alive &= ~(1u << self.lane);
    --block.alive;
    for (Group& group : warp.groups) {
        if (group.arrived && group.arrived == (group.mask & warp.alive)) complete_group(warp, group);
    }
    if (block.at_barrier && block.at_barrier == block.alive) complete_barrier();
}

// One thread, and in its place the next ones of the warp that have not begun.
inline void fiber_body() {
#ifdef EMULATED_SANITIZE
    __sanitizer_finish_switch_fiber(nullptr, &block.scheduler.bottom, &block.scheduler.size);
#endif
    for (;;) {
        block.run(block.arguments);
        Fiber& self = *block.current;
        end_thread(self);
        const unsigned ready = block.in_order ? block.warps[self.warp].ready() : 0;
        if (!ready) break;
        Fiber& next = fiber_of(self.warp, lane_after(ready, self.lane));
        if (next.stack) break;
        std::swap(self.stack, next.stack);
        block.current = &next;
    }
    switch_context(block.current->context, block.scheduler, true);
    std::abort();
}

inline char* take_stack() {
    if (!block.spare_stacks.empty()) {
        char* stack = block.spare_stacks.back();
        block.spare_stacks.pop_back();
        return stack;
    }
    void* stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) std::abort();
    mprotect(stack, 4096, PROT_NONE);  // running over the end ends the process, not the data
    return static_cast<char*>(stack);
}

inline uint64_t next_random(uint64_t& state) {
    state += 0x9E3779B97F4A7C15ull;
    uint64_t mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBull;
    return mixed ^ mixed >> 31;
}

// 0 … count - 1, shuffled unless the state is 0.
inline std::vector<unsigned> order_of(unsigned count, uint64_t& state) {
    std::vector<unsigned> order(count);
    for (unsigned i = 0; i < count; ++i) order[i] = i;
    for (unsigned i = count; state && i > 1; --i) {
        std::swap(order[i - 1], order[next_random(state) % i]);
    }
    return order;
}

// Runs a thread up to where it waits or ends; in order, others of its warp after it.
inline void enter(Fiber& fiber) {
    if (!fiber.stack) {
        fiber.stack = take_stack();
        prepare_context(fiber.context, fiber.stack, fiber.lane, fiber_body);
    }
    block.current = &fiber;
    switch_context(block.scheduler, fiber.context);
    Fiber& last = *block.current;
    if (!(block.warps[last.warp].alive >> last.lane & 1)) {
        block.spare_stacks.push_back(last.stack);
        last.stack = nullptr;
    }
}

// Runs the lanes of a warp, one after another, as long as one can go on. A warp goes on as long as
// it can, so that warps are as far apart as barriers allow: a barrier that is missing shows.
inline void run_warp(unsigned number) {
    Warp& warp = block.warps[number];
    for (unsigned lane = 31; warp.ready() && block.error.empty(); lane = block.current->lane) {
        enter(fiber_of(number, lane_after(warp.ready(), lane)));
    }
}

// The same in an order that is drawn; some warps are cut off earlier.
inline void run_warp_shuffled(unsigned number, uint64_t& random) {
    Warp& warp = block.warps[number];
    const std::vector<unsigned> lanes = order_of(32, random);
    do {
        for (unsigned lane : lanes) {
            if (!(warp.ready() >> lane & 1)) continue;
            enter(fiber_of(number, lane));
            if (!block.error.empty()) return;
        }
    } while (warp.ready() && next_random(random) % 4);
}

inline void run_block(uint64_t& random) {
    std::memset(dynamic_shared_bytes, 0xA5, DYNAMIC_SHARED_BYTES);
    const unsigned warps = block.warps.size();
    for (unsigned i = 0; i < warps; ++i) {
        const unsigned lanes = block.threads - i * 32;
        Warp& warp = block.warps[i];
        warp.alive = lanes >= 32 ? ~0u : (1u << lanes) - 1;
        warp.waits = warp.at_barrier = 0;
        warp.groups.clear();
    }
    block.alive = block.threads;
    block.at_barrier = block.counted = 0;
    while (block.alive) {
        if (block.in_order) {
            for (unsigned i = 0; i < warps && block.error.empty(); ++i) run_warp(i);
        } else {
            for (unsigned i : order_of(warps, random)) {
                if (block.error.empty()) run_warp_shuffled(i, random);
            }
        }
        if (!block.error.empty()) return;
        unsigned ready = 0;
        for (Warp& warp : block.warps) ready |= warp.ready();
        if (block.alive && !ready) {
            unsigned waiting = 0;
            for (Fiber& fiber : block.fibers) {
                if (!(block.warps[fiber.warp].alive >> fiber.lane & 1)) continue;
                if (++waiting <= 4) block.error += (waiting > 1 ? "; " : "") + place(fiber);
            }
            block.error = "deadlock, " + std::to_string(waiting) + " threads wait for ever: " + block.error;
            return;
        }
    }
}

inline int launch(const char* kernel, void (*run)(void**), void** arguments, unsigned blocks,
                  unsigned threads, uint64_t seed, char* message, size_t message_bytes) {
    block.kernel = kernel;
    block.run = run;
    block.arguments = arguments;
    block.threads = threads;
    block.error.clear();
    block.in_order = !seed;
    block.fibers.resize(threads);
    for (unsigned i = 0; i < threads; ++i) {
        block.fibers[i].index = {i, 0, 0};
        block.fibers[i].lane = i % 32;
        block.fibers[i].warp = i / 32;
    }
    block.warps.resize((threads + 31) / 32);
    block.block_dim = {threads, 1, 1};
    block.grid_dim = {blocks, 1, 1};
    uint64_t random = seed;
    for (unsigned index : order_of(blocks, random)) {
        block.block_index = {index, 0, 0};
        run_block(random);
        if (!block.error.empty()) {
            for (Fiber& fiber : block.fibers) {
                if (fiber.stack) block.spare_stacks.push_back(fiber.stack);
                fiber.stack = nullptr;
            }
            std::snprintf(message, message_bytes, "%s", block.error.c_str());
            return 1;
        }
    }
    return 0;
}

// --- launching a function through void*, and saying what it takes --------------------------------

template <class T>
std::string type_name() {
    using Plain = std::remove_cv_t<T>;
    if constexpr (std::is_pointer_v<Plain>) {
        using Target = std::remove_cv_t<std::remove_pointer_t<Plain>>;
        if constexpr (std::is_void_v<Target>) return "*v0";
        else return "*" + type_name<Target>();
    } else if constexpr (std::is_same_v<Plain, bool>) {
        return "b1";
    } else if constexpr (std::is_floating_point_v<Plain>) {
        return "f" + std::to_string(sizeof(Plain));
    } else if constexpr (std::is_integral_v<Plain> || std::is_enum_v<Plain>) {
        return (std::is_signed_v<Plain> ? "i" : "u") + std::to_string(sizeof(Plain));
    } else {
        static_assert(alignof(Plain) == 8, "a launch puts structs at multiples of 8 bytes");
        return "V" + std::to_string(sizeof(Plain));
    }
}

template <class... P>
std::string signature(void (*)(P...)) {
    std::string text;
    ((text += type_name<P>() + " "), ...);
    return text;
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

inline unsigned lane() { return block.current->lane; }

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

inline unsigned count_barrier(bool predicate, const Site& site) {
    barrier(site, predicate);
    return block.count_result;
}

}  // namespace emulated

#define EMULATED_SITE(what)                                             \
    (*[] {                                                              \
        static constexpr emulated::Site site{what, __FILE__, __LINE__}; \
        return &site;                                                   \
    }())
#define threadIdx (emulated::block.current->index)
#define blockIdx (emulated::block.block_index)
#define blockDim (emulated::block.block_dim)
#define gridDim (emulated::block.grid_dim)
#define warpSize 32

#define __syncthreads() emulated::barrier(EMULATED_SITE("__syncthreads"))
#define __syncthreads_count(p) emulated::count_barrier((p), EMULATED_SITE("__syncthreads_count"))
#define __syncthreads_or(p) (emulated::count_barrier((p), EMULATED_SITE("__syncthreads_or")) != 0)
#define __syncthreads_and(p) \
    (emulated::count_barrier(!(p), EMULATED_SITE("__syncthreads_and")) == 0)
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
#define __trap() emulated::fail("__trap in " + emulated::place(*emulated::block.current))

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

#define EMULATED_EXPORT extern "C" __attribute__((visibility("default")))

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

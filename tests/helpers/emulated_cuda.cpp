// emulated_cuda.cpp -- the fibers that run the threads of kernels, and the order in which they do.
//
// A library that those of the kernels are linked to (see emulated_cuda.h): the stacks of its fibers
// serve every kernel. Each stack and the page that guards it are two mappings, of which Linux gives
// a process 65,530: stacks of each kernel's own, in a process that runs most of the tests, do not fit.
#include <cstdio>
#include <cstdlib>
#include <string>
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
// After these: it defines names that they use.
#include "emulated_cuda.h"

namespace emulated {

Running running;
alignas(16) char dynamic_shared_bytes[DYNAMIC_SHARED_BYTES];

namespace {

constexpr size_t STACK_BYTES = 256 * 1024;

// --- switching between stacks -----------------------------------------------------------------

#ifdef EMULATED_UCONTEXT
struct Context {
    ucontext_t saved;
    void* fake_stack = nullptr;
    const void* bottom = nullptr;
    size_t size = 0;
};
void switch_context(Context& from, Context& to, bool ends = false) {
#ifdef EMULATED_SANITIZE
    __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
    swapcontext(&from.saved, &to.saved);
#ifdef EMULATED_SANITIZE
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}
void prepare_context(Context& context, char* stack, unsigned, void (*body)()) {
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
__attribute__((noinline)) void switch_context(Context& from, Context& to, bool = false) {
    asm volatile("" ::: "memory");
    emulated_switch(&from.stack_pointer, to.stack_pointer);
    asm volatile("" ::: "memory");
}
void prepare_context(Context& context, char* stack, unsigned lane, void (*body)()) {
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

struct Fiber : Thread {
    Context context;
    char* stack = nullptr;  // while it runs
    const Site* site = nullptr;  // where it waits
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
    void (*run)(void**) = nullptr;
    void** arguments = nullptr;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<char*> spare_stacks;
    Context scheduler;
    // Lanes go on one after another; else the scheduler draws who is next.
    bool in_order = true;
    unsigned threads = 0, alive = 0, at_barrier = 0;
    const Site* barrier_site = nullptr;
    // Of __syncthreads_count/and/or: counted while threads arrive, read after.
    unsigned counted = 0, count_result = 0;
    std::string error;
};

Block block;

Fiber& current() { return static_cast<Fiber&>(*running.thread); }

bool operator==(const Site& one, const Site& other) {
    return &one == &other || (one.line == other.line && !std::strcmp(one.file, other.file) &&
                              !std::strcmp(one.what, other.what));
}

std::string place(const Site& site) {
    return std::string(site.what) + " (" + site.file + ":" + std::to_string(site.line) + ")";
}

std::string place(const Fiber& fiber) {
    return "thread " + std::to_string(fiber.index.x) + " of block " +
           std::to_string(running.block_index.x) + " at " + place(*fiber.site);
}

// Gives up the launch: the message goes to the caller, the fibers are left where they are.
void fail(const std::string& message) {
    if (block.error.empty()) block.error = message;
    switch_context(current().context, block.scheduler);
}

// The next of these lanes: after the last one comes the first.
unsigned lane_after(unsigned lanes, unsigned lane) {
    const unsigned higher = lanes & ~1u << lane;
    return __builtin_ctz(higher ? higher : lanes);
}

Fiber& fiber_of(unsigned warp, unsigned lane) { return block.fibers[warp * 32 + lane]; }

// Hands over to the next lane of the warp, without a stop at the scheduler where that has begun.
void wait_here(Fiber& self, const Warp& warp) {
    while (warp.waits >> self.lane & 1) {
        const unsigned ready = block.in_order ? warp.ready() : 0;
        Fiber* next = ready ? &fiber_of(self.warp, lane_after(ready, self.lane)) : nullptr;
        if (next && next->stack) {
            running.thread = next;
            switch_context(self.context, next->context);
        } else {
            switch_context(self.context, block.scheduler);
        }
    }
}

void complete_barrier() {
    block.at_barrier = 0;
    block.count_result = block.counted;
    block.counted = 0;
    for (Warp& warp : block.warps) {
        warp.waits &= ~warp.at_barrier;
        warp.at_barrier = 0;
    }
}

void complete_group(Warp& warp, Group& group) {
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

void end_thread(Fiber& self) {
    Warp& warp = block.warps[self.warp];
    warp.alive &= ~(1u << self.lane);
    --block.alive;
    for (Group& group : warp.groups) {
        if (group.arrived && group.arrived == (group.mask & warp.alive)) complete_group(warp, group);
    }
    if (block.at_barrier && block.at_barrier == block.alive) complete_barrier();
}

// One thread, and in its place the next ones of the warp that have not begun.
void fiber_body() {
#ifdef EMULATED_SANITIZE
    __sanitizer_finish_switch_fiber(nullptr, &block.scheduler.bottom, &block.scheduler.size);
#endif
    for (;;) {
        block.run(block.arguments);
        Fiber& self = current();
        end_thread(self);
        const unsigned ready = block.in_order ? block.warps[self.warp].ready() : 0;
        if (!ready) break;
        Fiber& next = fiber_of(self.warp, lane_after(ready, self.lane));
        if (next.stack) break;
        std::swap(self.stack, next.stack);
        running.thread = &next;
    }
    switch_context(current().context, block.scheduler, true);
    std::abort();
}

char* take_stack() {
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

uint64_t next_random(uint64_t& state) {
    state += 0x9E3779B97F4A7C15ull;
    uint64_t mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBull;
    return mixed ^ mixed >> 31;
}

// 0 … count - 1, shuffled unless the state is 0.
std::vector<unsigned> order_of(unsigned count, uint64_t& state) {
    std::vector<unsigned> order(count);
    for (unsigned i = 0; i < count; ++i) order[i] = i;
    for (unsigned i = count; state && i > 1; --i) {
        std::swap(order[i - 1], order[next_random(state) % i]);
    }
    return order;
}

// Runs a thread up to where it waits or ends; in order, others of its warp after it.
void enter(Fiber& fiber) {
    if (!fiber.stack) {
        fiber.stack = take_stack();
        prepare_context(fiber.context, fiber.stack, fiber.lane, fiber_body);
    }
    running.thread = &fiber;
    switch_context(block.scheduler, fiber.context);
    Fiber& last = current();
    if (!(block.warps[last.warp].alive >> last.lane & 1)) {
        block.spare_stacks.push_back(last.stack);
        last.stack = nullptr;
    }
}

// Runs the lanes of a warp, one after another, as long as one can go on. A warp goes on as long as
// it can, so that warps are as far apart as barriers allow: a barrier that is missing shows.
void run_warp(unsigned number) {
    Warp& warp = block.warps[number];
    for (unsigned lane = 31; warp.ready() && block.error.empty(); lane = running.thread->lane) {
        enter(fiber_of(number, lane_after(warp.ready(), lane)));
    }
}

// The same in an order that is drawn; some warps are cut off earlier.
void run_warp_shuffled(unsigned number, uint64_t& random) {
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

void run_block(uint64_t& random) {
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

}  // namespace

unsigned barrier(const Site& site, bool counts) {
    Fiber& self = current();
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
    return block.count_result;
}

Gathered gather(unsigned mask, uint64_t value, const Site& site) {
    Fiber& self = current();
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

void trap() {
    fail("__trap in " + place(current()));
    std::abort();
}

int launch(void (*run)(void**), void** arguments, unsigned blocks, unsigned threads, uint64_t seed,
           char* message, size_t message_bytes) {
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
    running.block_dim = {threads, 1, 1};
    running.grid_dim = {blocks, 1, 1};
    uint64_t random = seed;
    for (unsigned index : order_of(blocks, random)) {
        running.block_index = {index, 0, 0};
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

void write_types(const Type* types, size_t count, char* text, size_t bytes) {
    std::string words;
    for (size_t i = 0; i < count; ++i) {
        words += std::string(types[i].pointers, '*') + types[i].kind;
        words += std::to_string(types[i].bytes) + " ";
    }
    std::snprintf(text, bytes, "%s", words.c_str());
}

}  // namespace emulated

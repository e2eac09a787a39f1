// pagerank_step.cuh -- one step of PageRank but for the sums of rows: what is kept from step to step, what
// becomes of a row's sum, and when steps end.
//
// Formulas    at the head of pagerank.cu; numbers of fixed point: pagerank_start.cu
// Host twin   gpu_core/host/analytics/centrality/pagerank.py
//
// A kernel makes a `Step` of a `Pull`, and asks `is_over`; it calls `prepare` and `finish` for each row, and
// at the end `add_up`, by all threads. Shares are by row; row v is that of vertex v but in an order of
// hubs.cuh. All else that a kernel is given is by vertex.
#pragma once
#include "chebyshev.cuh"

constexpr double FIXED_ONE = 72057594037927936.0;  // 2^56

// Numbers of fixed point have a sign; sums of them are those of unsigned integers.
__device__ __forceinline__ u64 fixed(double value) {
    return static_cast<u64>(__double2ll_rn(value * FIXED_ONE));
}
__device__ __forceinline__ double unfixed(u64 value) {
    return static_cast<double>(static_cast<i64>(value)) * (1.0 / FIXED_ONE);
}

// What is kept from step to step; 0 before the first.
struct State {
    u64 residual[SLOTS];  // |G x - x| of a step, fixed point
    u64 mass[SLOTS];      // rank on dangling vertices after it
    Chebyshev chebyshev;
    u64 linked;           // vertices that have edges
    i64 steps;            // made so far, but for launches that changed nothing
    i64 ended;            // 1: they change nothing from here on
};

// What the host sees of the iteration while it goes on, in its own memory. Residuals of the newest steps are
// there before the number of steps says so.
struct Report {
    u64 residual[SLOTS];
    u64 first;      // residual of the first step
    i64 steps;
    i64 last_step;  // 0: not known yet
};

__device__ __forceinline__ void write_report(volatile Report* report, i64 steps, u64 residual,
                                             bool is_last) {
    report->residual[step_slot(steps)] = residual;
    if (steps == 1) report->first = residual;
    if (is_last) report->last_step = steps;
    __threadfence_system();
    report->steps = steps;
}

__device__ __forceinline__ void add_fixed(u64* sum, double value) {
    if (value != 0.0) atomicAdd(sum, fixed(value));
}

// What a vertex shares out among its out-edges: their number, or the sum of their weights.
struct Strengths {
    const u32* degrees;      // u32[n], of an unweighted graph
    const double* weighted;  // f64[n], null there

    __device__ __forceinline__ double of(i64 vertex) const {
        return weighted ? weighted[vertex] : static_cast<double>(degrees[vertex]);
    }
};

// What a launch is given for its step.
struct Pull {
    const double* teleport;  // f64[n], p; null: `uniform` for all present vertices
    const double* dangling;  // f64[n], w; null likewise
    double uniform;
    double alpha;
    double threshold;
    Radii radii;             // most 0: the step is plain, and none is planned after it
    i64 step;
    const double* shares;    // f64[n], after the last step
    double* next_shares;     // f64[n], those before the last step; the new ones, absent vertices left out
    State* state;
    volatile Report* report;

    __device__ __forceinline__ u64 residual_before(int steps) const {
        return state->residual[step_slot(step - steps)];
    }
};

// What a row needs but its sum.
struct Row {
    double strength;
    double share;
};

// Look whether the step before was the last one; the first thread of the grid reports it to the host.
__device__ __forceinline__ bool is_over(const Pull& pull) {
    State* state = pull.state;
    const u64 last = pull.residual_before(1);
    const bool was_over = state->ended;
    const bool has_ended =
        was_over || (pull.step > 1 && unfixed(last) <= pull.threshold &&
                     was_plain(state->chebyshev, pull.step - 1));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (!was_over && pull.step > 1) write_report(pull.report, pull.step - 1, last, has_ended);
        if (has_ended) {
            state->ended = 1;
        } else {
            state->steps = pull.step;
        }
    }
    return has_ended;
}

// What a thread does with the sums of its rows.
class Step {
  public:
    __device__ __forceinline__ explicit Step(const Pull& pull)
        : pull_(pull), mass_(unfixed(pull.state->mass[step_slot(pull.step - 1)])) {
        if (pull.radii.most > 0) {
            const Residuals residuals{unfixed(pull.residual_before(1)),
                                      unfixed(pull.residual_before(2)), 0};
            beyond_ = beyond_of(pull.state->chebyshev, pull.step, residuals, pull.threshold);
        }
    }

    __device__ __forceinline__ Row prepare(double strength, i64 row) const {
        return {strength, pull_.shares[row]};
    }

    // x' = G x + b (G x - x_before); adds |G x - x|, and x' where it is dangling.
    __device__ __forceinline__ void finish(i64 row, i64 vertex, double gathered, const Row& prepared) {
        const double w = pull_.dangling ? pull_.dangling[vertex] : pull_.uniform;
        const double p = pull_.teleport ? pull_.teleport[vertex] : pull_.uniform;
        const double x = pull_.alpha * (gathered + mass_ * w) + (1.0 - pull_.alpha) * p;
        const bool is_dangling = !(prepared.strength > 0);
        const double strength = is_dangling ? 1.0 : prepared.strength;
        const double plain = x / strength;
        const double share =
            beyond_ != 0 ? plain + beyond_ * (plain - pull_.next_shares[row]) : plain;
        pull_.next_shares[row] = share;
        residual_ += fixed(fabs(plain - prepared.share) * strength);
        if (is_dangling) next_mass_ += fixed(share);
    }

    // Add what the threads of a block have found to the step's sums. All threads call, once.
    template <int THREADS>
    __device__ __forceinline__ void add_up() {
        constexpr int WARPS = THREADS / WARP;
        __shared__ u64 residuals[WARPS];
        __shared__ u64 masses[WARPS];
        u64 residual = warp_sum(residual_);
        u64 next_mass = warp_sum(next_mass_);
        if (lane_of_thread() == 0) {
            residuals[warp_of_thread()] = residual;
            masses[warp_of_thread()] = next_mass;
        }
        __syncthreads();
        if (threadIdx.x != 0) return;
        if (blockIdx.x == 0) prepare_next();
        for (int warp = 1; warp < WARPS; ++warp) {
            residual += residuals[warp];
            next_mass += masses[warp];
        }
        const u32 slot = step_slot(pull_.step);
        if (residual) atomicAdd(&pull_.state->residual[slot], residual);
        if (next_mass) atomicAdd(&pull_.state->mass[slot], next_mass);
    }

  private:
    // Plan the next step and empty the slots of its sums. One thread of the grid calls.
    __device__ __forceinline__ void prepare_next() const {
        State* state = pull_.state;
        const i64 step = pull_.step;
        if (pull_.radii.most > 0) {
            const Residuals residuals{unfixed(pull_.residual_before(1)),
                                      unfixed(pull_.residual_before(2)),
                                      unfixed(pull_.residual_before(3))};
            plan_next(state->chebyshev, step, beyond_, residuals, pull_.radii,
                      static_cast<double>(state->linked));
        }
        state->residual[step_slot(step + 1)] = 0;
        state->mass[step_slot(step + 1)] = 0;
    }

    const Pull& pull_;
    double mass_;
    double beyond_ = 0;
    u64 residual_ = 0;
    u64 next_mass_ = 0;
};

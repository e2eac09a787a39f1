// commit.cu -- write one delta: rows, vertex records, and the runs that rows leave.
//
// Part of     the apply path: map ids -> deltas -> plan -> allocate -> **commit**
// Caller      gpu_core/cuda/update/rows/row_launches.py    Host twin   gpu_core/host/update/commit.py
// Reads       one delta of a batch, its plan (plan.cu), the runs allocated for it (free_runs.cu)
// Writes      rows and vertex records of the delta, bits and counts of freed runs; what became of
//             the entries of the first delta in the header (ADDED … REPLACED), and at the end of the
//             batch NUM_VERTICES, NUM_EDGES and BATCHES
// Keeps       rows sorted by neighbor; a row's room is that of the plan. No word of a row is
//             written before all old entries that are needed of it have been read
#include "commit_rows.cuh"

// Blocks of `commit_rows` on a multiprocessor: of entries of several words, shared memory holds three
// before Hopper.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int BLOCKS_AT_ONCE = ENTRY_WORDS == 1 ? 5 : 3;
#else
constexpr int BLOCKS_AT_ONCE = ENTRY_WORDS == 1 ? 5 : 4;
#endif

// Launch    one block, after all else of a batch
extern "C" __global__ void __launch_bounds__(BLOCK) close_batch(
        u32* image, i64 entries_per_edge, i64 more_vertices, i64* report) {
    follow_previous_launch();
    i64* header = header_of(image);
    report_batch(header, free_run_counts(header), entries_per_edge, more_vertices, report);
}

// Launch    one block for each `block_rows` rows, a power of two up to BLOCK
// Beside    `commit_long`, the launch that enters vertices, or the first delta's, if `order` says so,
//           which it awaits at the end
// Cost      plan word, row, indptr and record of each row; entries of the batch; rows read once,
//           and written from the first change on
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_AT_ONCE) commit_rows(
        u32* image, Shape shape, Delta delta, Plan plan, Properties properties, Runs runs,
        i64 block_rows, i64 order) {
    __shared__ committing::Written written;
    i64* header = header_of(image);
    const u32 at = threadIdx.x;
    const u32 number = blockIdx.x * static_cast<u32>(block_rows) + at;
    // Loaded at once, before it is known whether there is such a row, and before the launches
    // that plan it have ended: none of them writes the delta.
    Row row{};
    const bool asked = at < block_rows && number < delta.max_rows;
    if (asked) row = row_of_delta(delta, number);
    const u32 row_count = *delta.row_count;
    if (order == RUNS_BESIDE) run_beside_previous_launch();
    else if (order == LEADS) follow_and_lead();
    else follow_previous_launch();
    const u32 word = asked ? plan.words[number] : 0;
    const i64 status = header[BATCH_FIELD_STATUS];
    committing::begin_block(written);
    __syncthreads();
    if (status == BATCH_STATUS_OK) {
        committing::commit_block(
            image, shape, delta, plan, properties, runs, number, row, word,
            at < block_rows ? row_count : 0, written);
    }
    await_previous_launch();
}

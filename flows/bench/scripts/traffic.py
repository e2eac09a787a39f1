"""Bytes of device memory that an update reads and writes, as NVIDIA's profiler counts them.

    python -m graphtide.flows.bench.scripts.traffic [--graph G4] [--batches 100K,1M,10M]

Needs a GPU and ``ncu`` (Nsight Compute), which runs this script again and watches the kernels of
one insert and one delete of each size: batches of uniform new entries, as CSR on the device, into a
workload of ``graphtide bench updates`` (dense ids, one direction), each after one of its kind that
warms up. Kernels run one at a time with clocks and caches as they are, so what one leaves in L2 the
next one finds there. Bytes written are those that left L2 while a kernel ran; what
stays in L2 until a later one needs the room is that one's.
"""

import csv
import io
import shutil
import subprocess
import sys

from graphtide.flows.bench.measuring.arm import Arm, Bench
from graphtide.flows.bench.measuring.workloads import WORKLOADS

from .measuring import NotedTable, numbers, parser, print_tables

_METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")
_OPS = {"insert": 1, "delete": -1}
#: A kernel that does nothing: what stands before it in the profile is of the batch it names.
_MARK = "mark_{what}_{size}"


def watched(graph_name: str, sizes: list[int]) -> None:
    """Apply the batches, for the profiler; each is followed by a launch that names it."""
    arm = Arm("cuda")
    cuda = arm.xp.cuda
    workload = WORKLOADS[graph_name]
    bench = Bench(arm, graph_name, workload.keys(arm.xp), workload.scale, 1)
    graph = bench.graph()
    for size in sizes:
        names = {what: _MARK.format(what=what, size=size) for what in _OPS}
        marks = {
            what: arm.xp.RawKernel(f'extern "C" __global__ void {name}() {{}}', name)
            for what, name in names.items()
        }
        for is_counted in (False, True):
            drawn = bench.fresh(size, int(is_counted))
            for what, op in _OPS.items():
                batch = bench.batch(graph, op, drawn)
                cuda.Device().synchronize()
                if is_counted:
                    cuda.profiler.start()
                graph.apply(batch)
                marks[what]((1,), (1,), ())
                cuda.Device().synchronize()
                cuda.profiler.stop()
    bench.check(graph, None, "batches under the profiler")


def profile(arguments: list[str]) -> list[dict[str, str]]:
    """Run this script under ``ncu``; one row a kernel, in order, in bytes and nanoseconds."""
    done = subprocess.run(
        [
            "ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
            "--cache-control", "none", "--profile-from-start", "off",
            "--metrics", ",".join(_METRICS), sys.executable, "-m", f"{__package__}.traffic",
            *arguments, "--watched",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    begin = done.stdout.find('"ID"')
    if done.returncode or begin < 0:
        sys.exit(f"ncu found nothing:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    # The first row holds units.
    return list(csv.DictReader(io.StringIO(done.stdout[begin:])))[1:]


def table(rows: list[dict[str, str]], graph_name: str) -> NotedTable:
    """Sums over the kernels of each batch."""
    cells, sums = [], [0.0] * len(_METRICS)
    for row in rows:
        name = row["Kernel Name"].partition("(")[0]
        if not name.startswith("mark_"):
            values = (float(row[metric].replace(",", "")) for metric in _METRICS)
            sums = [total + value for total, value in zip(sums, values, strict=True)]
            continue
        _, what, size = name.split("_")
        read, written, nanoseconds = sums
        cells.append(
            [
                f"{what} {int(size):,}", f"{read / 1e6:.1f}", f"{written / 1e6:.1f}",
                f"{(read + written) / int(size):,.1f}", f"{nanoseconds / 1e3:.1f}",
                f"{(read + written) / nanoseconds:,.0f}",
            ]
        )  # fmt: skip
        sums = [0.0] * len(_METRICS)
    header = ["batch", "MB read", "MB written", "bytes an update", "kernels, us", "GB/s"]
    return NotedTable(f"Device memory traffic, {graph_name}", header, cells)


def main() -> None:
    """Profile, and print the table."""
    flags = parser(__doc__, with_csv=False)
    flags.add_argument("--graph", choices=list(WORKLOADS), default="G4")
    flags.add_argument("--batches", type=numbers, default="100K,1M,10M")
    flags.add_argument("--watched", action="store_true", help="what ncu runs")
    options = flags.parse_args()
    if options.watched:
        watched(options.graph, options.batches)
        return
    if shutil.which("ncu") is None:
        sys.exit("ncu is not on PATH; it comes with the CUDA toolkit, as Nsight Compute")
    print_tables([table(profile(sys.argv[1:]), options.graph)])


if __name__ == "__main__":
    main()

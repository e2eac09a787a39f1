"""Seconds from a file's appearing in a log that a run follows to the checkpoint that has it.

    python -m graphtide.flows.bench.scripts.follow_delay [--rows N] [--files N] [KEY=VALUE…]

Files of random edges over 2**S vertices are renamed into place, one after the other has been kept.
The clock runs from the renaming until the folder of the checkpoint is there: detection, reading,
conversion, hand-over, applying, copying, writing. Settings are those of a run; there are no
analytics. Two cores of a larger machine: begin the command with ``taskset -c 0,1``.
"""

import argparse
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from ....io.log_writer import write_log_file
from ....io.state import StateDirectory
from ....pipeline.ingest import run
from ....pipeline.log_watch import Follow
from ...run import settings_from_options


def main() -> None:
    """Measure, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("settings", nargs="*")
    options = parser.parse_args()
    assignments = ("dashboard=false", f"batch_rows={options.rows}", *options.settings)
    settings = settings_from_options({"assignments": assignments, "analytics": "none"})
    with tempfile.TemporaryDirectory() as folder:
        staged, log = Path(folder, "staged"), Path(folder, "log")
        staged.mkdir()
        log.mkdir()
        random = np.random.default_rng(0)
        for number in range(options.files):
            columns = {
                "op": random.choice(np.array([1, 1, 1, -1], np.int8), options.rows),
                "src": random.integers(0, 1 << options.scale, options.rows),
                "dst": random.integers(0, 1 << options.scale, options.rows),
            }
            write_log_file(str(staged / f"{number:04d}.parquet"), pa.table(columns))
        state, follow = StateDirectory(str(Path(folder, "state"))), Follow()
        delays: list[float] = []

        def feed() -> None:
            for number in range(options.files):
                start = time.perf_counter()
                os.rename(staged / f"{number:04d}.parquet", log / f"{number:04d}.parquet")
                while number not in state.checkpoint_ids():
                    time.sleep(0.001)
                delays.append(time.perf_counter() - start)
            follow.stop()

        feeder = threading.Thread(target=feed)
        feeder.start()
        run(str(log), str(state.path), settings, None, follow)
        feeder.join()
    # The first one waits for the cluster.
    later = sorted(delays[1:])
    print(
        f"{options.rows:,} rows a file, load {os.getloadavg()[0]:.1f} on "
        f"{len(os.sched_getaffinity(0))} cores: median {statistics.median(later):.2f} s, "
        f"{later[0]:.2f} to {later[-1]:.2f}"
    )


if __name__ == "__main__":
    main()

"""The process that workers are forked from: what it has imported, and what reaches the workers."""

import gc
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.config.settings import load_settings
from graphtide.pipeline.workers.cluster import open_cluster
from graphtide.pipeline.workers.forking.fork_server import WORKER_ENVIRONMENT
from graphtide.pipeline.workers.warm_up import warm_conversion
from waiting import wait_until

#: Starts the server, prints its number, and waits.
PROGRAM = """
import os
import sys
from multiprocessing import forkserver
from graphtide.pipeline.workers.forking.fork_server import start_fork_server

# As in a program that is installed: from Python 3.12.8 and 3.13.1 on, the server has this path too.
sys.path.remove("")
before, gone = dict(os.environ), set()
sys.addaudithook(lambda event, args: event == "os.unsetenv" and gone.add(os.fsdecode(args[0])))
start_fork_server()
start_fork_server()
assert os.environ == before
assert not gone & before.keys(), "other threads may look at them"
assert not {"dask", "numpy"} & sys.modules.keys(), "that takes the time that it should save"
print(forkserver._forkserver._forkserver_pid, flush=True)
sys.stdin.read()
"""


def test_the_server_has_one_thread_and_ends_with_its_process(tmp_path: Path) -> None:
    # Nothing of the folder that a user happens to stand in is imported.
    (tmp_path / "distributed.py").write_text("raise SystemExit('a stranger')")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert process.stdout is not None
        server = psutil.Process(int(process.stdout.readline()))
        # Arrow comes before it.
        wait_until(lambda: any("llvmlite" in each.path for each in server.memory_maps()))
        assert server.num_threads() == 1, "to fork it would not be safe"
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)


#: Starts the server, and a run in a process forked then.
FORKING = """
import os
import sys
import graphtide
from graphtide.pipeline.workers.forking.fork_server import start_fork_server

start_fork_server()
if os.fork() == 0:
    try:
        graphtide.run(sys.argv[1], sys.argv[2], workers=1)
    except graphtide.ClusterError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_process_forked_after_a_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """Python would wait there for a child of another process, and Dask for threads of it."""
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "log.parquet")
    arguments = [str(tmp_path / "log.parquet"), str(tmp_path / "state")]
    done = subprocess.run(
        [sys.executable, "-c", FORKING, *arguments], capture_output=True, text=True, check=False
    )
    assert "this process was forked from one that had run graphtide" in done.stdout, done.stderr
    assert not (tmp_path / "state" / "checkpoints").exists()


def test_workers_are_forked_and_have_the_environment_of_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local = load_settings({"workers": 1, "dashboard": False})
    with open_cluster(local) as cluster:
        ours = cluster.client.run(os.getppid)
        [server] = set(ours.values())
        assert server != os.getpid()
    monkeypatch.setenv("GRAPHTIDE_TEST_WORD", "of now")
    with open_cluster(local) as cluster:
        assert set(cluster.client.run(os.getppid).values()) == {server}
        assert set(cluster.client.run(os.getenv, "GRAPHTIDE_TEST_WORD").values()) == {"of now"}
        assert min(cluster.client.run(gc.get_freeze_count).values()) > 100_000, "not all imported"
        for pid in cluster.client.run(os.getpid).values():
            at_start = Path(f"/proc/{pid}/environ").read_text().split("\0")
            assert f"MALLOC_TRIM_THRESHOLD_={8 * 2**30}" in at_start, "malloc reads it only there"


#: Has a worker of Dask's, then starts the server, and prints what malloc reads there.
AFTER_DASK = """
from multiprocessing import forkserver
from pathlib import Path
from distributed import LocalCluster
from graphtide.pipeline.workers.forking.fork_server import start_fork_server

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0"):
        pass
    start_fork_server()
    pid = forkserver._forkserver._forkserver_pid
    # Empty, for a moment, while the process becomes another program.
    while not (at_start := Path(f"/proc/{pid}/environ").read_text()):
        pass
    print(*at_start.split("\\0"), sep="\\n")
"""


@pytest.mark.parametrize(("of_user", "at_start"), [(None, 8 * 2**30), (1 << 20, 1 << 20)])
def test_what_a_cluster_of_dask_left_in_the_environment_is_no_choice_of_the_user(
    of_user: int | None, at_start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    if of_user is not None:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", str(of_user))
    command = [sys.executable, "-c", AFTER_DASK]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert f"MALLOC_TRIM_THRESHOLD_={at_start}" in done.stdout.splitlines()


def test_workers_go_without_pandas_which_arrow_would_import() -> None:
    def found_after_a_conversion() -> tuple[bool, bool]:
        warm_conversion(load_settings({}).graph.row_meaning(), 100, dense=False, on_gpu=False)
        is_imported = "pandas" in sys.modules
        # Whoever wants it in a worker can have it.
        return is_imported, importlib.util.find_spec("pandas") is not None

    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        found = cluster.client.run(found_after_a_conversion)
    assert {is_imported for is_imported, _ in found.values()} == {False}
    assert all(there for _, there in found.values())


#: Imports what the server does, then does a worker's work, and prints what else that imported.
WORK = """
import os
import sys
from pathlib import Path
import graphtide.pipeline.workers.forking.worker_imports

assert len(os.listdir("/proc/self/task")) == 1, "to fork it would not be safe"
there = set(sys.modules)

from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.log.bad_rows import RowsToRead
from graphtide.io.log.plan import PlannedBatch
from graphtide.io.log.update_log import UpdateLog
from graphtide.pipeline.tasks import load_batch

for ids, file in (("string", "names.parquet"), ("any", "numbers.parquet")):
    graph = DynamicGraph(ids=ids, engine="host")
    log = UpdateLog(str(Path.cwd()), ids=ids)
    rows = RowsToRead(log, PlannedBatch(0, file, 0, 3), None)
    graph.apply(load_batch(rows, row_meaning(ids=ids)).payload)
    assert graph.num_edges == 3
    graph.checkpoint_arrays(), graph.state_hash()
print(sorted(name for name in sys.modules.keys() - there if "graphtide" in name))
"""


def test_a_worker_has_all_of_graphtide_that_its_first_batch_needs(tmp_path: Path) -> None:
    """Else each imports it when that has come, and what comes behind it waits."""
    for name, ids in (("names", ["a", "b", "c", "d"]), ("numbers", [1, 2, 3, 4])):
        ends = {"src": ids[:3], "dst": ids[1:]}
        pq.write_table(pa.table({"op": [1, 1, 1], **ends}), tmp_path / f"{name}.parquet")
    environment = {**os.environ, **WORKER_ENVIRONMENT}
    command = [sys.executable, "-c", WORK]
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n")


#: Starts a child whose semaphore is gone, and one that does not know a class.
CHILDREN = """
import os
import sys
from multiprocessing import get_context
from graphtide.pipeline.workers.forking.fork_server import start_fork_server

start_fork_server()
processes = get_context("forkserver")

class Here:
    pass

def start(*arguments):
    child = processes.Process(target=print, args=arguments)
    child.start()
    child.join()
    assert child.exitcode == 1

lock = processes.Lock()
file = "/dev/shm/sem." + lock._semlock.name[1:]
os.rename(file, file + "-gone")
start(lock)
os.rename(file + "-gone", file)
print("now a class", file=sys.stderr, flush=True)
start(Here())
"""


def test_a_child_whose_start_was_given_up_says_nothing(tmp_path: Path) -> None:
    """A worker that was being started when its run was told to end."""
    command = [sys.executable, "-c", CHILDREN]
    done = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    given_up, other = done.stderr.split("now a class\n")
    assert given_up == ""
    assert "Can't get attribute 'Here'" in other, "what is no such case must be seen"


def test_a_tracker_that_is_stopped_ends_with_its_process() -> None:
    program = """
import os
import signal
from multiprocessing import resource_tracker
from graphtide.pipeline.workers.forking.fork_server import start_fork_server

start_fork_server()
tracker = resource_tracker._resource_tracker._pid
os.kill(tracker, signal.SIGSTOP)
print(tracker)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    tracker = int(done.stdout)
    wait_until(lambda: not psutil.pid_exists(tracker))


def test_a_child_that_is_stopped_does_not_hold_up_the_end() -> None:
    """A worker that was stopped while it was being started, and its run told to end."""
    program = """
import multiprocessing
import os
import signal
import time
from graphtide.pipeline.workers.forking.fork_server import start_fork_server
from graphtide.pipeline.workers.stopped_workers import is_stopped

start_fork_server()
child = multiprocessing.get_context("forkserver").Process(
    target=time.sleep, args=(600,), daemon=True
)
child.start()
os.kill(child.pid, signal.SIGSTOP)
while not is_stopped(child.pid):
    time.sleep(0.01)
print(child.pid)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=30)
    child = int(done.stdout)
    wait_until(lambda: not psutil.pid_exists(child))

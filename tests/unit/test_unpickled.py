"""Ctrl-C while compiled code returns to Python."""

import subprocess
import sys
from pathlib import Path

#: As a handler of a signal, a tracer runs wherever Python code begins.
SCRIPT = """
import sys, graphtide
graph = graphtide.DynamicGraph(engine="host")
graph.insert_edges([1], [2])
def interrupt(frame, event, arg):
    if "unpickle" in frame.f_code.co_name:
        raise KeyboardInterrupt
sys.settrace(interrupt)
graph.insert_edges([1], [3])
sys.settrace(None)
print(graph.num_edges)
"""


def test_no_code_of_python_runs_where_numba_does_not_expect_an_interrupt(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr[-2000:]

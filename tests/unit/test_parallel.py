"""Kernels over ranges in threads."""

import threading
from functools import partial

import pytest

from graphtide.gpu_core.jit import parallel


def test_two_callers_have_a_thread_for_each_of_their_ranges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch is applied while an analytic is computed, and does not wait for its ranges."""
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    monkeypatch.setattr(parallel, "_pool", None)
    begun, end, together = threading.Barrier(5), threading.Event(), threading.Barrier(4)

    def long() -> None:
        begun.wait(60)
        end.wait(600)

    analytic = threading.Thread(target=parallel.run_all, args=([long] * 4,))
    analytic.start()
    try:
        begun.wait(60)
        # Each of these goes on only when all of them have begun.
        arrived = parallel.run_all([partial(together.wait, 60)] * 4)
        assert sorted(arrived) == [0, 1, 2, 3]
    finally:
        end.set()
        analytic.join()

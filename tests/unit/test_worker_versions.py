"""Whether workers have our graphtide, and what becomes of those that do not say."""

import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from itertools import count

import pytest
from distributed.comm import CommClosedError

from graphtide.gpu_core.errors import ClusterError
from graphtide.pipeline.workers.worker_versions import check_versions

OURS = version("graphtide")
GONE = CommClosedError("Address removed.")


def asking(answers: Iterator[Mapping[str, object]]) -> Callable[[], Mapping[str, object]]:
    return lambda: next(answers)


def test_a_worker_that_is_given_up_late_is_passed_over_and_its_successor_asked() -> None:
    """One that is stopped answers nothing until Dask gives it up, which exceeds the time limit."""

    def answers() -> Iterator[Mapping[str, object]]:
        time.sleep(0.02)
        yield {"a": GONE, "b": OURS}
        yield {"b": OURS}
        yield {"b": OURS, "c": "0.0.7"}

    ask = asking(answers())
    check_versions(ask, 0.01)
    with pytest.raises(ClusterError, match=r"worker c has graphtide 0\.0\.7"):
        check_versions(ask, 0.01)


def test_a_successor_with_another_version_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"worker c has graphtide 0\.0\.7"):
        check_versions(asking(iter([{"a": GONE}, {"c": "0.0.7"}])), 10.0)


def test_workers_that_die_one_after_the_other_end_no_run() -> None:
    check_versions(asking({f"worker {n}": GONE} for n in count()), 0.0)


def test_a_worker_that_stays_and_cannot_be_asked_is_refused_without_advice_to_install() -> None:
    with pytest.raises(ClusterError, match="worker a of the cluster cannot be asked") as refused:
        check_versions(lambda: {"a": GONE, "b": OURS}, 0.0)
    assert "install" not in str(refused.value)

"""Kernel files are compiled once each, side by side, and raise where they are asked for."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from graphtide.gpu_core.cuda.device.modules import KernelFile, Modules


def named(name: str) -> KernelFile:
    return name, ()


class Compiler:
    """Compiles what it is told to, and counts; each file waits until it may end."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.begun: list[str] = []
        self.threads: set[str] = set()
        self.has_begun = threading.Semaphore(0)
        self.may_end = threading.Event()
        self.failing: set[str] = set()
        if at_once:
            self.may_end.set()

    def __call__(self, file: KernelFile) -> Any:
        self.begun.append(file[0])
        self.threads.add(threading.current_thread().name)
        self.has_begun.release()
        assert self.may_end.wait(10)
        if file[0] in self.failing:
            msg = f"{file[0]} does not compile"
            raise ValueError(msg)
        return object()


def test_threads_that_need_the_same_file_compile_it_once() -> None:
    compiler = Compiler(at_once=False)
    modules = Modules(compiler)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(modules.module, named("plan.cu")) for _ in range(4)]
        assert compiler.has_begun.acquire(timeout=10)
        compiler.may_end.set()
        found = {id(each.result()) for each in asked}
    assert (compiler.begun, len(found)) == (["plan.cu"], 1)


def test_files_are_compiled_behind_the_caller_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(3)))
    compiler = Compiler(at_once=False)
    modules = Modules(compiler)
    modules.compile_ahead(named(f"{number}.cu") for number in range(5))
    for _ in range(3):
        assert compiler.has_begun.acquire(timeout=10), "the files wait for one another"
    assert sorted(compiler.begun) == ["0.cu", "1.cu", "2.cu"]
    compiler.may_end.set()
    for number in range(5):
        modules.module(named(f"{number}.cu"))
    assert sorted(compiler.begun) == [f"{number}.cu" for number in range(5)]


def test_a_file_whose_turn_has_not_come_is_compiled_by_whoever_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    compiler = Compiler(at_once=False)
    modules = Modules(compiler)
    modules.compile_ahead([named("large.cu"), named("small.cu")])
    assert compiler.has_begun.acquire(timeout=10)
    with ThreadPoolExecutor(1, thread_name_prefix="asker") as pool:
        asked = pool.submit(modules.module, named("small.cu"))
        assert compiler.has_begun.acquire(timeout=10), "it waits behind a file nobody asked for"
        compiler.may_end.set()
        asked.result()
    modules.module(named("large.cu"))
    assert sorted(compiler.begun) == ["large.cu", "small.cu"]
    assert any(name.startswith("asker") for name in compiler.threads)


def test_an_error_is_raised_where_the_file_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    untold: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", untold.append)
    compiler = Compiler()
    compiler.failing = {"bad.cu"}
    modules = Modules(compiler)
    modules.compile_ahead([named("bad.cu"), named("good.cu")])
    modules.module(named("good.cu"))
    with pytest.raises(ValueError, match=r"bad\.cu does not compile"):
        modules.module(named("bad.cu"))
    assert untold == []
    compiler.failing = set()
    modules.module(named("bad.cu"))
    assert compiler.begun.count("bad.cu") == 2, "an error is not for ever"


def test_each_combination_of_defines_is_a_file_of_its_own() -> None:
    compiler = Compiler()
    modules = Modules(compiler)
    found = {id(modules.module(("plan.cu", (("ENTRY_WORDS", words),)))) for words in (1, 2, 1)}
    assert len(compiler.begun) == len(found) == 2

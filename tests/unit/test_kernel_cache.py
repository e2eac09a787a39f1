"""Where compiled kernels are kept: nowhere that somebody else could have put code."""

import gc
import os
import stat
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import config

from graphtide.gpu_core.batch.net_effect import edge_buckets
from graphtide.gpu_core.host.analytics.traversal import bfs
from graphtide.gpu_core.jit import cache_folder as folders
from graphtide.gpu_core.jit import compile as kernels
from graphtide.gpu_core.jit.shared_cache import share_compiled


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The shared temporary folder, where there is no home."""
    monkeypatch.setattr(kernels.numba.config, "CACHE_DIR", "")
    (tmp_path / "no-folder").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-folder"))
    shared = tmp_path / "tmp"
    shared.mkdir()
    monkeypatch.setattr(folders.tempfile, "tempdir", str(shared))
    folders.cache_folder.cache_clear()
    yield shared
    folders.cache_folder.cache_clear()


def chosen() -> Path:
    folders.cache_folder.cache_clear()
    folder = folders.cache_folder()
    for each in (folder, folder.parent):
        if each.stat().st_uid == os.getuid() and each.name.startswith("graphtide"):
            assert stat.S_IMODE(each.stat().st_mode) == 0o700
    return folder


def base(shared: Path) -> Path:
    return shared / f"graphtide-{os.getuid()}"


def test_a_folder_of_ours_is_used_again(shared: Path) -> None:
    first = chosen()
    assert first.parent == base(shared)
    assert chosen() == first


def test_a_folder_of_another_user_is_not_used(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chosen()
    (folder / "planted.nbi").write_bytes(b"")
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    other = chosen()
    assert other != folder
    assert not list(other.rglob("*.nbi"))


def test_a_folder_that_others_could_write_is_not_used(shared: Path) -> None:
    folder = chosen()
    for mode in (0o770, 0o707):
        folder.chmod(mode)
        assert chosen() != folder
    folder.chmod(0o755)
    assert chosen() == folder


def test_the_folder_around_it_is_closed_to_others(shared: Path) -> None:
    base(shared).mkdir()
    base(shared).chmod(0o777)
    folder = chosen()
    assert folder.parent == base(shared)


@pytest.mark.parametrize("is_base", [True, False])
def test_a_link_is_not_followed(shared: Path, tmp_path: Path, is_base: bool) -> None:
    planted = tmp_path / "planted"
    planted.mkdir(mode=0o700)
    folder = chosen()
    folder.rmdir()
    link = folder
    if is_base:
        base(shared).rmdir()
        link = base(shared)
    link.symlink_to(planted)
    assert not chosen().resolve().is_relative_to(planted)


def test_the_folder_of_last_resort_goes_with_its_process(shared: Path) -> None:
    base(shared).write_text("")
    folder = chosen()
    assert folder.parent == shared
    assert folder.name.startswith("graphtide-")
    folders._passing.pop().cleanup()
    assert not folder.exists()


def test_the_home_is_used_first(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert chosen().parent == tmp_path / "cache" / "graphtide"


def test_kernels_of_analytics_are_kept_apart() -> None:
    """Else each edit of an analytic would have the whole update path compiled again."""

    def folder(kernel: Any) -> Path:
        return Path(kernel._cache.cache_path)

    assert folder(edge_buckets.count_rows).parent == folders.cache_folder()
    assert folder(bfs.push_levels).parent.parent == folders.cache_folder()


def test_compiling_keeps_no_array_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba leaves cycles behind; a batch in them would keep the shared memory that it lies in."""
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)

    @kernels.compiled
    def move(values):
        # What Numba tries in vain for this, it keeps.
        values[1:3] = values[2:4]

    def use() -> weakref.ref:
        values = np.arange(5)
        move(values)
        assert values.tolist() == [0, 2, 3, 3, 4]
        return weakref.ref(values)

    gc.collect()
    gc.disable()
    try:
        assert use()() is None
    finally:
        gc.enable()


def test_a_function_that_others_compile_may_call_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba holds its lock meanwhile."""
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)

    @kernels.compiled
    def doubled(value):
        return 2 * value

    @numba.njit
    def their_own(value):
        return doubled(value) + 1

    found: list[int] = []
    call = threading.Thread(target=lambda: found.append(their_own(20)), daemon=True)
    call.start()
    call.join(timeout=120)
    assert found == [41]


def test_what_writes_launches_is_compiled_without_vectors() -> None:
    """Its loops are short, and a first start waits for it; what others compile stays as it was."""
    seen = []

    class Dispatcher:
        py_func = staticmethod(edge_buckets.count_rows.py_func)

        def compile(self, signature: Any) -> None:
            seen.append(config.LOOP_VECTORIZE)

    before = config.LOOP_VECTORIZE
    for vectorizes in (False, True):
        dispatcher = Dispatcher()
        share_compiled(dispatcher, vectorizes=vectorizes)
        dispatcher.compile(())
    assert seen == [0, before]
    assert config.LOOP_VECTORIZE == before

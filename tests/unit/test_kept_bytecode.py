"""Compiled Python modules are kept in a folder of ours, only where they would be kept nowhere."""

import py_compile
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphtide.pipeline.workers.forking import kept_bytecode


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As in many containers; returns a package like Numba, one module of which is compiled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    package = tmp_path / "numba"
    package.mkdir()
    for name in ("__init__", "core"):
        (package / f"{name}.py").write_text("")
    py_compile.compile(str(package / "__init__.py"))
    origin = SimpleNamespace(origin=str(package / "__init__.py"))
    monkeypatch.setattr(kept_bytecode, "find_spec", lambda _: origin)
    return package


@pytest.mark.usefixtures("nowhere")
def test_what_is_imported_is_kept_in_the_cache_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_bytecode.keep_bytecode()
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "of_this_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    __import__("of_this_test")
    [kept] = tmp_path.rglob("of_this_test*.pyc")
    assert kept.is_relative_to(tmp_path / "cache" / "graphtide" / "bytecode")


def test_nothing_is_changed_where_they_are_kept_already(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    py_compile.compile(str(nowhere / "core.py"))
    kept_bytecode.keep_bytecode()
    shutil.rmtree(nowhere / "__pycache__")
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "of the user"))
    kept_bytecode.keep_bytecode()
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept_bytecode.keep_bytecode()
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (None, False)
    assert not (tmp_path / "cache").exists()


def test_ours_are_kept_where_only_those_of_libraries_are_compiled(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    py_compile.compile(str(nowhere / "core.py"))
    ours = tmp_path / "graphtide" / "__init__.py"  # a checkout, as `pip install -e` takes it
    ours.parent.mkdir()
    ours.write_text("")
    found = {"numba": nowhere / "__init__.py", "graphtide": ours}
    monkeypatch.setattr(
        kept_bytecode, "find_spec", lambda name: SimpleNamespace(origin=str(found[name]))
    )
    kept_bytecode.keep_bytecode()
    assert sys.pycache_prefix == str(tmp_path / "cache" / "graphtide" / "bytecode")

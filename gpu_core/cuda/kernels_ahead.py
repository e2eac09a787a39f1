"""Kernel files that a graph and its analytics will launch, to be compiled ahead.

Nothing is listed here: a kernel file is in the folder of the module that launches it, or in one
below it, and every batch goes through the same folders. An analytic launches the file of
its own name, those of the modules that it imports, and that which puts its values in order.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from ..kind import GraphKind
from ..layouts import LAYOUTS
from .device.compile import DIRECTED, kernel_files, kernel_source, variants
from .device.modules import KernelFile

_ROOT: Final = Path(__file__).parent
_FOLDERS: Final = ("update", "memory", "device", "queries")

_IMPORT = re.compile(r"^from (\.{1,4})([\w.]+) import", re.MULTILINE)


def files_of_graph(kind: GraphKind, *, raw: bool = False) -> list[KernelFile]:
    """Kernel files by which batches are applied and the graph is copied, the longest first.

    In the forms that this kind launches. ``raw``: the device converts rows as well.
    """
    record = kind.record
    words = {record.words, record.reverse_words if kind.stores_reverse else record.words}
    paged = LAYOUTS[kind.layout].is_paged
    files = _files_of_graph(frozenset(words), kind.dense_ids, paged, raw)
    unused = {"repeats.cu": not kind.combines_weights, "expired.cu": not record.has_times}
    return [file for file in files if not unused.get(file[0], False)]


@cache
def _files_of_graph(
    words: frozenset[int], dense_ids: bool, paged: bool, raw: bool
) -> list[KernelFile]:
    folders = {*_FOLDERS, "convert"} if raw else {*_FOLDERS}
    names = {name for name, folder in _folders().items() if folder in folders}
    names |= _launched_from((_ROOT / "queries").glob("*.py"))
    if dense_ids:
        names.discard("dictionary.cu")
    if not raw:
        names -= {name for name, folder in _folders().items() if folder == "convert"}
    if not paged:
        names -= {name for name in names if name.startswith("paged")}
    return [
        (name, tuple(defines.items()))
        for name in _longest_first(names)
        for defines in variants(name)
        if not defines or defines["ENTRY_WORDS"] in words
    ]


@cache
def _folders() -> dict[str, str]:
    """Kernel file -> folder of the engine that it is in, at whatever depth."""
    within = {name: path for name, path in kernel_files().items() if path.is_relative_to(_ROOT)}
    return {name: path.relative_to(_ROOT).parts[0] for name, path in within.items()}


@cache
def files_of_analytic(name: str, *, directed: bool) -> list[KernelFile]:
    """Kernel files of an analytic, the longest first; none where there is no such twin.

    Where a file has a form for directed graphs, ``directed`` says which one.
    """
    twins = list((_ROOT / "analytics").rglob(f"{name}.py"))
    names = _launched_from([*twins, _ROOT / "analytics" / "in_order.py"] if twins else [])
    form = DIRECTED if directed else {}
    return [
        (name, tuple(form.items()) if form in variants(name) else ())
        for name in _longest_first(names)
    ]


def _longest_first(names: Iterable[str]) -> list[str]:
    texts = {name: kernel_source(name) for name in names if name.endswith(".cu")}
    return sorted(texts, key=lambda name: (-len(texts[name]), name))


def _launched_from(modules: Iterable[Path]) -> set[str]:
    """Kernel files named as these modules, or as modules of the folders that those import."""
    seen: set[Path] = set()
    left = list(modules)
    while left:
        module = left.pop()
        if module in seen or not module.exists():
            continue
        seen.add(module)
        for dots, name in _IMPORT.findall(module.read_text(encoding="utf-8")):
            base = module.parents[len(dots) - 1]
            left.append(base.joinpath(*name.split(".")).with_suffix(".py"))
    return {f"{module.stem}.cu" for module in seen} & kernel_files().keys()

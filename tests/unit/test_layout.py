"""The repository as a package: what is listed, what is public, and what an import costs."""

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import graphtide

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("config", "flows", "gpu_core", "io", "pipeline")
#: Classes whose docstrings say how they are made; `batch_lists.py` describes a batch.
MADE_BY_USERS = (graphtide.DynamicGraph, graphtide.Program, graphtide.UpdateBatch)
HEAVY = ("bokeh", "cupy", "dask", "distributed", "llvmlite", "numba", "pandas", "pyarrow", "scipy")


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_folder_is_listed_in_pyproject() -> None:
    listed = set(pyproject()["tool"]["setuptools"]["packages"])
    found = {
        ".".join(["graphtide", *path.parent.relative_to(ROOT).parts])
        for layer in LAYERS
        for pattern in ("**/*.py", "**/*.cu")
        for path in (ROOT / layer).glob(pattern)
    }
    assert listed == found | {"graphtide"}


def test_every_folder_with_python_files_is_a_package() -> None:
    folders = {path.parent for layer in LAYERS for path in (ROOT / layer).glob("**/*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_data_file_of_a_layer_is_package_data() -> None:
    data = pyproject()["tool"]["setuptools"]["package-data"]
    for layer in LAYERS:
        for path in (ROOT / layer).glob("**/*"):
            if not path.is_file() or path.suffix in (".py", ".pyc"):
                continue
            package = ".".join(["graphtide", *path.parent.relative_to(ROOT).parts])
            patterns = [*data.get(package, []), *data.get("*", [])]
            assert any(path.match(pattern) for pattern in patterns), f"{path} is not shipped"


def test_gpu_core_takes_other_forms_alone_from_the_package() -> None:
    """The import linter knows modules, not what a lazy name of the package stands for."""
    taken: set[str] = set()
    for path in (ROOT / "gpu_core").glob("**/*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        levels = len(path.relative_to(ROOT).parts)
        found = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module is None and node.level == levels
        ]
        assert not set(found) & set(tree.body), f"{path} takes it before a call needs it"
        taken |= {name.name for node in found for name in node.names}
    # Not of another layer: `face/` makes graphs, which are defined above it.
    taken.remove("DynamicGraph")
    modules = {name: graphtide._PUBLIC[name] for name in taken}
    others = {name: at for name, at in modules.items() if not at.startswith(".io.interchange.")}
    assert others == {}


def test_public_names_are_sorted_and_importable() -> None:
    assert list(graphtide.__all__) == sorted(graphtide.__all__)
    assert dir(graphtide) == graphtide.__all__
    for name in graphtide.__all__:
        assert getattr(graphtide, name) is not None
    errors = ast.parse((ROOT / "gpu_core" / "errors.py").read_text(encoding="utf-8"))
    classes = {node.name for node in errors.body if isinstance(node, ast.ClassDef)}
    assert classes <= set(graphtide.__all__), "an error type is not public"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = graphtide.nothing


def test_type_checkers_find_all_public_names() -> None:
    """Names are imported at run time, on first use: a checker knows them from the stub alone."""
    stub = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    typed = {
        each.name: import_module("." + node.module, "graphtide")
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    assert {"open" if name == "open_state" else name for name in typed} == {
        name for name in graphtide.__all__ if not name.startswith("_")
    }
    for name, module in typed.items():
        public = "open" if name == "open_state" else name
        assert getattr(module, name) is getattr(graphtide, public)


def test_the_page_on_the_api_has_all_public_names() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    drawn = set(re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE))
    for name in graphtide.__all__:
        public = getattr(graphtide, name)
        if not name.startswith("_") and public.__module__ not in drawn:
            assert f"{public.__module__}.{public.__qualname__}" in drawn, name


def _attributes_of(kind: type) -> set[str]:
    """Public attributes that a class declares as fields, or sets in its ``__init__``."""
    found = {*getattr(kind, "__dataclass_fields__", ()), *getattr(kind, "_fields", ())}
    for each in kind.__mro__:
        made = vars(each).get("__init__")
        if not found and inspect.isfunction(made) and each.__module__.startswith("graphtide"):
            tree = ast.parse(textwrap.dedent(inspect.getsource(made)))
            found = {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            }
            break
    return {name for name in found if not name.startswith("_")}


def _attributes_described(kind: type) -> set[str]:
    """Names in the section *Attributes* of the docstring of a class."""
    section = re.search(
        r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", inspect.getdoc(kind) or "", re.M | re.S
    )
    names = re.findall(r"^(\w.*)$", section.group(1), re.MULTILINE) if section else []
    return {name.strip() for line in names for name in line.split(",")}


def test_what_calls_return_has_its_attributes_in_its_docstring() -> None:
    """``help`` and the page on the API show docstrings, not comments beside fields."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    missing = {}
    for path in re.findall(r"^::: ([\w.]+)\.([A-Z]\w+)$", page, re.MULTILINE):
        kind = getattr(import_module(path[0]), path[1])
        if kind in MADE_BY_USERS:
            continue
        left = _attributes_of(kind) - _attributes_described(kind)
        missing[path[1]] = sorted(left)
    assert {name: left for name, left in missing.items() if left} == {}


IMPORTED = """
import sys
before = set(sys.modules)
import {module}
print(*sys.modules.keys() - before)
"""


@pytest.mark.parametrize(("module", "most"), [("graphtide", 20), ("graphtide.flows.cli", 100)])
def test_an_import_is_light(module: str, most: int, tmp_path: Path) -> None:
    """Modules are counted, not seconds: those are the machine's."""
    program = IMPORTED.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    imported = done.stdout.split()
    assert module in imported
    assert {name.partition(".")[0] for name in imported} & set(HEAVY) == set()
    assert len(imported) <= most


def test_a_checkout_on_pythonpath_is_told_in_a_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "frozen_modules=off", "-c", "pass"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode != 0
    assert "remove it from PYTHONPATH" in done.stderr


def test_the_readme_sets_up_in_two_lines_and_ci_runs_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^## Set up\n.*?^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert block is not None
    demo, tests = block.group(1).splitlines()
    assert demo.endswith("graphtide demo")
    assert tests.endswith("pytest -n logical")
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    for number in (1, 2):
        assert re.search(rf"\breadme_line {number}\b", script.read_text(encoding="utf-8"))


def test_the_changelog_knows_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(graphtide.__version__)}\b", changelog, re.MULTILINE)


def test_the_page_on_papers_names_files_that_are_there() -> None:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.(?:py|cuh?))", page)
    assert len(named) > 40
    places = [ROOT, ROOT / "gpu_core", *(ROOT / "gpu_core" / engine for engine in ("host", "cuda"))]
    # Beside a file of a folder another one of the same folder may be named alone.
    places.append(ROOT / "gpu_core" / "layouts")
    lost = [name for name in named if not any((place / name).exists() for place in places)]
    assert not lost


def test_heads_of_kernel_files_name_what_is_there() -> None:
    """Files that they say launch them or do the same in Python, and functions of these."""
    core = ROOT / "gpu_core"
    sources = {path: path.read_text(encoding="utf-8") for path in core.rglob("*.py")}
    kernels = [path for path in core.rglob("*.cu*") if path.suffix in (".cu", ".cuh")]
    lost, named = [], 0
    for kernel in kernels:
        head = re.split(r"^#", kernel.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[
            0
        ]
        for file, functions in re.findall(r"([\w/]+\.py)(?::([^\n]*))?", head):
            texts = [text for path, text in sources.items() if f"/{path}".endswith(f"/{file}")]
            names = re.findall(r"\b[a-z]+_[a-z_]+\b(?!\.py)", functions)
            named += 1
            lost += [(kernel.name, file)] * (not texts)
            lost += [
                (kernel.name, file, name)
                for name in names
                if not any(re.search(rf"\b{name}\b", text) for text in texts)
            ]
    assert named > 100
    assert not lost

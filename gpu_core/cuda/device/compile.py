"""Source text of the kernels: one self-contained text a file, put together from its headers.

A kernel file names its headers with ``#include "name.cuh"``. They are put in place here, each once,
because CuPy's cache of compiled code knows a kernel by its text alone: with real includes an edit
in a header would go on running the old code.

``constants.cuh`` is no file: it is generated from `image/fields.py`, `records.py` and
`cuda/structs.py`, so that kernels and host code cannot disagree. What it holds, by where it comes
from:

=========================  ===================================================================
``fields.<Enum>.<NAME>``    ``constexpr int <ENUM>_<NAME>``: ``FIELD_PAGE_BUMP``
``fields.<NAME>``          ``constexpr`` of the same name: int, u32 or i64, the first that holds it
``records.<NAME>_WORD``    ``constexpr int`` of the same name
``records.WIDE_WORDS``     ``HAS_WIDE_WEIGHT(words)``: of an entry of ``words`` words
``layouts.LAYOUTS``         ``LAYOUT_RUNS``, ``LAYOUT_CHAIN``, ``LAYOUT_TREE``
``fields.Shape``           ``struct Shape``, every field an ``i64``
``structs.<NAME>``         ``constexpr`` of the same name; of ``THRESHOLDS`` macros that tests set
``structs.STRUCTS``        ``struct`` of each
=========================  ===================================================================

Nor are ``paged_layouts.cuh``, the headers of all layouts of pages and the choice of one, and
``twin_constants.cuh``: what algorithms have in common with their host twins.
"""

import os
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from ... import records
from ...algorithms.shared import twin_constants
from ...image import fields
from ...layouts import LAYOUTS
from ...records import RECORDS
from .. import structs

#: Folders under which the kernel files lie, each beside the module that launches it, or that says
#: the same in Python.
_ROOTS: Final = tuple(Path(__file__).parents[2] / room for room in ("cuda", "layouts"))

#: Options of NVRTC. Without contraction a product and a sum round as they do on the host.
OPTIONS: Final = ("-std=c++17", "--fmad=false")

#: `fields.Shape` as a kernel argument: passed by value.
SHAPE_DTYPE: Final = np.dtype([(name, np.int64) for name in fields.Shape._fields])

#: Texts that are no files, by name.
_TEXTS: Final[dict[str, str]] = {}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*$', re.MULTILINE)
_KERNEL = re.compile(
    r'extern\s+"C"\s+__global__\s+(?:void\s+)?'
    r"(?:__launch_bounds__\s*\((?P<bounds>[^()]*)\)\s*)?(?:void\s+)?"
    r"(?:IN_CLUSTER\s+)?(?P<name>\w+)\s*\("
)
_OTHER_LETTER = re.compile(r"[^\x00-\x7f]")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def shape_argument(shape: fields.Shape) -> npt.NDArray[np.void]:
    """``Shape`` of the kernels: a 0-d array of `SHAPE_DTYPE`."""
    return np.array(tuple(shape), dtype=SHAPE_DTYPE)


@cache
def kernel_files() -> dict[str, Path]:
    """Kernel files and headers by name; names are unique across the folders."""
    found = (path for root in _ROOTS for path in root.rglob("*.cu*"))
    return {path.name: path for path in found if path.suffix in (".cu", ".cuh")}


def kernel_file(name: str) -> Path:
    """Path of a kernel file or header by its name; an absolute path is itself."""
    return Path(name) if os.path.isabs(name) else kernel_files()[name]


def add_text(name: str, text: str) -> None:
    """Have a text that is no file be a kernel file of this name: of what a user has written."""
    _TEXTS[name] = text


def kernel_source(name: str, defines: Mapping[str, int] | None = None) -> str:
    """Self-contained text of a kernel file, in ASCII.

    CuPy writes it in the encoding of the locale, which a C library may have changed, and NVRTC
    takes other letters in names of a user's program only as their numbers.

    Parameters
    ----------
    name
        Name of a kernel file, such as ``plan.cu``, or an absolute path.
    defines
        Macros that stand before the first line: one text a combination.
    """
    lines = [f"#define {macro} {int(value)}" for macro, value in sorted((defines or {}).items())]
    lines.append(_flattened(name, set()))
    return _OTHER_LETTER.sub(_universal_name, "\n".join(lines) + "\n")


def _universal_name(letter: re.Match[str]) -> str:
    """A letter as C++ has it in ASCII."""
    number = ord(letter[0])
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def kernel_bounds(source: str) -> dict[str, str | None]:
    """Kernels that a text defines, in its order: name -> what stands in ``__launch_bounds__``."""
    return {match["name"]: match["bounds"] for match in _KERNEL.finditer(COMMENT.sub("", source))}


def _flattened(name: str, seen: set[str]) -> str:
    """Text of a file with the headers that it names in their places, each file once."""
    if name in seen:
        return ""
    seen.add(name)
    if name in _TEXTS:
        pieces = _pieces(name, _TEXTS[name])
    elif name in GENERATED:
        pieces = _pieces(name, GENERATED[name]())
    elif os.path.isabs(name):
        pieces = _pieces(name, Path(name).read_text(encoding="utf-8"))
    else:
        pieces = _pieces_of_file(name, kernel_file(name))
    return "".join(text + (_flattened(header, seen) if header else "") for text, header in pieces)


@cache
def _pieces_of_file(name: str, path: Path) -> list[tuple[str, str]]:
    """`_pieces` of a file of ours, read once: most kernels have the same headers."""
    return _pieces(name, path.read_text(encoding="utf-8"))


def _pieces(name: str, text: str) -> list[tuple[str, str]]:
    """A text in pieces, each with the header that stands behind it; none behind the last one."""
    pieces, begin, start = [], f'#line 1 "{name}"\n', 0
    for include in INCLUDE.finditer(text):
        pieces.append((begin + text[start : include.start()], include[1]))
        following, start = text.count("\n", 0, include.end()) + 2, include.end()
        begin = f'\n#line {following} "{name}"'
    return [*pieces, (begin + text[start:], "")]


@cache
def constants() -> str:
    """Text of ``constants.cuh``."""
    numbers: dict[str, int] = {}
    for owner in (fields, records, structs):
        for name, value in vars(owner).items():
            if isinstance(value, int) and name.isupper():
                numbers[name] = value
            if isinstance(value, type) and issubclass(value, IntEnum) and value is not IntEnum:
                numbers |= {f"{_upper(name)}_{member.name}": int(member) for member in value}
    for layout in LAYOUTS.values():
        numbers[f"LAYOUT_{layout.name.upper()}"] = layout.code
    lines = [
        "#pragma once",
        "typedef unsigned char u8;",
        "typedef unsigned int u32;",
        "typedef int i32;",
        "typedef unsigned long long u64;",
        "typedef long long i64;",
        "#define HAS_WIDE_WEIGHT(words) "
        f"({' || '.join(f'(words) == {words}' for words in records.WIDE_WORDS)})",
        *(
            f"constexpr {_type_of(value)} {name} = {_literal(value)};"
            for name, value in numbers.items()
        ),
        "struct Shape {",
        *(f"    i64 {name};" for name in fields.Shape._fields),
        "};",
        *(f"#ifndef {n}\n#define {n} {v}\n#endif" for n, v in structs.THRESHOLDS.items()),
        *(each.source for each in structs.STRUCTS),
        *(
            f"static_assert(sizeof({each.name}) == {each.nbytes});"
            for each in structs.STRUCTS
            if not each.template
        ),
        "",
    ]
    return "\n".join(lines)


def _paged_layouts() -> str:
    """Text of ``paged_layouts.cuh``: ``ANSWER_OF_LAYOUT(question)`` has a branch for each."""
    paged = [layout for layout in LAYOUTS.values() if layout.is_paged]
    # The last one first: as a switch, or in the other order, a kernel spills.
    branch = "if (shape.layout == {0.code}) return {0.name}::question;"
    constant = "namespace {0.name} {{ constexpr int LINK_WORDS = {0.link_words}; }}"
    lines = [
        "#pragma once",
        *(constant.format(each) for each in paged),
        *(f'#include "{each.name}.cuh"' for each in paged),
        f"#define ANSWER_OF_LAYOUT(question) {' '.join(map(branch.format, paged[::-1]))}",
    ]
    return "\n".join([*lines, ""])


def _twin_constants() -> str:
    """Text of ``twin_constants.cuh``."""
    numbers = vars(twin_constants).items()
    lines = [
        f"constexpr double {name} = {value.hex()};"
        for name, value in numbers
        if isinstance(value, float)
    ]
    return "\n".join(["#pragma once", *lines, ""])


#: Headers that are no files, and what writes them.
GENERATED: Final[Mapping[str, Callable[[], str]]] = {
    "constants.cuh": constants,
    "paged_layouts.cuh": _paged_layouts,
    "twin_constants.cuh": _twin_constants,
}


def _upper(name: str) -> str:
    """``BatchField`` -> ``BATCH_FIELD``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def _type_of(value: int) -> str:
    if -(1 << 31) <= value < 1 << 31:
        return "int"
    return "u32" if 0 <= value < 1 << 32 else "i64"


def _literal(value: int) -> str:
    return {"int": f"{value}", "u32": f"{value}u", "i64": f"{value}ll"}[_type_of(value)]


#: Words of an entry of each kind of records.
_ALL_RECORDS = [{"ENTRY_WORDS": words} for words in sorted({r.words for r in RECORDS.values()})]

#: Form of kernels that read float64 weights, where others read float32.
WIDE_WEIGHTS: Final = (("WIDE_WEIGHTS", 1),)

#: Form of kernels that count more paths than float64 can.
WIDE_PATHS: Final = {"WIDE_PATHS": 1}

#: Form of ``triangles.cu`` for directed graphs, and the one that counts directed triangles.
DIRECTED: Final = {"DIRECTED": 1}
PRODUCTS: Final = {**DIRECTED, "PRODUCTS": 1}

#: Kernel file -> defines that the engine compiles it with, where `variants` does not guess them.
VARIANTS: Final[dict[str, list[dict[str, int]]]] = {
    "aimgraph.cu": [
        {"LANES": lanes, "COMPACTS": compacts}
        for lanes in (1, 4, 8, 16, 32, 128)
        for compacts in (0, 1)
    ],
    "aimgraph_triangles.cu": [
        {"LANES": lanes, "SORTED": is_sorted} for lanes in (1, 32) for is_sorted in (0, 1)
    ],
    "aimgraph_pagerank.cu": [{"LANES": lanes} for lanes in (1, 32)],
    "betweenness_centrality.cu": [{}, WIDE_PATHS],
    "few_rows.cu": _ALL_RECORDS[:1],
    "triangles.cu": [{}, DIRECTED, PRODUCTS],
    "slices.cu": [{}, dict(WIDE_WEIGHTS)],
    "pagerank.cu": [{}, dict(WIDE_WEIGHTS)],
}


def variants(name: str) -> list[dict[str, int]]:
    """Defines that the engine compiles a kernel file with.

    Those of `VARIANTS`; a file that is not named there is compiled for all records where it,
    or a header of its own, says ``ENTRY_WORDS``, and once without defines where none does.
    """
    if name in VARIANTS:
        return VARIANTS[name]
    own_text = COMMENT.sub("", _flattened(name, {"image.cuh"}))
    return _ALL_RECORDS if "ENTRY_WORDS" in own_text else [{}]


def instantiations() -> list[tuple[str, dict[str, int]]]:
    """Every (file, defines) that the engine launches: what the check of the kernels compiles."""
    files = sorted(name for name in kernel_files() if name.endswith(".cu"))
    return [(name, defines) for name in files for defines in variants(name)]

"""Plain text for people, 80 columns wide: a word that says what a line is about, then the line.

::

    applied    11 batches, 506,550 rows in 2.9 s
    graph      24,759 vertices, 187,986 edges (undirected, simple)

And JSON for programs.
"""

import json
import math
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...gpu_core.printable import printable, rows_aligned

WIDTH = 79

#: A space where a line does not break.
TIED = "\N{NO-BREAK SPACE}"
_LABEL_WIDTH = 11


#: The space between a number and its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGTP]?B|[kMGTP]|m?s|min|h|%)(?!\w))")


def line(label: str, text: str, *, wrap: bool = True) -> str:
    """One labeled line, wrapped below itself; paths stay whole, so that they can be copied.

    So do a number and its unit, and what is `TIED`.
    """
    label = f"{label} ".ljust(_LABEL_WIDTH)  # also a longer one is apart from its text
    if not wrap:
        return label + text
    filled = textwrap.fill(
        _BEFORE_UNIT.sub(TIED, text),
        WIDTH,
        initial_indent=label,
        subsequent_indent=" " * _LABEL_WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace(TIED, " ")


def command(*words: str) -> str:
    """A command as a shell takes it, to be copied: words are quoted where they have to be."""
    return shlex.join(words)


def duration(seconds: float) -> str:
    """Write a time as a person would: ``0.42 s``, ``12.3 s``, ``4 min 5 s``, ``2 h 3 min``."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def table_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows below the names of their columns, each column as wide as it has to be."""
    if not rows:
        return
    columns = ([name, *(value_text(row[name]) for row in rows)] for name in rows[0])
    for row in rows_aligned([*columns]):
        yield row.replace(TIED, " ")


def value_text(value: Any) -> str:
    """A value in a line, a float with six digits; names are not broken at their spaces."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return printable(value).replace(" ", TIED)


def json_text(value: Any) -> str:
    """Values as JSON, with null for what is no number there: a distance that is inf."""
    return json.dumps(_with_nulls(value), indent=1)


def _with_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_nulls(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_nulls(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

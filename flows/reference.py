"""Tables of ``docs/analytics.md``, made from the registry of analytics.

``python -m graphtide.flows.reference docs/analytics.md`` writes them into the file, between two
lines that mark where they belong; a test tells when that was forgotten.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..gpu_core.algorithms.analytic import Analytic, Parameter
from ..gpu_core.algorithms.registry import ANALYTICS

BEGIN = "<!-- made by `python -m graphtide.flows.reference docs/analytics.md` -->"
END = "<!-- end of what is made -->"

#: Keyword of JSON Schema -> what stands before its value.
_BOUNDS = {
    "minimum": "≥ ",
    "exclusiveMinimum": "> ",
    "maximum": "≤ ",
    "exclusiveMaximum": "< ",
}


def with_tables(text: str) -> str:
    """The text of a file with the tables between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{analytics_tables()}\n{END}{after}"


def analytics_tables() -> str:
    """A section for each analytic: result columns, columns of the summary, then parameters."""
    return "\n".join(line for analytic in ANALYTICS.values() for line in _section(analytic))


def _section(analytic: Analytic) -> Iterable[str]:
    yield f"### `{analytic.name}`"
    yield ""
    yield f"{analytic.about} Reads the rows of direction {' and '.join(analytic.needs.rows)}."
    yield ""
    columns = [(f"`{each.name}`", each.dtype, each.about) for each in analytic.columns]
    yield from _table((f"column of `{analytic.name}.parquet`", "type", "meaning"), columns)
    if analytic.metrics:
        metrics = [
            (f"`{column}`", each.dtype, each.about)
            for column, each in analytic.metric_columns(analytic.name).items()
        ]
        yield from _table(("column of the summary", "type", "meaning"), metrics)
    if analytic.parameters:
        parameters = [
            (f"`{analytic.name}.{each.name}`", _values(each), _default(each), each.about)
            for each in analytic.parameters
        ]
        yield from _table(("setting", "values", "default", "meaning"), parameters)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, rows)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _values(parameter: Parameter) -> str:
    allowed = parameter.allowed
    if parameter.is_by_vertex:
        return "mapping of vertices to numbers ≥ 0, or a file"
    if "enum" in allowed:
        return " or ".join(f"`{_plain(value)}`" for value in allowed["enum"])
    kinds = allowed.get("type", [])
    named = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    bounds = [f"{sign}{allowed[word]:g}" for word, sign in _BOUNDS.items() if word in allowed]
    return ", ".join([" or ".join(named), *bounds])


def _default(parameter: Parameter) -> str:
    return "must be given" if parameter.is_required else f"`{_plain(parameter.default)}`"


def _plain(value: Any) -> str:
    return json.dumps(value).strip('"')


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_tables(file.read_text("utf-8")), "utf-8")

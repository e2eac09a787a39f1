"""Tables of ``docs/analytics.md`` and ``docs/maintained.md``, from the registry of analytics.

``python -m graphtide.flows.reference docs/analytics.md docs/maintained.md`` writes them into the
files, between two lines that mark where they belong; a test fails when that was forgotten.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..gpu_core.algorithms.analytic import Analytic, Needs, Parameter
from ..gpu_core.algorithms.registry import ANALYTICS

BEGIN = "<!-- made by `python -m graphtide.flows.reference docs/{page}` -->"
END = "<!-- end of what is made -->"

#: Keyword of JSON Schema -> what stands before its value.
_BOUNDS = {
    "minimum": "≥ ",
    "exclusiveMinimum": "> ",
    "maximum": "≤ ",
    "exclusiveMaximum": "< ",
}


def with_tables(text: str, page: str) -> str:
    """The text of a page, one of `PAGES`, with the tables between its two marks."""
    begin = BEGIN.format(page=page)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}\n\n{PAGES[page]()}\n{END}{after}"


def analytics_tables() -> str:
    """A section for each analytic: result columns, columns of the summary, then parameters."""
    return "\n".join(line for analytic in ANALYTICS.values() for line in _section(analytic))


def maintained_table() -> str:
    """Table of what can be maintained: its parameters, and what a checkpoint keeps of it."""
    rows = [
        (f"`{analytic.name}`", _code(analytic.maintained_by), "; ".join(_kept(analytic)))
        for analytic in ANALYTICS.values()
        if analytic.maintained
    ]
    return "\n".join(_table(("maintained", "goes by", "columns of a checkpoint"), rows))


def _kept(analytic: Analytic) -> Iterable[str]:
    """Columns of an analytic by the file that they stand in."""
    files: dict[str, list[str]] = {}
    for made in analytic.maintained:
        for file, columns in made.kept.items():
            files.setdefault(file, []).extend(columns)
    for file, names in files.items():
        yield f"`{file}.parquet`: {_code(dict.fromkeys(names))}"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "no parameter"


def _needs(needs: Needs) -> str:
    reads = f"Reads {' and '.join(f'{each}-edges' for each in needs.rows)}."
    kinds = {"undirected": needs.undirected, "weighted": needs.weights}
    graphs = [word for word, is_needed in kinds.items() if is_needed]
    return f"{reads}\nOnly for {', '.join(graphs)} graphs." if graphs else reads


def _section(analytic: Analytic) -> Iterable[str]:
    yield f"### `{analytic.name}`"
    yield ""
    yield f"{analytic.about} {_needs(analytic.needs)}"
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
    if parameter.has_vertices:
        return "id, or array of ids" if "items" in allowed else "id"
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


#: Page -> what makes its tables.
PAGES: Mapping[str, Callable[[], str]] = {
    "analytics.md": analytics_tables,
    "maintained.md": maintained_table,
}

if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(with_tables(file.read_text("utf-8"), file.name), "utf-8")

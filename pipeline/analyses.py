"""Results that a run computes: each a name, an analytic and its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config.settings import RunSettings
from ..gpu_core.algorithms.registry import analytic_named
from ..io.interchange.vertex_values import vertex_values
from ..io.state.results import ResultFacts


@dataclass(frozen=True)
class Analysis:
    """One result of a run."""

    #: Analytic that it is of.
    kind: str
    #: What ``compute`` is given.
    arguments: Mapping[str, Any]
    #: Parameters that make a difference to this graph, as the result's file keeps them: plain
    #: values, with a digest where values are read from a file.
    parameters: dict[str, Any]

    @property
    def facts(self) -> ResultFacts:
        """Metadata of its file."""
        return ResultFacts(self.kind, self.parameters)


def analyses_of(settings: RunSettings) -> dict[str, Analysis]:
    """Name -> what is computed under it; reads the files that parameters name.

    Raises
    ------
    SettingsError
        Such a file cannot be used.
    """
    return {name: _analysis(name, kind, settings) for name, kind in settings.analytics.items()}


def _analysis(name: str, kind: str, settings: RunSettings) -> Analysis:
    analytic = analytic_named(kind)
    arguments = analytic.parameters_for(
        settings.parameters.get(name, {}), directed=settings.graph.directed
    )
    parameters = dict(arguments)
    for each in analytic.parameters:
        if each.is_by_vertex and arguments.get(each.name) is not None:
            values = vertex_values(arguments[each.name], f"{name}.{each.name}", settings.graph.ids)
            arguments[each.name], parameters[each.name] = values
    return Analysis(kind, arguments, parameters)

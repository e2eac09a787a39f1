"""Settings of the analytics, from the registry: their schema, and their defaults as YAML.

The one file here that knows the registry. ``graphtide-schema.yaml`` and ``graphtide.yaml`` have a
place each for what comes from it.

An item of the setting ``analytics`` is the name of an analytic, or ``NAME=ANALYTIC``: a result
called NAME, with a section NAME of its own for the parameters that are not the analytic's defaults.
Behind either may stand ``:N``: the result is computed after every N batches.
"""

from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any

import yaml

from ..gpu_core.algorithms.analytic import Analytic, Parameter
from ..gpu_core.algorithms.registry import ANALYTICS, analytic_named
from ..gpu_core.errors import SettingsError
from ..gpu_core.id_kinds import are_names, form_of, is_whole
from ..gpu_core.names.uuid_text import is_uuid

#: Where in a file the text of a setting ends and its comment begins.
_COMMENT_COLUMN = 30

#: Of the setting ``maintain``: what a run on a GPU maintains by itself.
AUTO = "auto"


def with_analytics(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the settings with the names of all analytics, and a section for each."""
    properties = dict(schema["properties"])
    names = "|".join(ANALYTICS)
    items = {
        "type": "string",
        "pattern": f"^([a-z][a-z0-9_]*=)?({names})(:[1-9][0-9]{{0,8}})?$",
        "description": f"{', '.join(ANALYTICS)}, or one of them under another name, in small "
        f"letters: NAME=ANALYTIC; with :N after it: every N batches",
    }
    properties["analytics"] = {**properties["analytics"], "items": items}
    properties["maintain"] = {
        **properties["maintain"],
        "items": {"enum": can_follow()},
        "pattern": f"^{AUTO}$",
        "allowed": f"{AUTO}, or a list of any of {', '.join(can_follow())}; [] is of none",
    }
    for analytic in _with_parameters():
        if analytic.name in properties:
            msg = f"the analytic {analytic.name} is called as a setting is; call it otherwise"
            raise AssertionError(msg)
        properties[analytic.name] = _section(analytic)
    return {**schema, "properties": properties}


def with_names(schema: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with a section for each result of the settings that has a name of its own."""
    properties = dict(schema["properties"])
    for name, kind in _named(settings["analytics"]):
        if name in properties:
            # In quotes it is the user's word, which no command turns into one of its options.
            msg = (
                f"analytics: '{name}={kind}' has a name that is taken; give the result another one"
            )
            raise SettingsError(msg)
        properties[name] = _section(ANALYTICS[kind])
    return {**schema, "properties": properties}


def _section(analytic: Analytic) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            each.name: {**each.allowed, "description": each.about} for each in analytic.parameters
        },
        "description": f"Parameters of {analytic.title}.",
    }


def _named(items: Any) -> Iterator[tuple[str, str]]:
    """``(name, analytic)`` of items with a name of their own; bad ones are left out."""
    for item in items if isinstance(items, list | tuple) else ():
        name, kind, _ = _parts(str(item))
        if "=" in str(item) and kind in ANALYTICS:
            yield name, kind


def _parts(item: str) -> tuple[str, str, int | None]:
    """Name of a result, its analytic, and batches between two of it, where the item says so."""
    result, _, every = item.partition(":")
    name, _, kind = result.rpartition("=")
    return name or kind, kind, int(every) if every.isdecimal() else None


def can_follow() -> list[str]:
    """Analytics that can be maintained."""
    return [each.name for each in ANALYTICS.values() if each.maintained]


def sections() -> str:
    """A section of YAML for each analytic that has parameters, with defaults and comments."""
    lines = []
    for analytic in _with_parameters():
        lines.append(f"  {analytic.name}:")
        for each in analytic.parameters:
            setting = f"    {each.name}: {_as_yaml(each.default)}"
            about = f"{each.about}; must be given" if each.is_required else each.about
            lines.append(f"{setting:<{_COMMENT_COLUMN}}# {about}")
    return "\n".join(lines)


def kinds_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Name of each result -> analytic that it is of, from checked settings."""
    return {name: kind for name, kind, _ in map(_parts, settings["analytics"])}


def cadences_of(settings: Mapping[str, Any]) -> dict[str, int | None]:
    """Name of each result -> batches between two of it; None: at the end only."""
    return {
        name: every or settings["analytics_every"]
        for name, _, every in map(_parts, settings["analytics"])
    }


def maintained_of(settings: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Analytics that follow each batch, and those that do so on a GPU; from checked settings."""
    if settings["maintain"] != AUTO:
        return tuple(settings["maintain"]), ()
    every, parameters = cadences_of(settings), parameters_of(settings)
    names = [name for name, kind in kinds_of(settings).items() if name == kind and every[name] == 1]
    return (), tuple(
        name
        for name in names
        if ANALYTICS[name].maintained_on_gpu
        and _why_not_maintained(name, parameters.get(name, {}), settings) is None
    )


def parameters_of(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Analytic, or name of a result -> its parameters, from checked settings."""
    named = {
        name: {**ANALYTICS[kind].defaults, **settings.get(name, {})}
        for name, kind in _named(settings["analytics"])
    }
    return {each.name: dict(settings[each.name]) for each in _with_parameters()} | named


def check_analytics(settings: Mapping[str, Any]) -> None:
    """Refuse analytics that lack a parameter, or cannot be computed of such a graph."""
    parameters = parameters_of(settings)
    results = [_parts(item)[0] for item in settings["analytics"]]
    twice = next((name for name in results if results.count(name) > 1), None)
    if twice is not None:
        msg = f"analytics: {twice} is there twice; name it once, with one number of batches"
        raise SettingsError(msg)
    _check_changes(settings["changes_beyond"], settings["columns_every"])
    for name, kind in kinds_of(settings).items():
        analytic = analytic_named(kind)
        for each in analytic.parameters:
            _check_parameter(name, each, parameters[name][each.name], settings)
        unmet = analytic.needs.unmet(
            directed=settings["directed"], has_weights=_has_weights(settings)
        )
        if unmet is not None:
            msg = f"analytics: {name} {unmet}, or leave it out"
            raise SettingsError(msg)
    for name in maintained_of(settings)[0]:
        reason = _why_not_maintained(name, parameters.get(name, {}), settings)
        if reason is not None:
            msg = f"maintain: {reason}"
            raise SettingsError(msg)


def _has_weights(settings: Mapping[str, Any]) -> bool:
    return bool(settings["records"] != "simple")


def _check_parameter(
    result: str, parameter: Parameter, value: Any, settings: Mapping[str, Any]
) -> None:
    """Refuse a value of a parameter that a graph of these settings cannot be asked with."""
    key = f"{result}.{parameter.name}"
    if value is None:
        if parameter.is_required:
            msg = (
                f"analytics: {result} needs {key} ({parameter.about}); set it in a file of "
                f"settings or by --set {key}=…"
            )
            raise SettingsError(msg)
        return
    if parameter.needs_weights and not _has_weights(settings):
        msg = f"{key}: {value} needs weights; use records: weighted or semantic, or leave it out"
        raise SettingsError(msg)
    if parameter.is_by_vertex and isinstance(value, Mapping) and not are_names(settings["ids"]):
        wrong = [vertex for vertex in value if not is_whole(vertex)]
        if wrong:
            msg = (
                f"{key}: {wrong[0]!r} is no number; use ids of vertices with a value each, such as "
                f"{{17: 1, 4: 0.5}}, or a file"
            )
            raise SettingsError(msg)
    if parameter.has_vertices:
        _check_ids(key, value, settings["ids"])


def _why_not_maintained(
    name: str, given: Mapping[str, Any], settings: Mapping[str, Any]
) -> str | None:
    """Why a graph of these settings cannot maintain an analytic; None: it can."""
    analytic = analytic_named(name)
    reason = analytic.why_not_maintained(given)
    if reason is not None:
        return f"{reason}; leave one of them out, or give that to another result, as mine={name}"
    needs_reverse = any(made().needs_reverse for made in analytic.maintained)
    if settings["directed"] and needs_reverse and not settings["reverse"]:
        return f"{name} needs incoming edges; use reverse: true, or leave it out"
    return None


def _check_ids(key: str, value: Any, ids: str) -> None:
    """Refuse vertices that no graph with such ids has: a run would find that out at its end."""
    low, high = (0, 2**64) if form_of(ids) == "uint64" else (-(2**63), 2**63)
    for each in value if isinstance(value, list) else [value]:
        # JSON Schema takes 1.0 for an integer, too.
        is_number = isinstance(each, Integral)
        if _is_name(each, ids) if are_names(ids) else is_number and low <= each < high:
            continue
        these = "uint64" if low == 0 else "int64"
        if are_names(ids):
            these = "texts, in quotes where they look like numbers, such as '17'"
        if form_of(ids) == "uuid":
            these = "texts such as '01234567-89ab-cdef-0123-456789abcdef'"
        msg = f"{key}: {each!r} is no id of a graph with ids: {ids}; these are {these}"
        raise SettingsError(msg)


def _is_name(value: Any, ids: str) -> bool:
    """Whether a value is the text of a name of such ids."""
    return isinstance(value, str) and (form_of(ids) != "uuid" or is_uuid(value))


def _check_changes(beyond: float | None, columns_every: int | None) -> None:
    """Refuse a tolerance for which there are no batches."""
    if beyond is None:
        return
    if columns_every is None:
        msg = (
            "changes_beyond is for batches between whole columns, but these are written with "
            "every result; give columns_every too"
        )
        raise SettingsError(msg)


def _with_parameters() -> list[Analytic]:
    return [analytic for analytic in ANALYTICS.values() if analytic.parameters]


def _as_yaml(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()

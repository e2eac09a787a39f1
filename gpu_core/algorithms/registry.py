"""All analytics by name: every file below this folder that has an ``ANALYTIC`` (`analytic.py`)."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from ..choices import choice_shown, is_among
from ..errors import SettingsError
from .analytic import Analytic
from .shared.modules import modules_below


def _found() -> Mapping[str, Analytic]:
    below = modules_below(__package__)
    modules = (import_module(below[name]) for name in sorted(below) if below[name] != __name__)
    found = [module.ANALYTIC for module in modules if hasattr(module, "ANALYTIC")]
    return MappingProxyType({analytic.name: analytic for analytic in found})


#: Name -> analytic, in the order of the names.
ANALYTICS: Mapping[str, Analytic] = _found()


def kept_arrays() -> dict[str, dict[str, str]]:
    """Arrays of a checkpoint of all that can be maintained, in the form of `Maintained.kept`."""
    files: dict[str, dict[str, str]] = {}
    for analytic in ANALYTICS.values():
        for made in analytic.maintained:
            for file, arrays in made.kept.items():
                files.setdefault(file, {}).update(arrays)
    return files


def analytic_named(name: str) -> Analytic:
    """Return the analytic of this name; `SettingsError` where there is none."""
    if not is_among(name, ANALYTICS):
        msg = f"analytic {choice_shown(name)} is unknown; there are {', '.join(ANALYTICS)}"
        raise SettingsError(msg)
    return ANALYTICS[name]

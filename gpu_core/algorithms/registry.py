"""All analytics by name: every file of this folder that has an ``ANALYTIC`` (`analytic.py`)."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from ..errors import SettingsError
from . import __path__ as _folder
from .analytic import Analytic


def _found() -> Mapping[str, Analytic]:
    names = sorted(module.name for module in iter_modules(_folder) if module.name != "registry")
    modules = (import_module(f"{__package__}.{name}") for name in names)
    found = [module.ANALYTIC for module in modules if hasattr(module, "ANALYTIC")]
    return MappingProxyType({analytic.name: analytic for analytic in found})


#: Name -> analytic, in the order of the names.
ANALYTICS: Mapping[str, Analytic] = _found()


def analytic_named(name: str) -> Analytic:
    """Return the analytic of this name; `SettingsError` where there is none."""
    if name not in ANALYTICS:
        msg = f"analytic {name!r} is unknown; there are {', '.join(ANALYTICS)}"
        raise SettingsError(msg)
    return ANALYTICS[name]

"""The inner loops of the algorithms on one engine, by the name of the algorithm."""

from importlib import import_module
from types import ModuleType


class Twins:
    """Modules of an engine's folder ``analytics``, as attributes; imported when first asked for.

    Parameters
    ----------
    package
        Name of that folder as a package.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(name)
        found = import_module(f"{self._package}.{name}")
        setattr(self, name, found)
        return found

"""The inner loops of the algorithms on one engine, by the name of the algorithm."""

from importlib import import_module
from types import ModuleType

from ...errors import EngineError
from .modules import modules_below


class Twins:
    """Modules of an engine's ``analytics`` and its folders, as attributes; imported on first use.

    Parameters
    ----------
    package
        Name of that folder as a package.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def __contains__(self, name: str) -> bool:
        return name in modules_below(self._package)

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(name)
        module = modules_below(self._package).get(name)
        if module is None:
            msg = f"this engine has no {name}: no module of {self._package} has this name"
            raise EngineError(msg)
        found = import_module(module)
        setattr(self, name, found)
        return found

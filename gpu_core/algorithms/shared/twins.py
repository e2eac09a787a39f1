"""The inner loops of the algorithms on one engine, by the name of the algorithm."""

from importlib import import_module
from types import ModuleType

from ...errors import EngineError


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
        try:
            found = import_module(f"{self._package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{self._package}.{name}":
                raise
            msg = f"this engine has no {name}: {error.name} is missing"
            raise EngineError(msg) from error
        setattr(self, name, found)
        return found

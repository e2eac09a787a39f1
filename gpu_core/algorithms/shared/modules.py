"""The modules of a package by their own names, in whichever folder of it they lie."""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages


@cache
def modules_below(package: str) -> dict[str, str]:
    """Dotted name of each module of a package and of the packages in it, by its last name.

    The packages are imported, the modules are not.

    Raises
    ------
    ImportError
        Two modules have the same name, so that one could be taken for the other.
    """
    found: dict[str, str] = {}
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        if not module.ispkg:
            name = module.name.rsplit(".", 1)[-1]
            if other := found.get(name):
                msg = f"{module.name} and {other} have the same name"
                raise ImportError(msg)
            found[name] = module.name
    return found

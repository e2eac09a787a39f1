"""Which engine works on a graph's image. Light: known before any kernel is imported."""

from .errors import EngineError, SettingsError

ENGINES = ("auto", "host")


def resolve_engine(name: str) -> str:
    """Return the engine that ``name`` means on this machine.

    Raises
    ------
    EngineError
        The engine cannot be had.
    SettingsError
        There is no engine of this name.
    """
    if name == "cuda":
        msg = "engine='cuda' is not part of this version; use engine='host' or 'auto'"
        raise EngineError(msg)
    if name not in ENGINES:
        msg = f"engine={name!r} is unknown; use one of {', '.join(ENGINES)}"
        raise SettingsError(msg)
    return "host"

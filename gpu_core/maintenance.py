"""Maintenance: what a graph maintains follows its batches, is carried along, and is audited.

`DynamicGraph` hands its batches through here where anything is maintained. What is maintained is
kept with the engine, where algorithms and epochs find it (``Reader.maintained``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from .algorithms.maintained.prepared import Prepared
from .algorithms.registry import ANALYTICS, analytic_named
from .batch.update_batch import UpdateBatch
from .choices import choice_shown, is_among
from .engine import LeftToEpochs
from .errors import (
    ArenaFullError,
    BatchError,
    ConvergenceError,
    CorruptImageError,
    SettingsError,
)

if TYPE_CHECKING:
    from .algorithms.analytic import Analytic
    from .batch.protocols import ListedBatch
    from .engine import Engine, Maintained, Pinned, Reader
    from .image.accounts import Outcome

_log = logging.getLogger(__name__)


def maintain(engine: Engine, name: str, parameters: Mapping[str, Any]) -> None:
    """Compute an analytic, and have it follow all batches from now on. ``lock`` is held.

    One that is maintained with other parameters starts over.

    Raises
    ------
    SettingsError
        There is no such analytic, or none that can be maintained of this kind of graph.
    """
    _begin(engine, name, _checked(engine, name, parameters))


def maintain_only(engine: Engine, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """Maintain these analytics, with their parameters, and no others; ``lock`` is held.

    One that cannot be computed of the graph as it is, or for lack of memory, is computed on
    request. Where one is refused, all stays as it is.
    """
    checked = {name: _checked(engine, name, parameters) for name, parameters in wanted.items()}
    for name in [name for name in engine.maintained if name not in wanted]:
        del engine.maintained[name]
    for name, made in checked.items():
        try:
            _begin(engine, name, made)
        except (ConvergenceError, MemoryError) as error:
            _log.warning("%s is not maintained before it is asked for (%r)", name, error)
            made.forget()
            engine.maintained[name] = made


def _checked(engine: Engine, name: str, parameters: Mapping[str, Any]) -> Maintained:
    """What would maintain an analytic, if that can be; else it is refused."""
    analytic = analytic_named(name)
    if not analytic.maintained:
        can = ", ".join(each.name for each in ANALYTICS.values() if each.maintained)
        msg = f"{name} cannot be maintained, only {can}; use compute({name!r}) after a batch"
        raise SettingsError(msg)
    given = analytic.maintainable(parameters)
    given = {name: given[name] for name in given if name in analytic.maintained_by}
    made = _made(engine, analytic, given)
    differing = analytic.parameters_for(given, directed=engine.kind.directed)
    if differing != given:
        # Values that make no difference were checked.
        made = _made(engine, analytic, differing)
    if _lacks_reverse(made, engine):
        msg = (
            f"{name} is maintained of graphs that keep in-neighbors only; use reverse=True, or "
            f"compute({name!r}) after a batch"
        )
        raise SettingsError(msg)
    return made


def _begin(engine: Engine, name: str, made: Maintained) -> None:
    """Compute what is to be maintained, unless it is with these parameters."""
    kept = engine.maintained.get(name)
    if kept is None or kept.parameters != made.parameters:
        # It is wanted after the next batch: meanwhile everything is computed once.
        engine.compile_ahead((made.twin,))
        made.begin(engine)
        engine.maintained[name] = made


def _made(engine: Engine, analytic: Analytic, parameters: Mapping[str, Any]) -> Maintained:
    """Make what maintains an analytic on this engine."""
    offered = (made(**parameters) for made in analytic.maintained)
    return next(each for each in offered if each.twin in engine.algorithms)


def _lacks_reverse(made: Maintained, engine: Engine) -> bool:
    return made.needs_reverse and not engine.kind.has_reverse


def maintained_by(engine: Engine, name: str) -> Maintained:
    """The maintained result ``name``.

    Raises
    ------
    SettingsError
        Nothing is.
    """
    if not is_among(name, engine.maintained):
        what = ", ".join(engine.maintained) or "nothing"
        msg = f"{choice_shown(name)} is not maintained; the graph maintains {what}"
        raise SettingsError(msg)
    return engine.maintained[name]


def apply_followed(engine: Engine, batch: ListedBatch) -> Outcome:
    """Apply a batch, and have what is maintained follow it, or be stale; ``batch_lock`` is held."""
    prepared = [each for each in engine.maintained.values() if isinstance(each, Prepared)]
    fresh = [each for each in engine.maintained.values() if not each.is_stale]
    if isinstance(batch, UpdateBatch):
        batch.ensure_valid()
    edges = int(batch.put_indices.size + batch.delete_indices.size)
    following = [each for each in fresh if each.follows(engine, edges)]
    for each in prepared:
        with _given_up(each):
            batch = each.prepare(engine, batch)
    _forget([each for each in fresh if each not in following])
    outcome = _apply_followed(engine, batch, following) if following else engine.apply(batch)
    for each in prepared:
        with _given_up(each):
            each.applied(engine, outcome)
    return outcome


@contextmanager
def _given_up(prepared: Prepared) -> Iterator[None]:
    """Have one become stale where its part of a batch fails, as a batch must not fail by it."""
    try:
        yield
    except BatchError:
        raise
    except Exception as error:  # as in `_follow`
        _give_up([prepared], error)


def _apply_followed(engine: Engine, batch: ListedBatch, following: list[Maintained]) -> Outcome:
    """Apply a batch, and have these follow its changed edges."""
    try:
        with engine.lock:
            changing = engine.changing(batch)
    except BatchError:
        raise
    except Exception as error:  # as in `_follow`
        _give_up(following, error)
        return engine.apply(batch)
    _follow(engine, following, lambda: changing.removed, is_added=False)
    try:
        outcome = engine.apply(changing.batch)
    except BaseException:
        _forget(following)
        raise
    _follow(engine, following, changing.added, is_added=True)
    return outcome


def _follow(
    engine: Engine, following: list[Maintained], listed: Callable[[], Any], *, is_added: bool
) -> None:
    """Take a step of a batch; what fails becomes stale, as a batch must not fail by it."""
    try:
        with engine.lock:
            edges = listed()
            if edges.size:
                for each in following:
                    each.follow(engine, edges, is_added=is_added)
    except Exception as error:  # no memory, say: recomputed when asked for, it may have that
        _give_up(following, error)
    except BaseException:
        _forget(following)
        raise


def _give_up(following: Sequence[Maintained | Prepared], error: Exception) -> None:
    names = ", ".join(each.twin for each in following)
    _log.warning("%s: the batch could not be followed, all is recomputed (%r)", names, error)
    _forget(following)


def _forget(following: Sequence[Maintained | Prepared]) -> None:
    for each in following:
        each.forget()


#: Whether what is maintained is brought up to date before an epoch is pinned; ``later``: what can
#: be is left to the epoch.
Settles = bool | Literal["later"]


def pinned(engine: Engine, *, settles: Settles) -> dict[str, Maintained]:
    """Copies of the maintained results as they are now, for an epoch.

    ``settles``: bring it up to date first, unless that fails. Else nothing changes, and the epoch
    does that for itself if it is asked.
    """
    if not isinstance(settles, bool) and not is_among(settles, ("later",)):
        msg = f"settles={settles!r} is unknown; use True, False or 'later'"
        raise SettingsError(msg)
    for each in engine.maintained.values() if settles else ():
        if settles == "later" and isinstance(each, LeftToEpochs):
            continue
        try:
            each.settle(engine)
        except ArenaFullError:
            # Nor is there room for the epoch.
            raise
        except (ConvergenceError, SettingsError, MemoryError):
            # A query of the epoch for it raises.
            each.forget()
    return {name: each.frozen() for name, each in engine.maintained.items()}


def leave_to(epoch: Pinned, engine: Engine) -> None:
    """Go on from what an epoch that has just been pinned ``later`` will find of these results."""
    for name, each in engine.maintained.items():
        if isinstance(each, LeftToEpochs):
            each.leave_to(epoch.maintained[name], epoch)


def arrays_of(reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
    """Arrays of a checkpoint of all that is maintained and can be kept. ``lock`` is held."""
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for each in reader.maintained.values():
        arrays |= each.arrays(reader)
    return arrays


def restore(engine: Engine, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Go on to maintain what a graph did whose checkpoint this is. ``lock`` is held."""
    for analytic in ANALYTICS.values():
        if analytic.maintained:
            made = _made(engine, analytic, {})
            # The graph of the checkpoint may have kept in-neighbors.
            if _lacks_reverse(made, engine):
                continue
            engine.compile_ahead((made.twin,))
            if made.restore(engine, arrays):
                engine.maintained[analytic.name] = made


def audit(engine: Engine, ids_of_keys: Callable[[Any], Any]) -> None:
    """Recompute all that is maintained, and compare every bit. ``lock`` is held.

    ``ids_of_keys`` gives users' ids of the engine's.

    Raises
    ------
    CorruptImageError
        Something differs. What was recomputed is kept.
    """
    for name, each in engine.maintained.items():
        for column, (kept, found) in each.audited(engine).items():
            differing = np.flatnonzero(found != kept)
            if differing.size:
                index = int(differing[0])
                vertex = ids_of_keys(engine.ids_of(differing[:1].astype(np.uint32)))[0]
                msg = (
                    f"maintained {name} is wrong in {differing.size:,} of {found.size:,} places, "
                    f"first at vertex {vertex}: {column} {kept[index]} instead of "
                    f"{found[index]}; it was recounted. Please report this"
                )
                raise CorruptImageError(msg)

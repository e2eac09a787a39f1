"""Ranks that may be left to an epoch: each knows the ranks before, from which its steps start.

An epoch makes the steps of its graph when it is asked for ranks, from those of the link before.
Where it is closed unasked, or its steps do not converge, what comes after it starts from the ranks
before. So what is found depends on which epochs were asked, and not on when.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import ConvergenceError
from ..shared.rank_steps import Ranks

if TYPE_CHECKING:
    from ...engine import Pinned


class RankLink:
    """Ranks, or what will be ranks if an epoch is asked for them while it is open.

    Several threads may ask at the same time. It is changed by its epoch alone, under that one's
    lock, but for `shorten`, which changes no answer.

    Parameters
    ----------
    found
        The ranks; None: there are none, and steps start from nothing.
    """

    def __init__(self, found: Ranks | None = None) -> None:
        self._found = found
        #: Whether they are there; else what the epoch starts from.
        self.is_there = True
        self._before: RankLink | None = None
        self._epoch: weakref.ref[Pinned] | None = None
        self._has_failed = False

    @classmethod
    def left_to(cls, epoch: Pinned, before: RankLink) -> RankLink:
        """Ranks that an epoch may find from those before."""
        link = cls()
        link.is_there, link._before, link._epoch = False, before, weakref.ref(epoch)
        return link

    def put(self, found: Ranks) -> None:
        """The epoch has found them, and its work on the device is done."""
        self._found = found
        self.is_there = True
        self._before = None

    def give_up(self) -> None:
        """The epoch cannot find them."""
        self._has_failed = True

    @property
    def _open_epoch(self) -> Pinned | None:
        """The epoch, if it may still find them."""
        epoch = None if self._epoch is None else self._epoch()
        return None if epoch is None or epoch.is_closed or self._has_failed else epoch

    def ranks(self) -> Ranks | None:
        """The ranks, which their epoch finds now if it is open; else the newest that are there.

        Takes the locks of open epochs, of newer ones before those of older ones.
        """
        link = self
        while not link.is_there:
            before, epoch = link._before, link._open_epoch
            if epoch is not None:
                with suppress(ConvergenceError), epoch.lock:
                    if not epoch.is_closed:
                        epoch.maintained["pagerank"].settle(epoch)
            # No longer open, or its steps did not converge.
            if not link.is_there and before is not None:
                link = before
        return link._found

    def shorten(self) -> None:
        """Leave out epochs that can find nothing any more, so that chains stay short."""
        link: RankLink | None = self
        while link is not None and not link.is_there:
            before = link._before
            while before is not None and not before.is_there and before._open_epoch is None:
                before = before._before
            if before is None:
                return  # it is there by now
            link._before = before
            link = before

    @property
    def nbytes(self) -> int:
        """Bytes of the newest ranks that are there."""
        link: RankLink | None = self
        while link is not None and not link.is_there:
            link = link._before
        found = None if link is None else link._found
        return 0 if found is None else int(found.ranks.nbytes)

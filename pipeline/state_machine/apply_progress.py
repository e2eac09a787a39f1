"""Progress of the graph, derived from the apply tasks that ended.

A task that ended well has left its batch with the actor, which applies batches in the order of
their numbers and keeps those that come early (``actor.py``). So the graph has all batches before
the first one whose task has not ended, which is known without fetching an answer: a fetch asks
the scheduler where the answer is, and then the graph worker for it, which took the client a third
of the time that it spends on a batch.

Where the actor waits for room, a task goes on for many batches: those before a graph that is pinned
are known to be applied, too.
"""


class ApplyProgress:
    """Batches taken in by one generation.

    Parameters
    ----------
    boundary
        First batch that the graph did not begin with.
    """

    def __init__(self, boundary: int) -> None:
        #: The graph has all batches before this one.
        self.boundary = boundary
        #: Batches beyond it that were taken in.
        self._early: set[int] = set()

    def end(self, batch_id: int) -> int:
        """An apply task ended well, maybe not for the first time; returns the new boundary."""
        if batch_id >= self.boundary:
            self._early.add(batch_id)
        return self.reach(self.boundary)

    def reach(self, boundary: int) -> int:
        """The graph stood at a boundary; returns the new one."""
        self.boundary = max(self.boundary, boundary)
        self._early = {batch_id for batch_id in self._early if batch_id >= self.boundary}
        while self.boundary in self._early:
            self._early.remove(self.boundary)
            self.boundary += 1
        return self.boundary

"""Progress of the graph, derived from the apply tasks that have ended.

A task that succeeded has left its batch with the actor, which applies batches in the order of their
numbers and keeps early ones (``actor.py``). So the graph has all batches before the first one whose
task has not ended. That is known without fetching an answer. A fetch asks the scheduler where the
answer is, and then the graph worker for it, which took a third of the time that the client spends
on a batch.

While the actor waits for memory, one task applies many batches; a pin that is made shows that all
batches before it are applied, too.
"""


class ApplyProgress:
    """Batches that the actor of one generation has.

    Parameters
    ----------
    boundary
        First batch that the graph did not begin with.
    """

    def __init__(self, boundary: int) -> None:
        #: The graph has all batches before this one.
        self.boundary = boundary
        #: Batches beyond it that the actor has.
        self._early: set[int] = set()

    def end(self, batch_id: int) -> int:
        """An apply task succeeded, maybe again; returns the new boundary."""
        if batch_id >= self.boundary:
            self._early.add(batch_id)
        return self.reach(self.boundary)

    def reach(self, boundary: int) -> int:
        """The graph is known to have reached a boundary; returns the new one."""
        self.boundary = max(self.boundary, boundary)
        self._early = {batch_id for batch_id in self._early if batch_id >= self.boundary}
        while self.boundary in self._early:
            self._early.remove(self.boundary)
            self.boundary += 1
        return self.boundary

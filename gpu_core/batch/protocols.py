"""What graphs and engines ask of a batch, whatever memory its lists are in."""

from typing import Protocol

from ..rows import Array


class Batch(Protocol):
    """What a graph needs to know of a batch before it hands it to its engine."""

    @property
    def batch_id(self) -> int:
        """Number of the batch in log order."""

    @property
    def directed(self) -> bool:
        """Whether it is for a directed graph."""

    @property
    def records(self) -> str:
        """Name of its records."""

    @property
    def on_repeat(self) -> str:
        """Weight of an edge that is inserted again."""

    @property
    def rows(self) -> int:
        """Rows that it was made of."""

    @property
    def dropped(self) -> int:
        """Those of them that were self loops to be left out."""

    @property
    def overridden(self) -> int:
        """Those of them that later ones override."""

    @property
    def rounded(self) -> int:
        """Those of them whose weight was rounded."""

    @property
    def time_unit(self) -> str | None:
        """What its times count, as `times.TimeUnit` is named; None where it has none."""


class ListedBatch(Batch, Protocol):
    """A batch with its lists, in host memory or on a device: hypersparse CSR of users' ids."""

    @property
    def put_rows(self) -> Array:
        """Sources of the edges to put."""

    @property
    def put_indptr(self) -> Array:
        """Where the destinations of each of `put_rows` begin and end."""

    @property
    def put_indices(self) -> Array:
        """Destinations of the edges to put."""

    @property
    def delete_rows(self) -> Array:
        """Sources of the edges to delete."""

    @property
    def delete_indptr(self) -> Array:
        """Where the destinations of each of `delete_rows` begin and end."""

    @property
    def delete_indices(self) -> Array:
        """Destinations of the edges to delete."""

    @property
    def put_vertices(self) -> Array:
        """Vertices that are to exist."""

    @property
    def delete_vertices(self) -> Array:
        """Vertices that are to be deleted."""

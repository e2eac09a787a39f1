"""The random surfer of PageRank, as `rank_steps.py` and both engines take it.

Vectors are float64[vertex_count] by vertex index, 0 for absent vertices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: A vector of the engine, or None.
Vector = Any


class Surfer(NamedTuple):
    """What a random surfer does at a vertex: its stationary distribution are the ranks."""

    #: Damping: the probability of following an edge.
    alpha: float
    #: Of the engine's ``out_strengths``; None: those of edges that count alike, once computed.
    strengths: Vector = None
    #: Whether an edge is followed in proportion to its weight.
    weighted: bool = False
    #: ``p`` and ``w``, each with sum 1: where jumps lead, and steps from vertices without an
    #: out-edge. None: to all present vertices alike.
    teleport: Vector = None
    dangling: Vector = None

    @property
    def is_even(self) -> bool:
        """Whether all edges, and all vertices that jumps may lead to, count alike."""
        return not self.weighted and self.teleport is None and self.dangling is None

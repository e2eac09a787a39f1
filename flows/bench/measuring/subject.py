"""A workload as it is given to graphtide and to other packages: arrays of the host, and graphs."""

from typing import Any

import numpy as np

from .arm import Bench
from .peers import csr
from .workloads import unpack


class Subject:
    """One workload as arrays of the host, with weights, and our graphs of it."""

    def __init__(self, bench: Bench) -> None:
        arm, self.size = bench.arm, 1 << bench.scale
        self.bench = bench
        src, dst = (arm.to_host(side) for side in unpack(arm.xp, bench.keys))
        # The same both ways.
        self.weights = (1 + (7919 * np.minimum(src, dst) + np.maximum(src, dst)) % 1000) / 1000
        self.weights = self.weights.astype(np.float32)
        self.once = src < dst
        self.src, self.dst = src, dst
        self.keys = arm.to_host(bench.keys)
        self.plain = arm.graph(directed=False, ids="dense")
        self.weighted = arm.graph(directed=False, ids="dense", records="weighted")
        edges = src[self.once], dst[self.once]
        self.plain.insert_edges(*edges)
        self.weighted.insert_edges(*edges, weight=self.weights[self.once])
        self.source = int(self.plain.vertices()[np.argmax(self.plain.degrees())])
        self.alpha = 1 / (int(self.plain.degrees().max()) + 1)

    def matrix(self, *, weighted: bool) -> Any:
        """SciPy's matrix of the graph."""
        from scipy import sparse

        offsets, targets = csr(np, self.keys, self.size.bit_length() - 1)
        data = self.weights if weighted else np.ones(self.keys.size, np.float32)
        arrays = data.astype(np.float64), targets.view(np.int32), offsets.astype(np.int32)
        return sparse.csr_matrix(arrays, shape=(self.size, self.size))

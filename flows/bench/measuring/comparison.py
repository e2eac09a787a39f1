"""Calls of graphtide beside those of other packages: a table with a row for each package.

Each call is timed as a user makes it, results in each package's own form: ours stay where the
engine made them until they are read, as cuGraph's do. Others are given their graph, which
is not timed. Beside the CUDA engine stand packages for a GPU, beside the host engine the others;
one that is not installed is left out. Our results are checked first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

import numpy as np

from ....gpu_core.errors import GraphtideError
from ..bench_options import BenchOptions
from .arm import Arm, Bench
from .report import PrintedTable
from .subject import Subject

S = TypeVar("S", bound=Subject)

#: What a package is asked, by column of the table.
Calls = dict[str, Callable[[], Any]]

NAMES = ("G1", "G3")

#: Name of a package -> its module, and the engine that it is measured beside.
_PACKAGES = {
    "cuGraph": ("pylibcugraph", "cuda"),
    "SciPy": ("scipy", "host"),
    "igraph": ("igraph", "host"),
    "networkx": ("networkx", "host"),
}


@dataclass(frozen=True)
class Comparison(Generic[S]):
    """A question, the packages that answer it, and the check of our answers."""

    #: Such as ``bench traversals``.
    command: str
    #: Columns of the table: keys of `Calls`; a package may know some of them only.
    columns: Sequence[str]
    #: Makes the graphs of a workload.
    subject: Callable[[Bench], S]
    #: Makes our calls.
    ours: Callable[[S], Calls]
    #: Name of another package -> makes its graph and calls.
    others: Mapping[str, Callable[[S], Calls]]
    #: What of our results is compared -> what it is, and what it must be.
    checked: Callable[[S], Mapping[str, tuple[Any, Any]]]
    #: Entries of the largest graph that networkx is given, which is slow.
    most_of_networkx: int

    def measure(self, options: BenchOptions) -> None:
        """Measure workloads, by default `NAMES`, and print the table.

        Raises
        ------
        SettingsError
            A name is of no workload, or the sizes would vanish.
        GraphtideError
            A result is not what it must be.
        """
        selection = options.selection(NAMES)
        arm = selection.begin(self.command, Arm(options.engine))
        table = PrintedTable(["graph", "package"], list(self.columns))
        for bench in selection.benches(Bench, arm):
            subject = self.subject(bench)
            self._check(subject)
            for package, calls_of in self._packages(subject):
                # Others have nothing to compile.
                row = bench.measured(calls_of(), has_warm_up=package == "graphtide")
                table.row(bench.name, package, *(row.device(what) for what in self.columns))

    def _check(self, subject: S) -> None:
        for what, (values, expected) in self.checked(subject).items():
            if not np.array_equal(values, expected):
                msg = f"{what} are not what they must be; please report this"
                raise GraphtideError(msg)

    def _packages(self, subject: S) -> Iterator[tuple[str, Callable[[], Calls]]]:
        """Packages that are measured, and what makes the calls of each."""
        yield "graphtide", partial(self.ours, subject)
        for package, calls_of in self.others.items():
            module, engine = _PACKAGES[package]
            is_too_large = package == "networkx" and subject.keys.size > self.most_of_networkx
            if subject.bench.arm.engine == engine and find_spec(module) and not is_too_large:
                yield package, partial(calls_of, subject)

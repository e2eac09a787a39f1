"""Options of a benchmark: workloads, repeats, and how much smaller they are."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .arm import Arm, Bench, check_arguments
from .report import print_conditions
from .workloads import WORKLOADS

B = TypeVar("B", bound=Bench)


@dataclass(frozen=True)
class Selection:
    """Workloads that are measured alike."""

    #: What the command is given, and what is measured where that is nothing.
    names: Sequence[str]
    default: Sequence[str]
    repeats: int
    #: Bits taken off every size.
    smaller: int

    @property
    def chosen(self) -> Sequence[str]:
        """Names of the workloads that are measured."""
        return self.names or self.default

    def begin(
        self,
        command: str,
        arm: Arm,
        *options: str,
        known: Collection[str] = WORKLOADS,
        clock: str = "device's",
    ) -> Arm:
        """Check it, and print what figures will be of; returns ``arm``.

        Parameters
        ----------
        command
            Such as ``bench updates``; ``options`` are its others.
        clock
            Whose the figures are by, on a GPU.

        Raises
        ------
        SettingsError
            A name is of no workload, or the sizes would vanish.
        """
        check_arguments(self.names, known, repeats=self.repeats, smaller=self.smaller)
        words = ["graphtide", command, *self.names, *options, *arm.options]
        if self.smaller:
            words.append(f"--smaller {self.smaller}")
        words.append(f"--repeats {self.repeats}")
        print_conditions(arm, " ".join(words), self.repeats, clock)
        return arm

    def benches(self, kind: type[B], arm: Arm) -> Iterator[B]:
        """Make each workload as a benchmark of a kind, one at a time."""
        for name in self.chosen:
            keys = WORKLOADS[name].keys(arm.xp, smaller=self.smaller)
            yield kind(arm, name, keys, WORKLOADS[name].scale - self.smaller, self.repeats)

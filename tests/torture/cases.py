"""What every case needs: logs, states, undisturbed runs to compare with, a cluster, a clock."""

import random
import shutil
from collections.abc import Callable, Collection, Hashable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from graphtide.config.settings import load_settings
from graphtide.gpu_core.errors import GraphtideError
from graphtide.pipeline.workers.cluster import open_cluster

from .forked import Ended, Forker, Job, TooLongError
from .logs import FILES, KINDS, Kind
from .outcomes import Outcome, difference, fault_of_refusal, outcome_of

#: Seconds that a command may take longer than the undisturbed run.
PATIENCE_SECONDS = 30.0

#: … and the first of all, which compiles kernels in a new environment.
_COMPILING_SECONDS = 240.0


T = TypeVar("T")


#: Engine -> what runs are told of it. Several that are tried side by side share one GPU.
ENGINES: dict[str, tuple[str, ...]] = {
    "host": ("--engine", "host"),
    "cuda": ("--engine", "cuda", "--set", "max_arena_bytes=2GiB"),
}


class Failure(Exception):
    """What must not happen has happened.

    Parameters
    ----------
    message
        What was done, and what came of it.
    wrong
        What kind of thing that is, to be counted.
    """

    def __init__(self, message: str, wrong: str = "") -> None:
        super().__init__(message)
        self.wrong = wrong or ("a traceback" if "Traceback" in message else "ended otherwise")


class Bench:
    """A place for cases, one after the other.

    Parameters
    ----------
    folder
        Empty; everything is made in it.
    kinds
        Names of the kinds of logs that cases may take.
    engine
        That of runs on clusters: ``host`` or ``cuda``.
    """

    def __init__(
        self, folder: Path, kinds: Collection[str] = KINDS.keys(), engine: str = "host"
    ) -> None:
        self.engine = engine
        self._kinds = sorted(kinds)
        self._folder = folder
        self._prepared = folder / "prepared"
        self._prepared.mkdir(parents=True)
        #: For one case; empty when it begins.
        self.folder = folder / "case"
        (folder / "output").mkdir()
        self._stack = ExitStack()
        # Before there is any thread.
        self.forker = Forker(folder / "output")
        self._stack.callback(self.forker.close)
        self._cluster = ExitStack()
        self._address = ""
        self._outcomes: dict[tuple[str, int], Outcome] = {}
        self._remembered: dict[Hashable, Any] = {}
        #: Sentence that runs of a case have rightly ended with -> how often; see ``sentences.py``.
        self.sentences: dict[str, int] = {}
        #: Kinds of logs that something has been run of.
        self._compiled: set[str] = set()
        #: Seconds that undisturbed runs took.
        self._taken: list[float] = []

    def close(self) -> None:
        """End all processes; the folder stays."""
        self.drop_cluster()
        self._stack.close()

    # -- the cluster that cases share

    @property
    def scheduler(self) -> str:
        """Address of the cluster, which is started when it is asked for."""
        if not self._address:
            settings = load_settings({"workers": 1, "dashboard": False, "engine": self.engine})
            cluster = self._cluster.enter_context(open_cluster(settings))
            self._address = cluster.address
        return self._address

    def drop_cluster(self) -> None:
        """Close the cluster; the next case gets another one."""
        self._cluster.close()
        self._address = ""

    # -- one case

    def any_kind(self, draw: random.Random) -> Kind:
        """One of the kinds of logs."""
        return KINDS[draw.choice(self._kinds)]

    def begin(self) -> None:
        """Empty the folder of a case."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()

    @property
    def log(self) -> Path:
        """Folder of the case's log."""
        return self.folder / "log"

    @property
    def state(self) -> Path:
        """Folder of the case's state."""
        return self.folder / "state"

    def words(self, kind: Kind, *more: object, scheduler: str | None = None) -> list[object]:
        """``run`` with all that a kind of log asks for, on the shared cluster unless one is given.

        ``scheduler=""``: on a cluster of its own.
        """
        address = self.scheduler if scheduler is None else scheduler
        where = ["--scheduler", address] if address else ["--workers", 1]
        return [
            "run", "log", "--state", "state", "--batch-rows", kind.batch_rows, "--analytics",
            "pagerank", "--analytics-every", kind.results_every, "--checkpoint-every",
            kind.checkpoint_every, "--set", "dashboard=false", *ENGINES[self.engine],
            *kind.flags, *where, *more,
        ]  # fmt: skip

    def start(self, *words: object, fault: dict[str, Any] | None = None) -> Job:
        """Start a command in the case's folder."""
        return self.forker.command(*words, cwd=self.folder, fault=fault)

    def command(
        self, *words: object, fault: dict[str, Any] | None = None, seconds: float | None = None
    ) -> Ended:
        """Run a command to its end, which must come in time."""
        return self.ended(self.start(*words, fault=fault), seconds)

    def ended(self, job: Job, seconds: float | None = None, when: str = "undisturbed") -> Ended:
        """The end of a job, which must come in time."""
        try:
            return job.wait(seconds or self.patience)
        except TooLongError as error:
            raise Failure(f"{when}: {error}", "waited too long") from None

    @property
    def patience(self) -> float:
        """Seconds that a command may take."""
        return PATIENCE_SECONDS + (max(self._taken) if self._taken else _COMPILING_SECONDS)

    @property
    def usual_seconds(self) -> float:
        """What the quickest undisturbed run has taken."""
        return min(self._taken)

    # -- what cases begin with

    def write_log(self, kind: Kind, files: int = FILES, last: int | None = None) -> None:
        """Write the case's log: its first files, the last one by another number."""
        for number in range(files):
            kind.write(self.log, number)
        if last is not None:
            self.mend(kind, last)

    def mend(self, kind: Kind, number: int) -> None:
        """Put other rows in the place of the last file."""
        kind.write(self.log, number, FILES - 1)

    def give(self, kind: Kind, files: int) -> None:
        """Put a log in place whose first so many files are applied; 0: there is no state."""
        if files:
            self._undisturbed(kind, files)
            shutil.copytree(
                self._prepared / f"{kind.name}-{files}", self.folder, dirs_exist_ok=True
            )
        self.write_log(kind)

    def expected(self, kind: Kind, last: int | None = None) -> Outcome:
        """What the undisturbed run of a whole log comes to, its last file mended or not."""
        self._undisturbed(kind, FILES, last)
        return self._outcomes[kind.name, FILES if last is None else last + FILES]

    def _undisturbed(self, kind: Kind, files: int, last: int | None = None) -> None:
        number = files if last is None else last + FILES
        if (kind.name, number) in self._outcomes:
            return
        # Where the case is, so that its log has not moved; what is there comes back.
        aside = self._folder / "aside"
        if self.folder.exists():
            self.folder.rename(aside)
        try:
            self.begin()
            self.write_log(kind, files, last)
            if kind.name not in self._compiled:
                # So that the time of the next one is what runs take.
                self.command(*self.words(kind), seconds=_COMPILING_SECONDS)
                shutil.rmtree(self.state, ignore_errors=True)
                self._compiled.add(kind.name)
            done = self.command(*self.words(kind), seconds=_COMPILING_SECONDS)
            if done.status:
                raise Failure(f"undisturbed, and yet: {done.stderr}")
            proof = self.command("verify", "state", seconds=_COMPILING_SECONDS)
            if proof.status:
                raise Failure(f"the undisturbed run is wrong: {proof.stderr}")
            self._outcomes[kind.name, number] = outcome_of(self.state)
            self._taken.append(done.seconds)
            self.folder.rename(self._prepared / f"{kind.name}-{number}")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
            if aside.exists():
                aside.rename(self.folder)

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, which is the same for all cases with the key."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: T = self._remembered[key]
        return found

    # -- how cases end

    def must_end_well(self, kind: Kind, last: int | None = None, when: str = "in the end") -> Ended:
        """Run without a fault: it must come to what the undisturbed run comes to."""
        expected = self.expected(kind, last)
        done = self.command(*self.words(kind))
        if done.status:
            raise Failure(f"{when}: status {done.status}: {done.stderr[-2000:]}")
        self.must_be(expected, when)
        return done

    def must_be(self, expected: Outcome, when: str) -> None:
        """The state must hold what it would if nothing had happened."""
        try:
            found = outcome_of(self.state)
        except GraphtideError as error:
            raise Failure(f"{when}: {error}") from error
        differs = difference(found, expected)
        if differs:
            raise Failure(f"{when}: {differs}", "lost, doubled or wrong")

    def must_be_refused(self, ended: Ended, when: str, statuses: tuple[int, ...] = (1, 2)) -> None:
        """A command must have ended with one sentence."""
        fault = fault_of_refusal(ended, statuses)
        if fault:
            raise Failure(f"{when}: {fault}")

"""One run, from the log to the state: open the files, start the cluster, run the loop.

Only this process writes into the state, under its lock. So workers need not see the state
directory, and a graph worker that is cut off cannot spoil what a later run writes.

Not here: what happens in between (``run_loop.py``).
"""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from ..config.settings import RunSettings
from ..gpu_core.errors import SettingsError
from ..io.log.file_errors import EmptyLogError, UnusableFileError
from ..io.state.running import RunningFile
from .batch_window import batch_rows, max_loads, window_size
from .log_watch import LOOK_SECONDS, PATIENCE_SECONDS, Follow
from .monitoring.progress import WAITING_FOR_A_LOG, Progress, initial_progress
from .monitoring.run_feed import run_feed
from .monitoring.worker_metrics import graph_metrics
from .opening import open_files
from .run_files import RunFiles
from .run_loop import RunLoop
from .run_summary import RunSummary
from .state_machine.lifecycle import Lifecycle
from .state_machine.run_rules import RunRules
from .workers.cluster import open_cluster


def run(
    log: str | tuple[str, ...],
    state: str,
    settings: RunSettings,
    on_progress: Callable[[Progress], None] | None = None,
    follow: Follow | None = None,
) -> RunSummary:
    """Apply every batch of a log that is not applied yet, and write what is due.

    Parameters
    ----------
    log
        Folder, file, pattern or URL of the update log, or several of them in order.
    state
        Folder of the state; made where there is none.
    settings
        What, how and where.
    on_progress
        Called in this thread, many times a second, with how far the run is.
    follow
        Whether it waits for more files at the end, and by which it can be stopped in order: with
        the batches that it has begun to apply.

    Raises
    ------
    EmptyLogError
        There is no file in the log; or it was followed, and stopped before there was one.
    GraphtideError
        What ended the run before its end; the state is whole up to its newest checkpoint.
    """
    follow = follow or Follow(waits=False)
    if follow.waits and settings.order_by is not None:
        msg = "order_by is for a log that is whole; leave it out to follow one that grows"
        raise SettingsError(msg)
    with _opened(log, state, settings, on_progress, follow) as files:
        running = RunningFile(files.state)
        newest: Progress | None = None

        def publish(progress: Progress) -> None:
            nonlocal newest
            begins_recovery = progress.begins_recovery(newest)
            newest = progress
            if running.is_due or begins_recovery:
                running.publish(progress.values(), at_once=begins_recovery)
            if on_progress is not None:
                on_progress(progress)

        try:
            return _run(files, settings, publish, follow)
        finally:
            running.remove()


@contextmanager
def _opened(
    log: str | tuple[str, ...],
    state: str,
    settings: RunSettings,
    on_progress: Callable[[Progress], None] | None,
    follow: Follow,
) -> Iterator[RunFiles]:
    """Open the files; a run that follows waits until there is a first one, and it is whole."""
    with ExitStack() as stack:
        first_seconds = time.monotonic()
        while True:
            try:
                files = stack.enter_context(
                    open_files(log, state, settings, batch_rows(settings), follows=follow.waits)
                )
                break
            except (EmptyLogError, UnusableFileError) as error:
                if isinstance(error, EmptyLogError):
                    first_seconds = time.monotonic()
                is_late = time.monotonic() - first_seconds > PATIENCE_SECONDS
                if not follow.waits or is_late:
                    raise
            if on_progress is not None:
                on_progress(WAITING_FOR_A_LOG)
            follow.sleep(LOOK_SECONDS)
            if follow.is_stopped:
                msg = "stopped before the log had a file"
                raise EmptyLogError(msg)
        yield files


def _run(
    files: RunFiles,
    settings: RunSettings,
    on_progress: Callable[[Progress], None],
    follow: Follow,
) -> RunSummary:
    first = files.checkpointed
    results_missing = files.results_missing()
    if first == files.log.batches and not results_missing and not files.log.follows:
        return files.summary(first, nothing_to_do=True)
    on_progress(initial_progress(files))
    with ExitStack() as stack:
        if settings.scheduler is None:
            stack.callback(files.leftovers.forget)
        cluster = stack.enter_context(open_cluster(settings))
        roles = cluster.roles()
        rules = RunRules(
            window=window_size(settings, roles),
            max_loads=max_loads(roles),
            analytics=settings.cadences,
            epochs=settings.epochs,
            checkpoint_seconds=settings.checkpoint_seconds,
            checkpoint_batches=settings.checkpoint_batches,
            graph_restarts=settings.graph_restarts,
            repeats_results=bool(settings.maintain),
            columns_every=settings.columns_every,
        )
        machine = Lifecycle(
            rules,
            batches=files.log.batches,
            checkpointed=first,
            results_missing=results_missing,
            follows=files.log.follows,
            lacks_last=files.lacks_last,
        )
        about = {"run": uuid.uuid4().hex, "started": time.time(), **files.about()}
        feed = stack.enter_context(run_feed(cluster, about))

        def publish(progress: Progress) -> None:
            feed.publish(progress)
            on_progress(progress)

        loop = RunLoop(cluster, machine, files, settings, publish, follow)
        stack.enter_context(graph_metrics(cluster.client))
        loop.run()
    return files.summary(
        first, loop.seconds, loop.ingest_seconds, waits=loop.waits, wait_seconds=loop.wait_seconds
    )

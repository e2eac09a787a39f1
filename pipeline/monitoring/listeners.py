"""Whether a scheduler plugin of a run can display what it receives: it reports that to the run.

It cannot if the scheduler has no dashboard, or no ``prometheus_client``. The plugin writes that
into the scheduler's metadata, where the run reads it. An error at its start would tell the run
too, but Dask logs each with a traceback, maybe on another user's console.
"""

from distributed import Client, Scheduler

_TOPIC = "graphtide-listeners"


def say_listening(scheduler: Scheduler, name: str, *, is_listening: bool) -> None:
    """Write down for the runs of a scheduler whether its plugin of this name can show anything."""
    scheduler.set_metadata([_TOPIC, name], is_listening)


async def is_listening(client: Client, name: str) -> bool:
    """Whether the plugin of this name can show anything."""
    # An older graphtide brought no plugin that cannot.
    return bool(await client.scheduler.get_metadata(keys=[_TOPIC, name], default=True))

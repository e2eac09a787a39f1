"""Whether a plugin that a run has brought to a scheduler can show there what it hears.

It cannot where there is no dashboard, or no ``prometheus_client``. The plugin writes that into the
scheduler's metadata, for the run to read: an error when it starts would say it as well, but Dask
logs each with its traceback, on a console that may be that of others.
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

"""The time zone of this machine, with its daylight saving.

``datetime.astimezone()`` gives a zone that has the offset of one moment for all times. This one
asks the C library for the offset of each, so it is that of ``TZ``, in any form, or of
``/etc/localtime``.
"""

from datetime import UTC, datetime, timedelta, tzinfo


class _LocalZone(tzinfo):
    def utcoffset(self, time: datetime | None) -> timedelta | None:
        return None if time is None else _as_local(time).utcoffset()

    def tzname(self, time: datetime | None) -> str | None:
        return None if time is None else _as_local(time).tzname()

    def dst(self, _time: datetime | None) -> timedelta | None:
        return None

    def fromutc(self, time: datetime) -> datetime:
        there = time.replace(tzinfo=UTC).astimezone()
        local = there.replace(tzinfo=self)
        # Of an hour that is there twice, which one it is.
        is_first = local.utcoffset() == there.utcoffset()
        return local if is_first else local.replace(fold=1)


def _as_local(time: datetime) -> datetime:
    return time.replace(tzinfo=None).astimezone()


LOCAL_ZONE = _LocalZone()

"""Faults of every kind against runs, for hours: ``make torture``.

==================  ==============================================================================
module              faults
==================  ==============================================================================
`kills`             every process of a run is killed or stopped, at any moment
`repeated_kills`    … again and again, on a cluster whose workers come back in a moment
`full_rate`         … in the midst of many rows, on a GPU where `--engine cuda` is given
`crash_points`      the client dies before one of its operations on files; the power goes with it
`damage`            files of state and log are damaged
`fuzz`              logs, settings and command lines that nobody would write
`environment`       full and read-only disks, clocks that jump
`alone`             deaths and damage without a cluster: steps of one process, states of all kinds
`following`         workers are killed beside a log that grows while it is followed
==================  ==============================================================================

Each is a function from a `cases.Bench` and a seed to nothing: it raises `cases.Failure` where a run
did not end as the undisturbed one (`outcomes`), or with one sentence and an untouched state, or
took longer than it may. The same seed draws the same faults; when a signal meets a process is a
matter of time as well.

``--jobs N`` tries cases in N processes, each with folder, cluster and seeds of its own
(`side_by_side`); they share one report (`reports`).

Commands run in processes that are forked from one that has imported everything (`forked`), most of
them on one cluster that all cases share (`cases`).
"""

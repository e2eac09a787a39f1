"""Benchmarks of parts, beside plain loops and other packages.

    python -m graphtide.flows.bench.scripts.NAME

Not subcommands of ``graphtide bench``: they need the extra ``[bench]``, or NVIDIA's profiler.
"""

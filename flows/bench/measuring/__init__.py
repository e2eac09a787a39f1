"""Measurement in benchmarks: workloads, clocks, peers, exactness, tables."""

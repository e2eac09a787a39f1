"""How benchmarks measure: workloads, clocks, peers, exactness, tables."""

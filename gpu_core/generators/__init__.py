"""Synthetic graphs and update streams: arrays out, any slice reproducible, no files.

==================  ==================================================================
`uniform`           both end points of every edge uniformly from ``0 … n - 1``
`erdos_renyi`       a given number of all pairs, drawn without replacement
`rmat`              R-MAT/Kronecker edges, with the skewed degrees of real graphs
`watts_strogatz`    a ring, a share of whose edges leads anywhere (the beta model)
`barabasi_albert`   new vertices join those with many neighbors
`grid`              a square grid
`geometric`         points of a square that are near one another; made whole, then picked
`watts_alpha`       neighbors by common neighbors (the alpha model); grown, not drawn
`update_streams`    rows of an update log over any of them: inserts, repeats, deletes
`counter_random`    the random words after them
`permutation`       numbers in a random order, each on its own
==================  ==================================================================

Every draw is a hash of (seed, stream, number of the edge or row); there is no generator state. So
a slice can be made on its own, on any worker, and is the same as the same slice of the whole. In
the alpha model alone each edge depends on those before it.
"""

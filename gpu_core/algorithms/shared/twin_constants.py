"""Numbers by which the algorithms of both engines come to the same values, each declared once.

Host twins import them; of them `cuda/device/compile.py` generates ``twin_constants.cuh``, in which
each is a ``constexpr double`` of the same name.
"""

from typing import Final

#: PageRank on undirected graphs: residuals above this times ``alpha^(k - 1)``, k the step's number,
#: are those of rounding, as plain steps have half as much at most.
MOST_RESIDUAL: Final = 4.0

#: Where PageRank starts: correlation of the degrees of neighbors with which ranks go by degrees, at
#: most; covariance below which there is none, but rounding (the device adds up in fixed point).
MOST_ALIKE: Final = 0.25
LEAST_COVARIANCE: Final = 1e-8
#: Covariance up to which degrees are so even that their changes count beside earlier ranks in any
#: case: it is 5e-6 in a grid of 2^22 vertices, 3e-3 in a geometric graph.
MOST_EVEN: Final = 2.0**-12
#: Vertices of the graph before for each of now, at most, where earlier ranks are of use beside
#: degrees. So no start exceeds what sums of fixed point hold.
MOST_EARLIER: Final = 2.0

#: Betweenness: a number of paths is below this one, and one that is not is multiplied by
#: `EXPONENT_STEP` and has an exponent larger by 1.
MOST_PATHS: Final = 2.0**512
EXPONENT_STEP: Final = 2.0**-512

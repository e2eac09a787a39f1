"""Public names and their types, for type checkers and editors.

They are the names of ``_PUBLIC`` in ``__init__.py``, which imports each on first use; a test
compares the two.
"""

from .flows.library import run as run
from .flows.open_state import open_state
from .flows.state_results import read_results as read_results
from .flows.state_results import read_summary as read_summary
from .gpu_core.batch.update_batch import UpdateBatch as UpdateBatch
from .gpu_core.copies.snapshot import CsrSnapshot as CsrSnapshot
from .gpu_core.epoch import Epoch as Epoch
from .gpu_core.errors import ArenaFullError as ArenaFullError
from .gpu_core.errors import BatchError as BatchError
from .gpu_core.errors import ClusterError as ClusterError
from .gpu_core.errors import ConvergenceError as ConvergenceError
from .gpu_core.errors import CorruptImageError as CorruptImageError
from .gpu_core.errors import EdgeNotFoundError as EdgeNotFoundError
from .gpu_core.errors import EngineError as EngineError
from .gpu_core.errors import EpochClosedError as EpochClosedError
from .gpu_core.errors import FailedResultWarning as FailedResultWarning
from .gpu_core.errors import GraphtideError as GraphtideError
from .gpu_core.errors import PathNotFoundError as PathNotFoundError
from .gpu_core.errors import PrecisionWarning as PrecisionWarning
from .gpu_core.errors import SettingsError as SettingsError
from .gpu_core.errors import StaleViewError as StaleViewError
from .gpu_core.errors import StateError as StateError
from .gpu_core.errors import UpdateLogError as UpdateLogError
from .gpu_core.errors import VertexNotFoundError as VertexNotFoundError
from .gpu_core.face.adjacency_view import AdjacencyView as AdjacencyView
from .gpu_core.graph import DynamicGraph as DynamicGraph
from .gpu_core.programs.frontier import Frontier as Frontier
from .gpu_core.programs.program import Program as Program
from .gpu_core.programs.vertex_state import VertexState as VertexState
from .gpu_core.report import BatchReport as BatchReport
from .io.interchange.export import export_edges as export_edges
from .io.interchange.frames import batch_of_frame as batch_of_frame
from .io.interchange.frames import pairs_of_frame as pairs_of_frame
from .io.interchange.from_libraries import from_edge_list as from_edge_list
from .io.interchange.from_libraries import from_networkx as from_networkx
from .io.interchange.from_libraries import from_scipy as from_scipy
from .io.interchange.saved_graph import load_graph as load_graph
from .io.interchange.saved_graph import save_graph as save_graph
from .io.interchange.to_libraries import to_arrow as to_arrow
from .io.interchange.to_libraries import to_igraph as to_igraph
from .io.interchange.to_libraries import to_networkx as to_networkx
from .io.interchange.to_libraries import to_pandas as to_pandas
from .io.interchange.to_libraries import to_polars as to_polars
from .io.interchange.to_libraries import to_scipy as to_scipy

open = open_state  # noqa: A001 - its public name
__version__: str

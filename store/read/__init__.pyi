from . import explored_layers as explored_layers
from . import results as results
from . import sweeps as sweeps

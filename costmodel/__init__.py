"""What a mapping costs: pure functions from arrays to arrays."""

from nestmap.costmodel.readout import evaluate as evaluate
from nestmap.costmodel.readout import evaluate_batch as evaluate_batch
from nestmap.costmodel.vector_unit import evaluate_vector as evaluate_vector

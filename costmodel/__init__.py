"""What a mapping costs: pure functions from arrays to arrays."""

from nestmap.costmodel.report import evaluate as evaluate
from nestmap.costmodel.report import evaluate_batch as evaluate_batch
from nestmap.costmodel.vector import evaluate_vector as evaluate_vector

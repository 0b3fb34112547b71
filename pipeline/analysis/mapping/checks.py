"""Whether an evaluation is that of a mapping of a problem."""

from __future__ import annotations

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import CostModelEvaluation, InputError, SpatialProblem


def is_evaluation_of(spatial: SpatialProblem, cme: CostModelEvaluation) -> bool:
    """Whether the evaluation is exactly what the cost model says of a mapping of the problem."""
    return evaluate(spatial, cme.temporal_mapping) == cme


def check_evaluation(spatial: SpatialProblem, cme: CostModelEvaluation) -> None:
    """Checks that it is.

    Raises:
        InputError: where it is not.
    """
    if not is_evaluation_of(spatial, cme):
        raise InputError(
            f"layer {cme.layer}",
            "an evaluation that was not made for this problem on accelerator "
            f"{spatial.accelerator.name} as it is",
            "the evaluation of one of its mappings, by this version of the cost model",
        )

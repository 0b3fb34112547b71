"""Checks that an evaluation belongs to a problem."""

from __future__ import annotations

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import CostModelEvaluation, InputError, SpatialProblem


def is_evaluation_of(spatial: SpatialProblem, cme: CostModelEvaluation) -> bool:
    """Whether the cost model computes exactly this evaluation for a mapping of the problem."""
    return evaluate(spatial, cme.temporal_mapping) == cme


def check_evaluation(spatial: SpatialProblem, cme: CostModelEvaluation) -> None:
    """Checks that the evaluation belongs to the problem.

    Raises:
        InputError: if it does not.
    """
    if not is_evaluation_of(spatial, cme):
        raise InputError(
            f"layer {cme.layer}",
            "an evaluation that was not made for this problem on accelerator "
            f"{spatial.accelerator.name} as it is",
            "the evaluation of one of its mappings, by this version of the cost model",
        )

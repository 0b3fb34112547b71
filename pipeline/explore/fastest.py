"""What the lowest energy costs in cycles: the fastest mapping of the layer that it slows most."""

from typing import Final, NamedTuple

from nestmap.model import CostModelEvaluation, NetworkEvaluation, NetworkProblem, Objective
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.plan import SearchPlan, best_stage, layers_stage

_BUSY: Final = 0.5
"""From this utilization of the array on, no mapping takes less than half the cycles."""


_SLOWER: Final = 1.1
"""Of mappings that are hardly slower than the fastest, nothing is said."""


class Contrast(NamedTuple):
    """The mapping of a layer with the lowest energy, and energy and latency of its fastest one."""

    chosen: CostModelEvaluation
    energy: float
    latency: float


def contrast_with_fastest(
    network: NetworkProblem, plan: SearchPlan, total: NetworkEvaluation
) -> Contrast | None:
    """Searches the fastest mapping of the layer with the most cycles above those of a full array.

    ``None`` where that layer keeps half of the array busy or is nearly as fast, or energy alone is
    not the objective of an exhaustive search that maps each layer by itself.
    """
    is_alone = plan.at_most is None and not plan.joins_layers
    if plan.objective is not Objective.ENERGY or not is_alone or not plan.search.is_exhaustive:
        return None
    slowest = max((x.cme for x in total.layers), key=lambda cme: cme.latency - cme.ideal_cycles)
    if slowest.utilization >= _BUSY:
        return None
    problem = next(x for x in layers_stage()(network) if x.layer.name == slowest.layer)
    best = best_stage(copy_with(plan, {"objective": Objective.LATENCY}))(problem)
    latency = float(best.latency2[0])
    if slowest.latency < _SLOWER * latency:
        return None
    return Contrast(slowest, float(best.energy[0]), latency)

"""What a dataflow says of a temporal mapping, independently of the searches."""

from typing import Final

from nestmap.model import Dataflow, Relevance, SpatialProblem, TemporalMapping

ROWS: Final = {"I2": {"FX", "OX"}, "O": {"FX"}}
STAYS: Final = {
    Dataflow.WEIGHT_STATIONARY: "I2",
    Dataflow.INPUT_STATIONARY: "I1",
    Dataflow.OUTPUT_STATIONARY: "O",
}
"""The memory operand of what stays."""


def has_dataflow(spatial: SpatialProblem, mapping: TemporalMapping, dataflow: Dataflow) -> bool:
    """Whether no loop that an operand has to hold lies above its innermost memory."""
    layer = spatial.layer
    for cuts in mapping.cuts:
        carried = spatial.problem.links[cuts.operand]
        above = {loop.dimension for loop in mapping.order[cuts.positions[0] :] if loop.size > 1}
        if dataflow is Dataflow.ROW_STATIONARY:
            held = ROWS.get(carried, set[str]())
        elif STAYS[dataflow] == carried:
            held = {
                d for d in layer.sizes if layer.relevance(cuts.operand, d) is Relevance.IRRELEVANT
            }
        else:
            continue
        if above & held:
            return False
    return True

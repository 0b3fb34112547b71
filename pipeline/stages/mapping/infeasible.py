"""Layers for which a search found no mapping that fits."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model import InfeasibleError, InfeasibleLayer, MappingProblem, SearchStatistics
from nestmap.model.base import copy_with


def infeasible_layer(
    problem: MappingProblem, statistics: SearchStatistics, greedy: bool = False
) -> InfeasibleLayer:
    """A layer without a feasible mapping, with the memories that overflow.

    Memory levels that the user pins leave a ``greedy`` search no other allocation either.
    """
    return InfeasibleLayer(
        layer=problem.layer.name,
        operator=problem.layer.operator,
        accelerator=problem.accelerator.name,
        causes=statistics.infeasible,
        greedy=greedy and not problem.constraints.memory_levels,
    )


def repeated_infeasible(known: InfeasibleLayer, name: str) -> InfeasibleLayer:
    """The same for a layer of equal content, which is not searched."""
    return copy_with(known, {"layer": name, "repeats": known.repeats or known.layer})


def check_any_feasible(feasible: int, infeasible: Sequence[InfeasibleLayer]) -> None:
    """Checks that some layer has a mapping; a network without layers passes.

    Raises:
        InfeasibleError: where all layers are infeasible.
    """
    if feasible or not infeasible:
        return
    others = len(infeasible) - 1
    named = "layer" if others == 1 else "layers"
    rest = f" (and no mapping fits the {others} other {named})" if others else ""
    raise InfeasibleError(f"{infeasible[0].message}{rest}")

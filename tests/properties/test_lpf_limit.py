"""More loop factors: never more energy on the bundled machines, but sometimes more latency."""

from collections import Counter

import pytest

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import Counting, Loop, MappingProblem, MappingType, Objective, SpatialProblem
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.search import best_of, loma, spatial_mappings
from nestmap.search.temporal.loop_factors import loop_factors

MACHINES = ("tpu_like", "eyeriss_like", "meta_prototype", "ascend_like")


def problem(layer: int, machine: str) -> SpatialProblem:
    mapped = MappingProblem(
        layer=read_workload("light:alexnet").layers[layer],
        accelerator=read_accelerator(machine).counted(Counting.REFERENCE),
    )
    return SpatialProblem(problem=mapped, spatial_mapping=spatial_mappings(mapped, 1)[0])


def best(spatial: SpatialProblem, limit: int, objective: Objective) -> float:
    batches = map(evaluate_batch, loma(spatial, limit, MappingType.UNEVEN))
    return float(best_of(batches, objective).values(objective)[0])


def factors_nest(spatial: SpatialProblem, limit: int) -> bool:
    """Whether the loops of a limit are those of the next one, at most two of them joined."""
    coarse, fine = (Counter(loop_factors(spatial, n)) for n in (limit, limit + 1))
    joined, parts = list((coarse - fine).elements()), list((fine - coarse).elements())
    if not joined and not parts:
        return True
    (whole,), (one, other) = joined, parts
    return whole == Loop(dimension=one.dimension, size=one.size * other.size) and (
        one.dimension == other.dimension
    )


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("layer", [1, 2, 5, 7])
def test_more_factors_never_take_more_energy(layer: int, machine: str) -> None:
    spatial = problem(layer, machine)
    found = [best(spatial, limit, Objective.ENERGY) for limit in (3, 4, 5, 6)]
    assert all(factors_nest(spatial, limit) for limit in (3, 4, 5))
    assert found == sorted(found, reverse=True)


def test_more_factors_can_take_more_cycles() -> None:
    """Greedy allocation fills a memory so far that it is no longer double-buffered."""
    spatial = problem(6, "tpu_like")
    fewer, more = (best(spatial, limit, Objective.LATENCY) for limit in (5, 6))
    assert fewer < more
    assert best(spatial, 6, Objective.ENERGY) <= best(spatial, 5, Objective.ENERGY)

"""Spatial mappings for a core: what it supports, cut down to a layer, or what divides."""

from hypothesis import given

from nestmap.model import Loop, MappingProblem, SpatialMapping, SpatialProblem, Unrolling
from nestmap.model.base import copy_with
from nestmap.model.mapping.problem import CoreProblem
from nestmap.search.multicore.core_costs.dataflows import dataflow_mappings, dividing_mappings
from nestmap.search.spatial.unrolling import unrolling_limits
from tests.model.builders import array, fully_connected, machine
from tests.strategies import mapping_problems


def flow(**loops: tuple[str, int]) -> SpatialMapping:
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=side, loops=(Loop(dimension=d, size=n),))
            for side, (d, n) in loops.items()
        )
    )


def texts(mappings: tuple[SpatialMapping, ...]) -> list[str]:
    return [str(mapping) for mapping in mappings]


def test_dataflows_are_cut_down_to_the_layer() -> None:
    accelerator = copy_with(machine(), {"array": array(16, 8)})
    problem = MappingProblem(layer=fully_connected(), accelerator=accelerator)
    flows = (
        flow(D1=("K", 16), D2=("C", 8)),
        flow(D1=("K", 8), D2=("C", 4)),  # the same on this layer
        flow(D1=("OX", 16), D2=("C", 3)),  # which it does not have
    )
    core = CoreProblem(problem=problem, dataflows=flows)
    assert texts(dataflow_mappings(core)) == ["D1: K 8, D2: C 4", "D1: -, D2: C 3"]


def test_the_largest_unrollings_that_divide() -> None:
    """Memories that feed eight words a cycle: of 6 outputs no more than 3 go over 4 units."""
    problem = MappingProblem(layer=fully_connected(B=1, K=6, C=10), accelerator=machine())
    assert texts(dividing_mappings(problem)) == ["D1: K 3, D2: C 2", "D1: C 2, D2: K 2"]


def test_an_array_dimension_stays_idle_only_where_nothing_is_left() -> None:
    problem = MappingProblem(layer=fully_connected(B=1, K=4, C=1), accelerator=machine())
    assert texts(dividing_mappings(problem)) == ["D1: K 4, D2: -", "D1: -, D2: K 2"]


@given(mapping_problems())
def test_unrollings_divide_are_fed_and_are_different(problem: MappingProblem) -> None:
    limits, sizes = unrolling_limits(problem), problem.layer.sizes
    found = dividing_mappings(problem)
    assert found
    assert len(set(found)) == len(found)
    for mapping in found:
        SpatialProblem(problem=problem, spatial_mapping=mapping)
        for unrolling in mapping.unrollings:
            for loop in unrolling.loops:
                assert sizes[loop.dimension] % loop.size == 0
                assert loop.size <= limits[unrolling.array_dimension][loop.dimension]

"""All spatial mappings as a table: those that the generator makes, with the bounds of each."""

from collections.abc import Mapping
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.flatten import flatten
from nestmap.model import (
    LayerConstraints,
    MappingProblem,
    Objective,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.model.base import copy_with
from nestmap.search import spatial_mappings
from nestmap.search.spatial.all_mappings import all_spatial_mappings
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.costmodel.machines import loops, machine, matmul, memory
from tests.in_memory import imc_cases
from tests.properties.variants import examples
from tests.strategies import Case, mapping_problems
from tests.sweeps import some_of

MOST = 2000
"""More mappings than this are not compared: the generator keeps them sorted."""

CHECKED = 20
"""Rows of a table whose models are made."""


@examples
@given(mapping_problems(2**10), st.booleans())
def test_they_are_the_generators_mappings(problem: MappingProblem, mixed: bool) -> None:
    found = all_spatial_mappings(problem, mixed)
    if len(found) <= MOST:
        mappings = [found.mapping(row) for row in range(len(found))]
        assert len(set(mappings)) == len(mappings)
        expected = spatial_mappings(problem, 2**14, mixed)
        assert set(mappings) == set(expected)


@examples
@given(mapping_problems(2**14), st.booleans(), st.randoms(use_true_random=False))
def test_rows_are_the_problems_with_their_mappings(
    problem: MappingProblem, mixed: bool, random: Random
) -> None:
    found = all_spatial_mappings(problem, mixed)
    bounds = found.bounds
    for row in {int(random.random() * len(found)) for _ in range(CHECKED)}:
        spatial = found.spatial(row)
        expected = lower_bounds(spatial)
        for objective in Objective:
            assert bounds.of(objective)[row] == expected.of(objective)
        assert found.temporal_sizes(row).tolist() == list(spatial.temporal_sizes.values())
        assert found.flat(row) == flatten(spatial)


@settings(examples, max_examples=some_of(20))
@given(imc_cases())
def test_the_energy_of_imc_arrays_depends_on_the_row(case: Case) -> None:
    found = all_spatial_mappings(case.spatial.problem)
    bounds = found.bounds
    for row in range(0, len(found), max(1, len(found) // CHECKED)):
        spatial = found.spatial(row)
        assert bounds.energy[row] == lower_bounds(spatial).energy
        assert found.flat(row) == flatten(spatial)


def test_constraints_restrict_them() -> None:
    top = memory("top", served="D1 D2", width=2**16)
    problem = MappingProblem(
        layer=matmul(k=4, c=6), accelerator=machine(top, sides={"D1": 8, "D2": 4})
    )
    constraints = LayerConstraints(
        spatial_mapping=_mapping({"D1": "C 6"}),
        spatial_hints=(UnrollingHint(array_dimension="D2", dimensions=("K",)),),
    )
    found = all_spatial_mappings(copy_with(problem, {"constraints": constraints}))
    assert [found.mapping(row) for row in range(len(found))] == [
        _mapping({"D1": "C 6", "D2": "K 4"}),
        _mapping({"D1": "C 6", "D2": "K 2"}),
        _mapping({"D1": "C 6", "D2": ""}),
    ]


def _mapping(unrolled: Mapping[str, str]) -> SpatialMapping:
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=name, loops=loops(text)) for name, text in unrolled.items()
        )
    )

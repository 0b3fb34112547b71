"""Dataflows from end to end: pinned by the user, found where they are best, and named."""

import pytest
from hypothesis import given

import nestmap
from nestmap.costmodel.evaluate import evaluate
from nestmap.model import Dataflow, LayerConstraints, MappingConstraints, Objective, Relevance
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.explore.options import SearchName
from nestmap.pipeline.explore.resume import recorded_problem
from tests.costmodel.machines import machine, matmul, memory
from tests.properties.variants import examples
from tests.search.temporal.stationary import STAYS, has_dataflow
from tests.strategies import Case, evaluated_cases

ONE_WORD = 8
LAYER = matmul(k=8, c=6, b=10)
CHIP = machine(
    memory("reg_w", size=ONE_WORD, operands="I2", width=64),
    memory("reg_o", size=2 * ONE_WORD, operands="O", width=64),
    memory("sram", served="D1 D2", width=1024),
    sides={"D1": 4, "D2": 2},
)


def energy_of(dataflow: Dataflow | None, search: SearchName = "exact") -> float:
    """The least energy with a dataflow."""
    entry = LayerConstraints(dataflow=dataflow)
    constraints = MappingConstraints(entries=(entry,))
    found = nestmap.explore(LAYER, CHIP, constraints, objective=Objective.ENERGY, search=search)
    (result,) = found.layers
    if dataflow is not None:
        network = read_network(LAYER, CHIP, constraints)
        spatial = recorded_problem(network, result.cme)
        assert dataflow in explain(spatial, result.cme).nest.dataflows
    return result.cme.energy


def test_the_best_dataflow_is_found_without_one() -> None:
    free = energy_of(None)
    energies = [energy_of(x) for x in (Dataflow.WEIGHT_STATIONARY, Dataflow.OUTPUT_STATIONARY)]
    assert free == min(energies) < max(energies)


@pytest.mark.parametrize("search", ["loma", "salsa"])
def test_every_search_keeps_to_it(search: SearchName) -> None:
    for dataflow in (Dataflow.WEIGHT_STATIONARY, Dataflow.OUTPUT_STATIONARY):
        assert energy_of(dataflow, search) >= energy_of(dataflow)


@examples
@given(evaluated_cases(2**10))
def test_a_dataflow_that_a_mapping_has_is_named(case: Case) -> None:
    spatial = case.spatial
    nest = explain(spatial, evaluate(spatial, case.temporal)).nest
    operands = {carried: operand for operand, carried in spatial.problem.links.items()}
    for dataflow, carried in STAYS.items():
        if carried not in operands or not has_dataflow(spatial, case.temporal, dataflow):
            continue
        operand = operands[carried]
        (tile,) = (x for x in nest.tiles if x.operand == operand and x.level == 0)
        runs = {
            spatial.layer.relevance(operand, loop.dimension) for loop in nest.order if loop.size > 1
        }
        stays = Relevance.IRRELEVANT in runs and tile.instances > 1
        assert (dataflow in nest.dataflows) is stays

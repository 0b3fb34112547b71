"""Floors of exact counting: what a layer needs is moved, and no port is faster than its width."""

from math import floor, prod

import pytest
from hypothesis import given

from nestmap import explore, network
from nestmap.costmodel.evaluate import evaluate
from nestmap.model import CostModelEvaluation, Layer, Movement, Objective, SpatialProblem, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.options import SearchName
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.resume import recorded_problem
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.stages import WorkloadStage
from tests.bundled import bundled_network
from tests.properties.variants import examples
from tests.strategies import Case, evaluated_cases
from tests.sweeps import STRESS

NETWORKS = ("light:alexnet", "light:squeezenet", "light:resnet50", "light:shufflenet")
MACHINES = accelerator_names()


def has_whole_windows(layer: Layer) -> bool:
    """Whether no window is shorter than its dilation, where the size of a tensor is a bound."""
    return all(
        len(index.terms) == 1 or layer.sizes[index.dimensions[0]] >= index.steps[1]
        for operand in layer.operands
        for index in operand.indices
    )


def check_floors(spatial: SpatialProblem, cme: CostModelEvaluation) -> None:
    """Compulsory traffic at the outermost memories, busy ports, and steps of the array."""
    assert all((port.busy or 0) <= cme.latency for port in cme.port_stalls)
    assert cme.latency >= prod(spatial.temporal_sizes.values())
    layer, whole = spatial.layer, has_whole_windows(spatial.layer)
    for operand in layer.operands:
        levels = spatial.problem.levels(operand.name)
        top, carried = levels[-1], spatial.problem.links[operand.name]
        move = Movement.WR_BY_LOW if operand is layer.output else Movement.RD_TO_LOW
        port = top.instance.ports[top.port_index(carried, move) or 0]
        bits = layer.elements(operand.name) * operand.precision
        if whole and not top.compression_of(carried):
            accesses = cme.level(operand.name, len(levels) - 1).costs.accesses_of(move)
            assert accesses >= floor(bits / port.width_max)


@examples
@given(evaluated_cases())
def test_no_mapping_is_below_them(case: Case) -> None:
    check_floors(case.spatial, evaluate(case.spatial, case.temporal))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("of", NETWORKS if STRESS else ["light:squeezenet"])
@pytest.mark.parametrize("objective", Objective if STRESS else [Objective.LATENCY])
@pytest.mark.parametrize("search", ["exact", "loma", "salsa"] if STRESS else ["exact"])
def test_no_search_goes_below_them(
    machine: str, of: str, objective: Objective, search: SearchName
) -> None:
    workload = short(bundled_network(of))
    problems = {x.layer.name: x for x in WorkloadStage()(read_network(workload, machine))}
    found = explore(workload, machine, objective=objective, search=search)
    for result in found.layers:
        spatial = SpatialProblem(
            problem=problems[result.cme.layer], spatial_mapping=result.cme.spatial_mapping
        )
        check_floors(spatial, result.cme)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("of", NETWORKS if STRESS else ["light:squeezenet"])
def test_data_kept_on_chip_is_fetched_at_least_once(machine: str, of: str) -> None:
    plan = SearchPlan.of({"search": "loma", "lpf_limit": 3, "keep_on_chip": True})
    network = read_network(bundled_network(of), machine)
    for result in explore_network(network, plan).layers:
        spatial = recorded_problem(network, result.cme)
        check_floors(spatial, result.cme)
        for operand in spatial.layer.inputs:
            outermost = network.accelerator.levels_of(spatial.problem.links[operand.name])[-1]
            used = [x.memory for x in result.cme.levels if x.operand == operand.name]
            assert operand.source is not None or used[-1] == outermost.name


def short(workload: Workload) -> Workload:
    """Some layers, unless in ``make stress``."""
    kept = workload.layers if STRESS else workload.layers[1::7]
    named = (copy_with(x.anonymous, {"name": f"n{i}"}) for i, x in enumerate(kept))
    return network("short", *named)

"""What would help is what evaluating machines changed by hand says."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestmap
from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    LayerConstraints,
    MappingType,
    OrderedLoop,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.explanation import Change, PortName, WhatIf
from nestmap.pipeline.analysis.mapping.what_if import unfixed_spatial_mappings, what_ifs
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.explore.resume import recorded_problem
from nestmap.pipeline.format.mappings import spatial_text
from nestmap.pipeline.format.numbers import cycles
from nestmap.pipeline.render.tables.explanation import matters, notable
from nestmap.pipeline.render.text.explanation import advice
from nestmap.search import loma
from tests.costmodel.sample import problems
from tests.in_memory import imc_cases
from tests.leaking import leaking_cases
from tests.properties.variants import few_examples, with_memory, with_port
from tests.strategies import Case, evaluated_cases

CASES = st.one_of(evaluated_cases(2**12), leaking_cases(2**12), imc_cases(2**10))

WIDER = (Change.PORT, Change.BINDING_PORTS, Change.EVERY_PORT)


def answers(case: Case, *changes: Change) -> tuple[WhatIf, ...]:
    """Those about some changes."""
    found = explain(case.spatial, evaluate(case.spatial, case.temporal))
    return tuple(x for x in found.what_ifs if x.change in changes)


def widened(spatial: SpatialProblem, ports: tuple[PortName, ...]) -> SpatialProblem:
    """The machine with these ports twice as wide at most."""
    for m, level in enumerate(spatial.accelerator.memories):
        for p, port in enumerate(level.instance.ports):
            if PortName(memory=level.name, port=port.name) in ports:
                spatial = with_port(spatial, (m, p), {"width_max": 2 * port.width_max})
    return spatial


def enlarged(spatial: SpatialProblem, memory: str) -> SpatialProblem:
    """The machine with one memory twice as large."""
    position = [level.name for level in spatial.accelerator.memories].index(memory)
    size = spatial.accelerator.memories[position].instance.size
    return with_memory(spatial, position, {"size": 2 * size})


def by_loma(spatial: SpatialProblem, temporal: TemporalMapping) -> Iterator[TemporalMapping]:
    """What LOMA finds if only this order is allowed."""
    pinned = tuple(OrderedLoop(dimension=x.dimension, size=x.size) for x in temporal.order)
    constraints = copy_with(spatial.problem.constraints, {"temporal_ordering": pinned})
    problem = copy_with(spatial.problem, {"constraints": constraints})
    for batch in loma(copy_with(spatial, {"problem": problem}), None, MappingType.UNEVEN):
        yield from (batch.row(i) for i in range(len(batch)))


@few_examples
@given(CASES)
def test_wider_ports(case: Case) -> None:
    before = evaluate(case.spatial, case.temporal)
    for answer in answers(case, *WIDER):
        after = evaluate(widened(case.spatial, answer.ports), case.temporal)
        assert (answer.latency, answer.stall) == (after.latency, after.stall)
        assert answer.energy == before.dynamic_energy + after.static_energy


@few_examples
@given(CASES)
def test_larger_memories(case: Case) -> None:
    found = answers(case, Change.CAPACITY)
    assert [x.memory for x in found] == [x.name for x in case.spatial.accelerator.memories]
    for answer in found:
        assert answer.memory is not None
        after = evaluate(enlarged(case.spatial, answer.memory), case.temporal)
        assert (answer.latency, answer.energy) == (after.latency, after.energy)
        assert answer.cuts == ()


@few_examples
@given(CASES)
def test_memories_filled_anew(case: Case) -> None:
    found = {x.memory: x for x in answers(case, Change.FILLED, Change.CAPACITY_FILLED)}
    memories = (None, *(level.name for level in case.spatial.accelerator.memories))
    for memory in memories:
        spatial = case.spatial if memory is None else enlarged(case.spatial, memory)
        fills = [x for x in by_loma(spatial, case.temporal) if x != case.temporal]
        assert [x.cuts for x in fills] == ([found[memory].cuts] if memory in found else [])
        for mapping in fills:
            after = evaluate(spatial, mapping)
            answer = found[memory]
            assert (answer.latency, answer.energy) == (after.latency, after.energy)


@few_examples
@given(CASES)
def test_every_port_in_use_and_all_that_bind_are_asked_for(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    explanation = explain(case.spatial, cme)
    asked = [
        x.ports
        for x in what_ifs(
            case.spatial, cme, explanation.ports, unfixed_spatial_mappings(case.spatial)
        )
    ]
    for port in explanation.ports:
        assert ((port.name,) in asked) or not port.transfers
    if cme.stall:
        assert explanation.binding.ports in asked
    assert tuple(port.name for port in explanation.ports) in asked


@few_examples
@given(CASES)
def test_ports_that_bind_one_after_the_other(case: Case) -> None:
    groups: list[tuple[PortName, ...]] = []
    before = evaluate(case.spatial, case.temporal)
    group = stalling(before)
    while group:
        groups.append(group)
        after = evaluate(widened(case.spatial, group), case.temporal)
        more = tuple(port for port in stalling(after) if port not in group)
        group = (*group, *more) if more and after.latency < before.latency else ()
        before = after
    expected = [group for group in groups if len(group) > 1]
    assert [x.ports for x in answers(case, Change.BINDING_PORTS)] == expected


def stalling(cme: CostModelEvaluation) -> tuple[PortName, ...]:
    """The ports that stall most."""
    worst = max(x.stall for x in cme.port_stalls)
    ports = (x for x in cme.port_stalls if x.stall == worst > 0)
    return tuple(PortName(memory=x.memory, port=x.port) for x in ports)


def test_what_a_percentage_shows() -> None:
    spatial = problems()[0]
    cme = evaluate(spatial, next(loma(spatial, 4, MappingType.UNEVEN)).row(0))
    for change, shown in ((0.0, False), (4e-4, False), (6e-4, True), (-6e-4, True)):
        latency = cme.latency * (1 + change)
        answer = WhatIf(change=Change.PORT, latency=latency, energy=cme.energy, stall=0)
        assert matters(cme, answer) is shown


@pytest.mark.parametrize(("larger", "gains"), [(0.8, False), (0.7999, False), (0.6, True)])
def test_a_larger_memory_is_worth_what_it_adds_to_reallocation(larger: float, gains: bool) -> None:
    """Reallocated memories save a fifth of the energy without being larger."""
    spatial = problems()[0]
    cme = evaluate(spatial, next(loma(spatial, 4, MappingType.UNEVEN)).row(0))
    binding = explain(spatial, cme).binding
    filled, capacity = (
        WhatIf(change=change, memory=memory, latency=cme.latency, energy=energy, stall=0)
        for change, memory, energy in (
            (Change.FILLED, None, 0.8 * cme.energy),
            (Change.CAPACITY_FILLED, "sram", larger * cme.energy),
        )
    )
    answers = (filled, capacity)
    assert (capacity in notable(cme, binding, answers)) is gains
    assert filled in notable(cme, binding, answers)
    told = advice(cme, answers)
    assert "energy -20.0% with memories reallocated, none larger" in told
    assert ("2x capacity of sram, reallocated" in told) is gains


@few_examples
@given(CASES)
def test_the_text_tells_them(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    found = explain(case.spatial, cme)
    lines = found.text(10_000).splitlines()
    for answer in found.what_ifs:
        if matters(cme, answer) and answer.change is Change.PORT:
            (port,) = answer.ports
            start = f"2x width of {port.memory} {port.port} "
            (row,) = (line for line in lines if line.startswith(start))
            assert row.split()[5] == cycles(answer.latency)


def test_another_spatial_mapping_leads_the_advice() -> None:
    """The mapping bundled with tpu_like unrolls the 3 channels of a first layer over 32 rows."""
    layer = nestmap.conv2d("first", (1, 3, 56, 56), (64, 3, 7, 7), stride=2, padding=3).anonymous
    found = nestmap.explore(layer, "tpu_like", search="loma")
    (result,) = found.layers
    spatial = recorded_problem(read_network(layer, "tpu_like"), result.cme)
    explained = explain(spatial, result.cme)
    (other, *_) = [x for x in explained.what_ifs if x.change is Change.SPATIAL]
    assert explained.what_ifs[0] is other
    assert other.spatial_mapping is not None
    assert other.latency < result.cme.latency / 6
    free = nestmap.explore(layer, "tpu_like", "free").latency
    assert free <= other.latency < 1.2 * free
    sentence = list(explained.why())[-1]
    assert sentence.startswith(
        f"What would help most: latency {other.latency / result.cme.latency - 1:.1%} with spatial "
        f"mapping {spatial_text(other.spatial_mapping)}"
    )
    assert f"spatial mapping {spatial_text(other.spatial_mapping)}" in explained.text(300)


@few_examples
@given(CASES)
def test_other_spatial_mappings_are_better_and_evaluated(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    for answer in answers(case, Change.SPATIAL):
        assert answer.latency < cme.latency or answer.energy < cme.energy
        assert answer.spatial_mapping is not None
        other = copy_with(case.spatial, {"spatial_mapping": answer.spatial_mapping})
        free = copy_with(other.problem, {"constraints": unordered(other)})
        every = [
            evaluate(other, batch.row(i))
            for batch in loma(copy_with(other, {"problem": free}), 6, MappingType.UNEVEN)
            for i in range(len(batch))
        ]
        assert (answer.latency, answer.energy) in [(x.latency, x.energy) for x in every]


def unordered(spatial: SpatialProblem) -> LayerConstraints:
    """The constraints without an ordering."""
    return LayerConstraints(links=spatial.problem.constraints.links)

"""An explanation says what the cost model says, to the last digit, and its parts add up."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestmap
from nestmap.costmodel.evaluate import evaluate
from nestmap.model import CostModelEvaluation, InputError, Loop, Relevance
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.explanation import (
    Bound,
    Change,
    EnergyKind,
    HandedOn,
    LatencyPart,
)
from nestmap.pipeline.explore.explanation import Explanation, explain
from nestmap.pipeline.render.tables.mapping import cost_table
from nestmap.pipeline.render.tables.network import binding_port
from tests.costmodel.test_hops import CASE, limited
from tests.costmodel.test_skipping import CASE as SKIPPING
from tests.costmodel.test_skipping import skipping
from tests.in_memory import imc_cases
from tests.leaking import leaking_cases
from tests.pipeline.render.text.read_explanation import loops, part
from tests.properties.variants import few_examples
from tests.strategies import Case, evaluated_cases

CASES = st.one_of(evaluated_cases(2**12), leaking_cases(2**12), imc_cases(2**10))


def explained(case: Case) -> tuple[CostModelEvaluation, Explanation]:
    """The cost of a mapping and its explanation."""
    cme = evaluate(case.spatial, case.temporal)
    return cme, explain(case.spatial, cme)


@few_examples
@given(CASES)
def test_the_latency_adds_up_exactly(case: Case) -> None:
    cme, found = explained(case)
    parts = {
        LatencyPart.IDEAL: cme.ideal_cycles,
        LatencyPart.IDLE_UNITS: cme.ideal_temporal_cycles - cme.ideal_cycles,
        LatencyPart.STALL: cme.stall,
        LatencyPart.ONLOADING: cme.onloading,
        LatencyPart.OFFLOADING: cme.offloading,
        LatencyPart.DRAIN: cme.drain,
    }
    assert {step.part: step.cycles for step in found.latency.steps} == parts
    assert sum(step.cycles for step in found.latency.steps) == cme.latency2
    assert found.latency.steps[-1].end == found.latency.total == cme.latency2


@few_examples
@given(CASES)
def test_the_energy_adds_up(case: Case) -> None:
    cme, found = explained(case)
    assert found.energy.total == cme.energy
    assert sum(x.energy for x in found.energy.parts) == pytest.approx(cme.energy, rel=1e-12)
    by_kind = {
        kind: sum(x.energy for x in found.energy.parts if x.kind is kind) for kind in EnergyKind
    }
    assert by_kind[EnergyKind.ARRAY] == cme.mac_energy
    assert by_kind[EnergyKind.MEMORY] == pytest.approx(cme.memory_energy, rel=1e-12)
    assert by_kind[EnergyKind.LEAKAGE] == cme.static_energy
    assert found.energy.array_parts == cme.array_energies
    assert found.energy.leaking == cme.static_energies


@few_examples
@given(CASES)
def test_ports_and_what_binds(case: Case) -> None:
    cme, found = explained(case)
    stalls = [(x.name.memory, x.name.port, x.stall) for x in found.ports]
    assert stalls == [(x.memory, x.port, x.stall) for x in cme.port_stalls]
    for port in found.ports:
        if len(port.transfers) == 1:
            (one,) = port.transfers
            assert port.stall == (one.needed - one.allowed) * (one.times - 1)
        for transfer in port.transfers:
            assert transfer.needed == -(-transfer.bits // port.width_max)
            assert port.name.memory in (transfer.source, transfer.target)
    binding = found.binding
    if cme.stall:
        worst = [x.name for x in found.ports if x.stall == max(y.stall for y in found.ports)]
        assert (binding.bound, binding.ports) == (Bound.PORT, tuple(worst))
        assert binding.cycles == cme.stall
    elif cme.onloading + cme.offloading:
        assert binding.bound is Bound.LOADING
        assert binding.cycles == cme.onloading + cme.offloading
        assert binding.ports
    else:
        assert (binding.bound, binding.ports) == (Bound.ARRAY, ())


def test_links_between_units_may_bind() -> None:
    cme, found = explained(limited(CASE, 1))
    binding = found.binding
    assert (binding.bound, binding.cycles, binding.ports) == (Bound.HOPS, cme.stall, ())
    assert binding.hops == (HandedOn(operand="O", memory="dram", busy=256),)
    (faster,) = (x for x in found.what_ifs if x.change is Change.HOPS)
    twice = limited(CASE, 2)
    assert faster.latency == evaluate(twice.spatial, twice.temporal).latency == 128
    text = " ".join(found.text().split())
    assert (
        f"The array waits {cme.stall} cycles (91.4%) for links between units: handing on O of dram "
        "keeps each busy for 256 cycles."
    ) in text
    assert "2x bandwidth between units 128 -50.0%" in text
    assert "latency -50.0% with 2x bandwidth between units." in text
    meanings = {row.texts[0]: row.texts[2] for row in cost_table(cme).rows}
    assert meanings["stall"] == "waiting for links between units that hand on O"
    assert binding_port(cme) == "links between units"


def test_skipped_steps_are_said() -> None:
    cme, found = explained(skipping(SKIPPING, {"I": 0.5}, ("I1",)))
    assert found.latency.cycles_of(LatencyPart.IDEAL) == 32
    assert found.latency.cycles_of(LatencyPart.IDLE_UNITS) == 56 - 32
    meanings = {row.texts[0]: row.texts[2] for row in cost_table(cme).rows}
    assert meanings["ideal"] == "all units of the array busy all the time; 8 more are skipped"


@few_examples
@given(CASES)
def test_tiles_are_those_of_the_mapping(case: Case) -> None:
    cme, found = explained(case)
    assert len(found.nest.tiles) == len(cme.levels)
    order, layer = case.temporal.order, case.spatial.layer
    for tile, entry in zip(found.nest.tiles, cme.levels, strict=True):
        assert (tile.operand, tile.memory, tile.level) == (entry.operand, entry.memory, entry.level)
        assert (tile.elements, tile.bits, tile.share) == (
            entry.elements,
            entry.bits,
            entry.utilization,
        )
        assert tile.share == tile.bits / tile.capacity
        assert tile.cut == case.temporal.cuts_of(tile.operand)[tile.level]
        stays = tile.cut
        while stays < len(order) and (
            layer.relevance(tile.operand, order[stays].dimension) is Relevance.IRRELEVANT
        ):
            stays += 1
        assert tile.stays == stays
        inner = prod(loop.size for loop in order[: tile.stays])
        assert tile.fills * inner == case.temporal.cycles


@few_examples
@given(CASES)
def test_the_loops_of_the_text_are_those_of_the_mapping(case: Case) -> None:
    _, found = explained(case)
    lines = part(found.text(), "LOOP NEST")
    nest = loops(lines)
    order = case.temporal.order
    assert [loop for loop, side in nest if side is None] == list(order[::-1])
    unrolled = [
        (loop, side.name)
        for side in case.spatial.accelerator.array.sides
        for loop in case.spatial.spatial_mapping.on(side.name)
        if loop.size > 1
    ]
    assert nest[len(order) :] == unrolled
    depths = [len(line) - len(line.lstrip()) for line in lines if not line.strip().startswith("#")]
    assert depths == list(range(0, 2 * len(depths), 2))
    for tile in found.nest.tiles:
        starts = f"{'  ' * (len(order) - tile.stays)}# {tile.memory}"
        assert any(line.startswith(starts) and f" {tile.operand} " in line for line in lines)


@few_examples
@given(CASES)
def test_json_keeps_every_digit(case: Case) -> None:
    cme, found = explained(case)
    again = Explanation.model_validate_json(found.model_dump_json())
    assert again == found
    assert again.cme == cme


@few_examples
@given(evaluated_cases(2**12))
def test_names_cannot_move_the_cursor(case: Case) -> None:
    bad = 'a\x1b[2J\r\n"<b>\u202e'
    layer = copy_with(case.spatial.layer, {"name": bad, "operator": bad})
    machine = case.spatial.accelerator
    memories = tuple(
        copy_with(x, {"instance": copy_with(x.instance, {"name": f"{bad}{i}"})})
        for i, x in enumerate(machine.memories)
    )
    machine = copy_with(machine, {"name": bad, "memories": memories})
    problem = copy_with(case.spatial.problem, {"layer": layer, "accelerator": machine})
    spatial = copy_with(case.spatial, {"problem": problem})
    _, found = explained(Case(spatial, case.temporal))
    assert all(line.text.isprintable() for line in found.lines())
    assert found.layer == bad


@few_examples
@given(evaluated_cases(2**12), st.integers(-5, 60))
def test_sentences_keep_to_the_width(case: Case, width: int) -> None:
    _, found = explained(case)
    lines = found.text(width).splitlines()
    why = lines[lines.index("WHY") + 1 : lines.index("LOOP NEST")]
    assert max(map(len, why)) <= max(20, width)
    assert "".join(found.text(width).split()) == "".join(found.text().split())


@few_examples
@given(evaluated_cases(2**12))
def test_an_evaluation_of_something_else_is_refused(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    with pytest.raises(InputError, match="was not made for this problem"):
        explain(case.spatial, copy_with(cme, {"stall": cme.stall + 1}))


def test_the_facade_has_it() -> None:
    assert nestmap.explain is explain
    assert nestmap.Explanation is Explanation
    assert Loop(dimension="K", size=2) in [loop for loop, _ in loops(["  for K in [0:2):"])]


@few_examples
@given(CASES)
def test_equal_spatial_mappings_are_counted(case: Case) -> None:
    _, found = explained(case)
    first = " ".join(found.text(10_000).split("WHY")[0].split())
    if found.equals == 1:
        assert first.endswith("; 1 other spatial mapping costs the same")
    else:
        assert (f"; {found.equals} other spatial mappings cost the same" in first) is (
            found.equals > 1
        )

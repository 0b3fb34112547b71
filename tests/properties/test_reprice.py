"""What repricing gives is what evaluating again gives, to the last digit."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    IMC_CELLS,
    Accelerator,
    InputError,
    LayerResult,
    MemoryLevel,
    NetworkEvaluation,
    Objective,
    OperationalArray,
    SpatialProblem,
    Tensor,
    TopLevel,
    VectorNode,
    VectorUnit,
    without_unused_levels,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.reprice import Standing, compare_standing, reprice_results
from tests.in_memory import imc_cases
from tests.leaking import PERIODS, POWERS, leaking, leaking_cases
from tests.properties.variants import examples, few_examples, with_accelerator
from tests.strategies import Case, energies, evaluated_cases, spatial_problems, temporal_mappings

NODE = VectorNode(
    name="relu",
    operator="Relu",
    iterations=(7, 5),
    inputs=(Tensor(name="x", sizes=(7, 5), precision=8),),
    outputs=(Tensor(name="y", sizes=(7, 5), precision=16),),
)
AREAS = st.sampled_from((0.0, 0.1, 3.3))


@st.composite
def repriced_memories(draw: st.DrawFn, memories: tuple[MemoryLevel, ...]) -> list[MemoryLevel]:
    """The memories with other energies, areas and, perhaps, names of themselves and their ports."""
    renamed = draw(st.booleans())
    levels: list[MemoryLevel] = []
    for i, level in enumerate(memories):
        instance = level.instance
        updates: dict[str, object] = {
            "name": f"n{i}" if renamed and instance.name != IMC_CELLS else instance.name,
            "read_energy": draw(energies()),
            "write_energy": draw(energies()),
            "area": draw(AREAS),
            "leakage": draw(POWERS),
            "ports": tuple(
                copy_with(port, {"name": f"p{j}" if renamed else port.name})
                for j, port in enumerate(instance.ports)
            ),
        }
        levels.append(copy_with(level, {"instance": copy_with(instance, updates)}))
    return levels


@st.composite
def other_array(draw: st.DrawFn, before: OperationalArray) -> OperationalArray:
    """The array with other prices; one that computes in memory has none but its leakage."""
    if before.imc is not None:
        return copy_with(before, {"unit_leakage": draw(POWERS)})
    prices: dict[str, object] = {"unit_energy": draw(energies()), "unit_area": draw(AREAS)}
    if before.clock_period is not None:
        prices |= {"unit_leakage": draw(POWERS), "clock_period": draw(PERIODS)}
    return copy_with(before, prices)


@st.composite
def other_prices(draw: st.DrawFn, before: Accelerator) -> Accelerator:
    """The accelerator with all energies, areas and its name drawn anew."""
    array = draw(other_array(before.array))
    memories = draw(repriced_memories(before.memories))
    names = {a.name: b.name for a, b in zip(before.memories, memories, strict=True)}
    unit = before.vector_unit
    if unit:
        prices: dict[str, object] = {"operation_energy": draw(energies()), "area": draw(AREAS)}
        unit = copy_with(unit, {**prices, "memory": names[unit.memory] if unit.memory else None})
    has_clock = array.imc is not None or array.clock_period is not None
    updates: dict[str, object] = {
        "counts_leakage": has_clock and draw(st.booleans()),
        "name": draw(st.sampled_from((before.name, "other"))),
        "array": array,
        "memories": tuple(memories),
        "vector_unit": unit,
    }
    return copy_with(before, updates)


@st.composite
def kept_on_chip(draw: st.DrawFn, spatial: SpatialProblem) -> tuple[TopLevel, ...]:
    """A top memory for each operand of the layer."""
    problem = spatial.problem
    return tuple(
        TopLevel(
            operand=carried,
            memory=draw(st.sampled_from([level.name for level in problem.levels(operand)])),
        )
        for operand, carried in problem.links.items()
    )


@examples
@given(evaluated_cases() | leaking_cases() | imc_cases(), st.data())
def test_repricing_is_evaluating_again(case: Case, data: st.DataObject) -> None:
    before = case.spatial.accelerator
    after = data.draw(other_prices(before))
    found = NetworkEvaluation(layers=(LayerResult(cme=evaluate(case.spatial, case.temporal)),))
    expected = evaluate(with_accelerator(case.spatial, after), case.temporal)
    (result,) = reprice_results(found, before, after).layers
    assert result.cme == expected
    assert result.cme.model_dump_json() == expected.model_dump_json()


@examples
@given(spatial_problems(), st.data())
def test_layers_whose_data_stays_on_chip(spatial: SpatialProblem, data: st.DataObject) -> None:
    before = data.draw(st.just(spatial.accelerator) | leaking(spatial.accelerator))
    after = data.draw(other_prices(before))
    tops = data.draw(kept_on_chip(spatial))
    names = {a.name: b.name for a, b in zip(before.memories, after.memories, strict=True)}
    new_tops = [TopLevel(operand=top.operand, memory=names[top.memory]) for top in tops]
    used = with_accelerator(spatial, without_unused_levels(before, tops))
    temporal = data.draw(temporal_mappings(used))
    again = with_accelerator(spatial, without_unused_levels(after, new_tops))
    found = NetworkEvaluation(layers=(LayerResult(cme=evaluate(used, temporal)),))
    (result,) = reprice_results(found, before, after).layers
    assert result.cme == evaluate(again, temporal)


@few_examples
@given(evaluated_cases(most_macs=64) | leaking_cases(most_macs=64), st.data())
def test_vector_operators(case: Case, data: st.DataObject) -> None:
    before, temporal = case.spatial.accelerator, case.temporal
    holding = [level.name for level in before.levels_of("O")]
    memory = data.draw(st.sampled_from([None, *holding]))
    lanes = data.draw(st.integers(1, 9))
    unit = VectorUnit(lanes=lanes, operation_energy=1.5, memory=memory, area=2.0)
    if data.draw(st.booleans()):
        before = copy_with(before, {"vector_unit": unit})
    after = data.draw(other_prices(before))
    spatial = with_accelerator(case.spatial, before)
    found = NetworkEvaluation(
        layers=(LayerResult(cme=evaluate(spatial, temporal)),),
        vector=(evaluate_vector(NODE, before),),
        vector_counted=data.draw(st.booleans()),
    )
    expected = NetworkEvaluation(
        layers=(LayerResult(cme=evaluate(with_accelerator(spatial, after), temporal)),),
        vector=(evaluate_vector(NODE, after),),
        vector_counted=found.vector_counted,
    )
    assert reprice_results(found, before, after) == expected
    assert reprice_results(expected, after, before) == found


@examples
@given(evaluated_cases(most_macs=64), st.data())
def test_an_evaluation_of_another_size_of_memory_is_refused(
    case: Case, data: st.DataObject
) -> None:
    before = case.spatial.accelerator
    found = NetworkEvaluation(layers=(LayerResult(cme=evaluate(case.spatial, case.temporal)),))
    used = {level.memory for level in found.layers[0].cme.levels}
    position = data.draw(st.integers(0, len(before.memories) - 1))
    memories = list(before.memories)
    level = memories[position]
    assume(level.name in used)
    instance = copy_with(level.instance, {"size": level.instance.size * 2})
    memories[position] = copy_with(level, {"instance": instance})
    other = copy_with(before, {"memories": tuple(memories)})
    with pytest.raises(InputError, match="layer layer: found an evaluation that was not made for"):
        reprice_results(found, other, other)


@examples
@given(
    evaluated_cases(most_macs=64) | leaking_cases(most_macs=64),
    st.data(),
    st.sampled_from((0.5, 1.0, 3.0)),
)
def test_the_order_of_mappings_stays_where_that_is_said(
    case: Case, data: st.DataObject, factor: float
) -> None:
    before = case.spatial.accelerator
    unit_factor = data.draw(st.sampled_from((factor, 7.0)))
    after = scaled(before, factor, unit_factor)
    other = data.draw(temporal_mappings(case.spatial))
    pair = [evaluate(case.spatial, x) for x in (case.temporal, other)]
    results = tuple(LayerResult(cme=cme) for cme in pair)
    one, two = (
        x.cme for x in reprice_results(NetworkEvaluation(layers=results), before, after).layers
    )
    for objective in Objective:
        first, second = (objective.of(cme) for cme in pair)
        if compare_standing(objective, before, after) is Standing.BEST and first < second * (
            1 - 1e-6
        ):
            assert objective.of(one) < objective.of(two)
    assert (one.latency, two.latency) == (pair[0].latency, pair[1].latency)


def scaled(machine: Accelerator, factor: float, unit_factor: float) -> Accelerator:
    """The machine with energies times a factor, that of the array times another one."""
    memories: list[MemoryLevel] = []
    for level in machine.memories:
        instance = level.instance
        updates: dict[str, object] = {
            "read_energy": instance.read_energy * factor,
            "write_energy": instance.write_energy * factor,
        }
        memories.append(copy_with(level, {"instance": copy_with(instance, updates)}))
    array = copy_with(machine.array, {"unit_energy": machine.array.unit_energy * unit_factor})
    return copy_with(machine, {"array": array, "memories": tuple(memories)})

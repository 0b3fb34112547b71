"""Repricing: the costs of known mappings under other energies; what it refuses; what stays best."""

from typing import Final

import pytest

from nestmap.costmodel import evaluate as report
from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import (
    Accelerator,
    ArraySide,
    ImcKind,
    InputError,
    LayerResult,
    MappingType,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    OperationalArray,
    PortKind,
    VectorUnit,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.accelerator_diff import Difference, differences
from nestmap.pipeline.explore.api import explore, explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.explore.reprice import Standing, compare_standing, reprice_results
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.render.yaml.mapping import found_mapping
from nestmap.search import best_of, loma
from nestmap.search.spatial.weight_diagonal import weight_diagonal
from tests.bundled import bundled_network
from tests.costmodel.machines import convolution, machine, mapped, matmul, memory
from tests.loma import LOMA_PLAN, with_loma
from tests.search.cells import array_of_cells
from tests.zeros import bitmask, run_length


def with_instance(
    accelerator: Accelerator, position: int, updates: dict[str, object]
) -> Accelerator:
    """The accelerator with other values of one memory."""
    level = accelerator.memories[position]
    instance = copy_with(level.instance, updates)
    return with_level(accelerator, position, {"instance": instance})


def with_level(accelerator: Accelerator, position: int, updates: dict[str, object]) -> Accelerator:
    """The accelerator with another place of one memory in the hierarchy."""
    memories = list(accelerator.memories)
    memories[position] = copy_with(memories[position], updates)
    return copy_with(accelerator, {"memories": tuple(memories)})


def with_array(accelerator: Accelerator, updates: dict[str, object]) -> Accelerator:
    """The accelerator with another array."""
    return copy_with(accelerator, {"array": copy_with(accelerator.array, updates)})


IDLE: Final = MemoryPort(name="idle", kind=PortKind.READ, width_min=8, width_max=8, allocation=())
_REGISTER: Final = memory("register", size=64, operands="I2", width=64)
PORT: Final = _REGISTER.instance.ports[0]
MACHINE: Final = copy_with(
    with_instance(
        machine(
            _REGISTER,
            memory("buffer", size=2**16, operands="I1 O", served="D1 D2", width=64),
            memory("top", served="D1 D2", width=64),
            sides={"D1": 4, "D2": 2},
        ),
        0,
        {"ports": (PORT, IDLE)},
    ),
    {"vector_unit": VectorUnit(lanes=4, operation_energy=0.3, memory="top", area=1.0)},
)
LAYER: Final = copy_with(matmul(k=8, c=12), {"name": "first"})
NETWORK: Final = NetworkProblem(
    workload=Workload.of(LAYER, copy_with(LAYER, {"name": "again"}), name="net"),
    accelerator=MACHINE,
)


@pytest.fixture(scope="module")
def found() -> NetworkEvaluation:
    """Two layers, of which the second one repeats the first."""
    return explore_network(NETWORK, SearchPlan.of(with_loma(objective="energy", lpf_limit=3))).total


def other_prices(before: Accelerator) -> Accelerator:
    """The accelerator with all energies and areas changed, each in its own way.

    An IMC array has none of its own: what it takes follows from its circuits.
    """
    units: dict[str, object] = {
        "unit_energy": before.array.unit_energy * 1.7 + 0.1,
        "unit_area": 0.3,
    }
    after = with_array(before, {} if before.array.imc else units)
    for i, level in enumerate(before.memories):
        instance = level.instance
        after = with_instance(
            after,
            i,
            {
                "read_energy": instance.read_energy * 0.9 + 0.7 / (i + 1),
                "write_energy": instance.write_energy * 1.1 + 0.3 * i,
                "area": instance.area + 0.1,
            },
        )
    return copy_with(after, {"name": "other"})


@pytest.mark.parametrize("keep_on_chip", [False, True])
@pytest.mark.parametrize("name", accelerator_names())
def test_bundled_accelerators_are_repriced_as_replayed(name: str, keep_on_chip: bool) -> None:
    before = read_accelerator(name)
    after = other_prices(before)
    network = bundled_network("light:alexnet")
    exploration = explore(
        network,
        name,
        search="loma",
        spatial_mappings=3,
        lpf_limit=3,
        keep_on_chip=keep_on_chip,
        count_vector=True,
    )
    mapping = found_mapping(exploration.total)
    again = copy_with(replay(network, after, mapping), {"vector_counted": True})
    result = reprice_results(exploration.total, before, after)
    assert [x.cme for x in result.layers] == [x.cme for x in again.layers]
    assert result.vector == again.vector
    assert (result.energy, result.latency) == (again.energy, again.latency)
    assert result.evaluations == exploration.total.evaluations


def test_repeated_layers_stay_repeated(found: NetworkEvaluation) -> None:
    assert [x.repeats for x in found.layers] == [None, "first"]
    first, again = reprice_results(found, MACHINE, other_prices(MACHINE)).layers
    assert again.repeats == "first"
    assert copy_with(again.cme, {"layer": "first"}) == first.cme != found.layers[0].cme


def test_no_mapping_is_evaluated(found: NetworkEvaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise AssertionError("a mapping was evaluated")

    for name in ("evaluate", "evaluate_batch", "evaluate_row", "evaluate_rows", "flatten"):
        monkeypatch.setattr(report, name, fail)
    with pytest.raises(AssertionError, match="evaluated"):
        explore_network(NETWORK, LOMA_PLAN)
    assert reprice_results(found, MACHINE, other_prices(MACHINE)).energy > 0


def test_there_and_back(found: NetworkEvaluation) -> None:
    after = other_prices(MACHINE)
    there = reprice_results(found, MACHINE, after)
    assert there.energy != found.energy
    again, same = reprice_results(there, after, MACHINE), reprice_results(found, MACHINE, MACHINE)
    assert again == without_bounds(found) == same


def without_bounds(found: NetworkEvaluation) -> NetworkEvaluation:
    """The results without their bounds, which other energies may change."""
    layers = tuple(
        copy_with(x, {"bound": None, "statistics": copy_with(x.statistics, {"bounds": None})})
        for x in found.layers
    )
    return copy_with(found, {"layers": layers})


@pytest.mark.parametrize("objective", Objective)
def test_only_the_bound_of_the_latency_holds_under_other_energies(objective: Objective) -> None:
    found = explore_network(NETWORK, SearchPlan.of(with_loma(objective=objective, lpf_limit=3)))
    for before, after in zip(
        found.total.layers,
        reprice_results(found.total, MACHINE, other_prices(MACHINE)).layers,
        strict=True,
    ):
        assert before.bound is not None
        assert after.bound == (before.bound if objective is Objective.LATENCY else None)
        assert after.statistics.bounds is None


def with_port(updates: dict[str, object]) -> Accelerator:
    """The accelerator whose register has another first port."""
    return with_instance(MACHINE, 0, {"ports": (copy_with(PORT, updates), IDLE)})


REFUSED: Final = {
    "memory size": (
        with_instance(MACHINE, 0, {"size": 128}),
        Difference(where="memory register", field="size", before="64", after="128"),
    ),
    "memory latency": (
        with_instance(MACHINE, 1, {"latency": 3}),
        Difference(where="memory buffer", field="latency", before="1", after="3"),
    ),
    "double buffering": (
        with_instance(MACHINE, 1, {"double_buffered": True}),
        Difference(where="memory buffer", field="double_buffered", before="False", after="True"),
    ),
    "ports": (
        with_instance(MACHINE, 0, {"ports": (PORT,)}),
        Difference(where="memory register", field="ports", before="port_I2, idle", after="port_I2"),
    ),
    "port width": (
        with_port({"width_max": 99}),
        Difference(
            where="memory register, port port_I2", field="width_max", before="64", after="99"
        ),
    ),
    "port narrowest": (
        with_port({"width_min": 9}),
        Difference(
            where="memory register, port port_I2", field="width_min", before="64", after="9"
        ),
    ),
    "port kind": (
        with_instance(MACHINE, 0, {"ports": (PORT, copy_with(IDLE, {"kind": PortKind.WRITE}))}),
        Difference(where="memory register, port idle", field="kind", before="read", after="write"),
    ),
    "port allocation": (
        with_port({"allocation": tuple(reversed(PORT.allocation))}),
        Difference(
            where="memory register, port port_I2",
            field="allocation",
            before="I2, tl, I2, fh",
            after="I2, fh, I2, tl",
        ),
    ),
    "served dimensions": (
        with_level(MACHINE, 0, {"served_dimensions": ("D1",)}),
        Difference(where="memory register", field="served_dimensions", before="none", after="D1"),
    ),
    "operands": (
        with_level(MACHINE, 2, {"operands": ("I2", "I1", "O")}),
        Difference(where="memory top", field="operands", before="I1, I2, O", after="I2, I1, O"),
    ),
    "another memory": (
        copy_with(MACHINE, {"memories": (*MACHINE.memories[:2], memory("x"), MACHINE.memories[2])}),
        Difference(
            where="",
            field="memories",
            before="register, buffer, top",
            after="register, buffer, x, top",
        ),
    ),
    "renamed and larger": (
        with_instance(MACHINE, 0, {"name": "rf", "size": 128}),
        Difference(where="memory register (now rf)", field="size", before="64", after="128"),
    ),
    "array size": (
        with_array(
            MACHINE, {"sides": (ArraySide(name="D1", size=4), ArraySide(name="D2", size=3))}
        ),
        Difference(where="array, dimension D2", field="size", before="2", after="3"),
    ),
    "array dimensions": (
        with_array(MACHINE, {"sides": (*MACHINE.array.sides, ArraySide(name="D3", size=2))}),
        Difference(where="array", field="sides", before="D1, D2", after="D1, D2, D3"),
    ),
    "systolic": (
        with_array(MACHINE, {"systolic_dimensions": ("D1",)}),
        Difference(where="array", field="systolic_dimensions", before="none", after="D1"),
    ),
    "bit-serial": (
        with_array(MACHINE, {"cycles_per_operation": 2.0}),
        Difference(where="array", field="cycles_per_operation", before="1.0", after="2.0"),
    ),
    "inputs read again": (
        with_array(MACHINE, {"holds_inputs": False}),
        Difference(where="array", field="holds_inputs", before="True", after="False"),
    ),
    "window reuse": (
        with_instance(MACHINE, 1, {"window_reuse": True}),
        Difference(where="memory buffer", field="window_reuse", before="False", after="True"),
    ),
    "compression": (
        with_level(MACHINE, 2, {"compression": (bitmask("I1"), run_length("O", 5))}),
        Difference(
            where="memory top",
            field="compression",
            before="none",
            after="I1 bitmask, O run_length 5",
        ),
    ),
    "gating": (
        with_array(MACHINE, {"zero_gating": ("I1",)}),
        Difference(where="array", field="zero_gating", before="none", after="I1"),
    ),
    "skipping": (
        with_array(MACHINE, {"zero_skipping": ("I1",)}),
        Difference(where="array", field="zero_skipping", before="none", after="I1"),
    ),
    "hops": (
        with_array(MACHINE, {"hop_energy": 0.5}),
        Difference(where="array", field="hop_energy", before="0.0", after="0.5"),
    ),
    "links": (
        with_array(MACHINE, {"hop_bandwidth": 8}),
        Difference(where="array", field="hop_bandwidth", before="none", after="8"),
    ),
    "first sums": (
        copy_with(MACHINE, {"free_first_sum": True}),
        Difference(where="", field="free_first_sum", before="False", after="True"),
    ),
    "strict ports": (
        copy_with(MACHINE, {"strict_ports": True}),
        Difference(where="", field="strict_ports", before="False", after="True"),
    ),
    "lanes": (
        copy_with(MACHINE, {"vector_unit": VectorUnit(lanes=5, operation_energy=9.0)}),
        Difference(where="vector unit", field="lanes", before="4", after="5"),
    ),
    "vector memory": (
        copy_with(
            MACHINE, {"vector_unit": VectorUnit(lanes=4, operation_energy=1.0, memory="buffer")}
        ),
        Difference(where="vector unit", field="memory", before="top", after="buffer"),
    ),
    "no vector unit": (
        copy_with(MACHINE, {"vector_unit": None}),
        Difference(where="", field="vector_unit", before="one of 4 lanes", after="none"),
    ),
}


@pytest.mark.parametrize(("after", "difference"), REFUSED.values(), ids=REFUSED)
def test_anything_else_needs_a_new_search(
    found: NetworkEvaluation, after: Accelerator, difference: Difference
) -> None:
    assert differences(MACHINE, after) == (difference,)
    told = f"accelerator machine: found {difference}; expected an accelerator that "
    with pytest.raises(InputError) as refused:
        reprice_results(found, MACHINE, after)
    assert str(refused.value).startswith(told)
    assert "a new search is needed" in str(refused.value)
    with pytest.raises(InputError, match="new search"):
        compare_standing(Objective.LATENCY, MACHINE, after)


def test_the_text_names_memory_field_and_both_values() -> None:
    assert str(REFUSED["port width"][1]) == (
        "memory register, port port_I2: width_max 99 instead of 64"
    )
    assert str(REFUSED["another memory"][1]).startswith("memories register, buffer, x, top ")


def test_every_field_but_prices_and_names_is_looked_at() -> None:
    parts = (
        Accelerator,
        ArraySide,
        MemoryInstance,
        MemoryLevel,
        MemoryPort,
        OperationalArray,
        VectorUnit,
    )
    fields = {field for part in parts for field in part.model_fields}
    told = {difference.field for _, difference in REFUSED.values()}
    prices = {"unit_energy", "read_energy", "write_energy", "operation_energy"}
    leakage = {"leakage", "unit_leakage", "clock_period", "counts_leakage", "unused_leakage"}
    others = {"name", "area", "unit_area", "area_unit", "array", "instance", "imc", "counting"}
    assert fields - told == others | prices | leakage


@pytest.mark.parametrize(
    ("machine", "field", "before", "after"),
    [
        ("dimc", "kind", "digital", ImcKind.ANALOG),
        ("dimc", "activation_precision", "8", 16),
        ("dimc", "weight_precision", "8", 4),
        ("dimc", "bit_serial_precision", "1", 2),
        ("aimc", "adc_resolution", "8", 9),
        ("aimc", "technology", "28.0", 22.0),
        ("aimc", "supply_voltage", "0.9", 0.8),
    ],
)
def test_other_circuits_of_an_array_that_computes_in_memory_are_a_difference(
    machine: str, field: str, before: str, after: object
) -> None:
    old = read_accelerator(machine)
    assert old.array.imc is not None
    new = with_array(old, {"imc": copy_with(old.array.imc, {field: after})})
    expected = Difference(where="array", field=field, before=before, after=str(after))
    assert differences(old, new) == (expected,)


def test_an_array_that_computes_in_memory_is_another_one_than_a_plain_one() -> None:
    before = read_accelerator("dimc")
    after = with_array(before, {"imc": None})
    assert differences(before, after) == (
        Difference(where="array", field="imc", before="digital", after="none"),
    )


def test_of_many_differences_five_are_told(found: NetworkEvaluation) -> None:
    after = with_array(MACHINE, {"cycles_per_operation": 2.0, "holds_inputs": False})
    for i in range(3):
        after = with_instance(after, i, {"latency": 7, "double_buffered": True})
    assert len(differences(MACHINE, after)) == 8
    with pytest.raises(InputError, match="; 3 more differences; expected an accelerator"):
        reprice_results(found, MACHINE, after)


def test_renaming_memories_and_ports_is_no_difference(found: NetworkEvaluation) -> None:
    after = copy_with(with_port({"name": "p"}), {"vector_unit": None})
    for i, name in enumerate(("rf", "sram", "dram")):
        after = with_instance(after, i, {"name": name})
    unit = VectorUnit(lanes=4, operation_energy=0.3, memory="dram", area=1.0)
    after = copy_with(after, {"vector_unit": unit})
    (first, _) = reprice_results(found, MACHINE, after).layers
    assert {level.memory for level in first.cme.levels} == {"rf", "sram", "dram"}
    assert [x.port for x in first.cme.port_stalls][:2] == ["p", "idle"]
    assert first.cme.energy == found.layers[0].cme.energy
    unnamed = copy_with(after, {"vector_unit": copy_with(unit, {"memory": None})})
    assert differences(MACHINE, unnamed) == ()  # it is the outermost one for outputs


def test_the_wider_registers_of_weight_diagonal_mappings_are_refused() -> None:
    accelerator = array_of_cells(64, 32)
    wide = convolution({"K": 16, "C": 4, "OX": 24, "FX": 3})
    spatial = weight_diagonal(mapped(wide, accelerator, {"D1": "K 16", "D2": "FX 3"}))
    assert spatial.accelerator != accelerator
    batch = best_of(map(evaluate_batch, loma(spatial, 3, MappingType.UNEVEN)), Objective.ENERGY)
    cme = evaluate(spatial, batch.mappings.row(0))
    total = NetworkEvaluation(layers=(LayerResult(cme=cme),))
    told = "layer layer: found an evaluation that was not made for .* as it is"
    with pytest.raises(InputError, match=told):
        reprice_results(total, accelerator, other_prices(accelerator))
    free = accelerator  # without energies it shows in the sizes alone
    for i in range(len(free.memories)):
        free = with_instance(free, i, {"read_energy": 0.0, "write_energy": 0.0})
    spatial = weight_diagonal(mapped(wide, free, {"D1": "K 16", "D2": "FX 3"}))
    total = NetworkEvaluation(layers=(LayerResult(cme=evaluate(spatial, batch.mappings.row(0))),))
    with pytest.raises(InputError, match=told):
        reprice_results(total, free, accelerator)


WRONG: Final = {
    "energy": {"memory_energy": 1.0},
    "array's energy": {"mac_energy": 1.0},
    "name": {"accelerator": "another"},
    "area": {"area": 1e6},
    "no links": {"links": ()},
}


@pytest.mark.parametrize("updates", WRONG.values(), ids=WRONG)
def test_what_was_not_made_for_the_accelerator_is_refused(
    found: NetworkEvaluation, updates: dict[str, object]
) -> None:
    result = found.layers[0]
    wrong = copy_with(result, {"cme": copy_with(result.cme, updates)})
    total = copy_with(found, {"layers": (wrong,)})
    with pytest.raises(InputError, match=r"layer first: .* a new search is needed"):
        reprice_results(total, MACHINE, MACHINE)


def test_what_was_made_for_other_memories_is_refused(found: NetworkEvaluation) -> None:
    last = MACHINE.memories[2]
    fewer = copy_with(MACHINE, {"memories": (last,)})
    swapped = copy_with(MACHINE, {"memories": (*MACHINE.memories[1::-1], last)})
    other_ports = with_instance(MACHINE, 0, {"ports": (PORT,)})
    more = copy_with(MACHINE, {"memories": (*MACHINE.memories[:2], memory("x"), last)})
    for made_for in (fewer, swapped, other_ports, more):
        with pytest.raises(InputError, match="not made for accelerator machine"):
            reprice_results(found, made_for, made_for)


def scaled(memories: float, array: float) -> Accelerator:
    """The accelerator with the energies of its memories and of its array times a factor."""
    after = with_array(MACHINE, {"unit_energy": MACHINE.array.unit_energy * array})
    for i, level in enumerate(MACHINE.memories):
        instance = level.instance
        after = with_instance(
            after,
            i,
            {
                "read_energy": instance.read_energy * memories,
                "write_energy": instance.write_energy * memories,
            },
        )
    return after


BEST, TIES, UNKNOWN = Standing.BEST, Standing.BEST_BUT_FOR_TIES, Standing.UNKNOWN
UNIT: Final = VectorUnit(lanes=4, operation_energy=7.0, memory="top", area=9.0)
STANDINGS: Final = {
    "nothing": (MACHINE, (BEST, BEST, BEST)),
    "the name": (copy_with(MACHINE, {"name": "x"}), (BEST, BEST, BEST)),
    "an area": (with_instance(MACHINE, 0, {"area": 2.0}), (BEST, BEST, BEST)),
    "the vector unit": (copy_with(MACHINE, {"vector_unit": UNIT}), (BEST, BEST, BEST)),
    "all energies": (scaled(1.3, 1.3), (BEST, BEST, BEST)),
    "the array": (scaled(1, 2), (BEST, BEST, UNKNOWN)),
    "the memories": (scaled(0.7, 1), (BEST, BEST, UNKNOWN)),
    "one memory": (with_instance(MACHINE, 0, {"read_energy": 1.5}), (TIES, UNKNOWN, UNKNOWN)),
    "a free memory": (with_instance(MACHINE, 0, {"read_energy": 0.0}), (TIES, UNKNOWN, UNKNOWN)),
    "free memories": (scaled(0, 1), (TIES, UNKNOWN, UNKNOWN)),
}


@pytest.mark.parametrize(("after", "expected"), STANDINGS.values(), ids=STANDINGS)
def test_what_is_known_of_the_mappings_when_changing(
    after: Accelerator, expected: tuple[Standing, Standing, Standing]
) -> None:
    objectives = (Objective.LATENCY, Objective.ENERGY, Objective.EDP)
    assert (
        tuple(compare_standing(objective, MACHINE, after) for objective in objectives) == expected
    )


def test_another_mapping_may_be_better_under_other_energies(found: NetworkEvaluation) -> None:
    """Why there is more to say than the new energies."""
    after = with_instance(MACHINE, 1, {"read_energy": 50.0, "write_energy": 50.0})
    network = copy_with(NETWORK, {"accelerator": after})
    searched = explore_network(
        network, SearchPlan.of(with_loma(objective="energy", lpf_limit=3))
    ).total
    assert searched.energy < reprice_results(found, MACHINE, after).energy
    assert compare_standing(Objective.ENERGY, MACHINE, after) is UNKNOWN

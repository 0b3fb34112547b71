"""Keys: what decides a result is part of them, whatever it is, and nothing else is."""

from itertools import islice
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    Accelerator,
    AffineIndex,
    ArraySide,
    Dataflow,
    Frozen,
    ImcKind,
    InMemoryCompute,
    InputOperand,
    Layer,
    LayerConstraints,
    MappingProblem,
    MappingType,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    Objective,
    OperandLink,
    OperationalArray,
    OrderedLoop,
    OutputOperand,
    PinnedLevels,
    PinnedMemory,
    PortKind,
    PortUse,
    Reserved,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Term,
    TopLevel,
    Unrolling,
    UnrollingHint,
    VectorUnit,
)
from nestmap.model.base import copy_with
from nestmap.model.units import AreaUnit
from nestmap.pipeline.explore import keys
from nestmap.pipeline.explore.keys import evaluation_key, search_key
from nestmap.pipeline.stages import LomaStage, SalsaStage
from tests.costmodel.machines import loops, ordered
from tests.leaves import Changed, Field, changed, untouched
from tests.strategies import spatial_problems, temporal_mappings
from tests.sweeps import some_of
from tests.zeros import run_length

# A problem in which every field is set and every tuple has items. What is called Q9 or OTHER is
# referred to by nothing, so that it can be renamed, and so that other names can become it.


def index(*terms: Term) -> AffineIndex:
    return AffineIndex(terms=terms, name="N", size=7, padding=(1, 2))


def uses(text: str) -> tuple[PortUse, ...]:
    """``"O tl I1 fh"`` as duties of a port."""
    words = text.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return tuple(PortUse(operand=x, movement=Movement(m)) for x, m in pairs)


def memory(name: str, operands: str, allocation: str) -> MemoryLevel:
    """A memory with an idle port beside the one that does everything."""
    ports = (("busy", PortKind.READ_WRITE, allocation), ("idle", PortKind.READ, ""))
    instance = MemoryInstance(
        name=name,
        size=2**20,
        read_energy=1.5,
        write_energy=2.5,
        area=0.25,
        leakage=0.125,
        latency=2,
        ports=tuple(
            MemoryPort(name=x, kind=kind, width_min=8, width_max=64, allocation=uses(text))
            for x, kind, text in ports
        ),
        double_buffered=True,
        window_reuse=True,
    )
    return MemoryLevel(
        instance=instance,
        operands=tuple(operands.split()),
        served_dimensions=("D1", "D2"),
        compression=(run_length("I1", 5),) if "OTHER" in operands else (),
    )


LAYER: Final = Layer(
    name="layer",
    operator="Conv",
    loops=loops("K 8 OX 6 FX 3 Q9 2"),
    output=OutputOperand(
        name="O",
        indices=(index(Term(dimension="K")), index(Term(dimension="OX"))),
        precision=8,
        partial_precision=24,
        density=0.5,
    ),
    inputs=(
        InputOperand(
            name="W",
            indices=(index(Term(dimension="K")), index(Term(dimension="FX"))),
            precision=4,
            source="before",
            constant=True,
            density=0.25,
            other_source="another",
        ),
        InputOperand(
            name="I",
            indices=(
                index(Term(dimension="OX", coefficient=2), Term(dimension="FX", coefficient=3)),
            ),
            precision=4,
            source="before",
            constant=True,
        ),
    ),
    unpadded=loops("OX 1"),
    alias="theirs",
)
ACCELERATOR: Final = Accelerator(
    name="machine",
    array=OperationalArray(
        sides=tuple(ArraySide(name=x, size=8) for x in ("D1", "D2", "OTHER")),
        unit_energy=0.5,
        unit_area=0.125,
        systolic_dimensions=("D1", "D2"),
        cycles_per_operation=2.0,
        holds_inputs=False,
        zero_gating=("I1",),
        zero_skipping=("I2",),
        hop_energy=0.25,
        hop_bandwidth=16,
        unit_leakage=0.01,
        clock_period=2.0,
    ),
    memories=(
        memory("register", "I1 I2 OTHER", "I1 tl I1 fh I2 tl I2 fh OTHER tl OTHER fh I1 tl"),
        memory("buffer", "I1 O", "I1 tl I1 fh O tl O fl O th O fh"),
        memory("OTHER", "I1 I2 O OTHER", "I1 tl I2 tl OTHER tl O tl O fl O tl"),
    ),
    vector_unit=VectorUnit(lanes=4, operation_energy=0.5, memory="buffer", area=0.5),
    counts_leakage=True,
    unused_leakage=0.5,
    area_unit=AreaUnit.MM2,
    free_first_sum=True,
    strict_ports=True,
)
UNROLLED: Final = SpatialMapping(
    unrollings=(
        Unrolling(array_dimension="D1", loops=loops("K 2 OX 2")),
        Unrolling(array_dimension="D2", loops=loops("OX 3")),
    )
)
CONSTRAINTS: Final = LayerConstraints(
    target="Conv",
    spatial_mapping=UNROLLED,
    spatial_hints=(UnrollingHint(array_dimension="D1", dimensions=("K", "OX")),),
    links=(
        OperandLink(operand="W", memory_operand="I2"),
        OperandLink(operand="I", memory_operand="I1"),
    ),
    temporal_ordering=(OrderedLoop(dimension="K", size=2), OrderedLoop(dimension="OX", size=2)),
    outer_ordering=(OrderedLoop(dimension="FX", size=3), OrderedLoop(dimension="K", size=2)),
    dataflow=Dataflow.WEIGHT_STATIONARY,
    memory_levels=(
        PinnedLevels(
            operand="W",
            memories=(
                PinnedMemory(memory="register", loops=1),
                PinnedMemory(memory="buffer", loops=2),
            ),
        ),
    ),
)
SPATIAL: Final = SpatialProblem(
    problem=MappingProblem(
        layer=LAYER,
        accelerator=ACCELERATOR,
        constraints=CONSTRAINTS,
        top_levels=(TopLevel(operand="I1", memory="buffer"), TopLevel(operand="O", memory="x")),
        reserved=(Reserved(memory="buffer", bits=64), Reserved(memory="x", bits=8)),
    ),
    spatial_mapping=UNROLLED,
)
IN_MEMORY: Final = copy_with(
    SPATIAL,
    {
        "problem": MappingProblem(
            layer=LAYER,
            accelerator=Accelerator(
                name="imc",
                array=OperationalArray(
                    sides=tuple(ArraySide(name=x, size=8) for x in ("D1", "D2")),
                    unit_energy=0.0,
                    imc=InMemoryCompute(
                        kind=ImcKind.ANALOG,
                        activation_precision=8,
                        weight_precision=4,
                        bit_serial_precision=2,
                        technology=22.0,
                        supply_voltage=0.8,
                    ),
                ),
                memories=(
                    copy_with(memory("cells", "I2", "I2 tl I2 fh"), {"served_dimensions": ()}),
                    memory("OTHER", "I1 I2 O OTHER", "I1 tl I2 tl OTHER tl O tl O fl O tl"),
                ),
            ),
        )
    },
)
PROBLEMS: Final = (SPATIAL, IN_MEMORY)
"""Ordinary arrays and those that compute in memory have not the same fields."""

TEMPORAL: Final = ordered("K 4 OX 2 FX 3 Q9 2", {"O": (1, 3, 4), "W": (0, 2, 4), "I": (1, 2, 4)})
LOMA: Final = LomaStage(lpf_limit=5, mapping_type=MappingType.EVEN, workers=2)
SALSA: Final = SalsaStage(objective=Objective.EDP, chains=3, iterations=70, seed=5, workers=2)

NAMES: Final[set[Field]] = {
    (Layer, "name"),
    (Layer, "alias"),
    (InputOperand, "source"),
    (InputOperand, "other_source"),
    (LayerConstraints, "target"),
}
"""What things are called, which decides nothing."""


PLANNED: Final[set[Field]] = {
    (MappingProblem, "top_levels"),
    (TopLevel, "operand"),
    (TopLevel, "memory"),
}
"""What memories a stage has removed before the search, which the accelerator shows."""

RESERVED: Final[set[Field]] = {
    (MappingProblem, "reserved"),
    (Reserved, "memory"),
    (Reserved, "bits"),
}
"""What other layers take, which decides what a search finds, but not what it costs."""


def options_of(stage: LomaStage | SalsaStage = LOMA) -> str:
    return stage.options_json


def decides(change: Changed[Frozen]) -> bool:
    return change.way[-1] not in NAMES | PLANNED


@pytest.mark.parametrize(
    "models", [PROBLEMS, (TEMPORAL,), (LOMA,), (SALSA,)], ids=lambda x: type(x[0]).__name__
)
def test_every_field_is_tried(models: tuple[Frozen, ...]) -> None:
    ways = [change.way for model in models for change in changed(model)]
    assert not untouched(models[0], ways)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_whatever_decides_what_a_search_finds_changes_its_key(problem: SpatialProblem) -> None:
    before = search_key(problem, options_of())
    for change in changed(problem):
        after = search_key(change.value, options_of())
        assert (after != before) == decides(change), change.way


@pytest.mark.parametrize("problem", PROBLEMS)
def test_whatever_decides_what_a_mapping_costs_changes_its_key(problem: SpatialProblem) -> None:
    before = evaluation_key(problem, TEMPORAL)
    for change in changed(problem):
        counts = decides(change) and change.way[-1] not in RESERVED
        assert (evaluation_key(change.value, TEMPORAL) != before) == counts, change.way


def test_every_mapping_has_a_key_of_its_own() -> None:
    before = evaluation_key(SPATIAL, TEMPORAL)
    for mapping in changed(TEMPORAL):
        assert evaluation_key(SPATIAL, mapping.value) != before, mapping.way


@pytest.mark.parametrize("stage", [LOMA, SALSA])
def test_options_of_a_search_change_its_key_but_for_the_workers(
    stage: LomaStage | SalsaStage,
) -> None:
    before = search_key(SPATIAL, stage.options_json)
    for change in changed(stage):
        after = search_key(SPATIAL, change.value.options_json)
        assert (after != before) == (change.way[-1][1] != "workers"), change.way


def test_no_two_of_all_changes_have_the_same_key() -> None:
    changes = [change for x in PROBLEMS for change in changed(x) if decides(change)]
    different = {change.value for change in changes}
    assert len({search_key(x, options_of()) for x in different}) == len(different)
    costly = {change.value for change in changes if change.way[-1] not in RESERVED}
    assert len({evaluation_key(x, TEMPORAL) for x in costly}) == len(costly)


def test_kinds_of_searches_and_of_keys_differ() -> None:
    assert search_key(SPATIAL, options_of(LomaStage())) != search_key(
        SPATIAL, options_of(SalsaStage())
    )
    assert search_key(SPATIAL, options_of()) != evaluation_key(SPATIAL, TEMPORAL)


@pytest.mark.parametrize("version", ["COST_MODEL_VERSION", "SEARCH_VERSION"])
def test_versions_are_part_of_the_keys(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = search_key(SPATIAL, options_of()), evaluation_key(SPATIAL, TEMPORAL)
    monkeypatch.setattr(keys, version, getattr(keys, version) + 1)
    after = search_key(SPATIAL, options_of()), evaluation_key(SPATIAL, TEMPORAL)
    assert after[0] != before[0]
    assert (after[1] != before[1]) == (version == "COST_MODEL_VERSION")  # it searches nothing


def test_what_has_its_default_is_not_what_is_missing() -> None:
    """Content hashes leave out what has its default: models full of defaults are still there."""
    bare = copy_with(SPATIAL.problem, {"constraints": LayerConstraints(), "top_levels": ()})
    empty = Unrolling(array_dimension="D1")
    mappings = (SpatialMapping(), SpatialMapping(unrollings=(empty,)))
    units = (None, VectorUnit(lanes=1, operation_energy=0.0))
    different = {
        (fixed, unit, unrolled): SpatialProblem(
            problem=copy_with(
                bare,
                {
                    "constraints": LayerConstraints(spatial_mapping=fixed),
                    "accelerator": copy_with(ACCELERATOR, {"vector_unit": unit}),
                },
            ),
            spatial_mapping=unrolled,
        )
        for fixed in (None, *mappings)
        for unit in units
        for unrolled in mappings
    }
    assert len({search_key(x, options_of()) for x in different.values()}) == len(different) == 12


@settings(max_examples=some_of(20), deadline=None)
@given(spatial_problems(), spatial_problems(), st.data())
def test_different_problems_have_different_keys(
    one: SpatialProblem, other: SpatialProblem, data: st.DataObject
) -> None:
    near = next(islice(changed(one), data.draw(st.integers(0, 60)), None)).value
    known = {content_of(x): search_key(x, options_of()) for x in (one, other, near)}
    assert len(set(known.values())) == len(known)
    mappings = [data.draw(temporal_mappings(one)) for _ in range(2)]
    costs = {mapping: evaluation_key(one, mapping) for mapping in mappings}
    assert len(set(costs.values())) == len(costs)


def content_of(spatial: SpatialProblem) -> tuple[object, ...]:
    return *spatial.problem.content, spatial.spatial_mapping


@settings(max_examples=some_of(20), deadline=None)
@given(spatial_problems(), st.data())
def test_a_problem_read_back_has_the_same_keys(
    spatial: SpatialProblem, data: st.DataObject
) -> None:
    mapping = data.draw(temporal_mappings(spatial))
    copy = SpatialProblem.model_validate_json(spatial.model_dump_json())
    again = TemporalMapping.model_validate_json(mapping.model_dump_json())
    assert search_key(copy, options_of()) == search_key(spatial, options_of())
    assert evaluation_key(copy, again) == evaluation_key(spatial, mapping)

"""Every cost of a random mapping is the reference's, to a relative 1e-9.

``make stress`` (``NESTMAP_STRESS=1``) tries thousands of mappings instead of fifty.
"""

from hypothesis import HealthCheck, example, given, reject, settings

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    ArraySide,
    Cuts,
    Layer,
    Loop,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Unrolling,
    layer_from_equation,
)
from tests.costmodel.machines import machine, mapped, ordered
from tests.counting import by_reference
from tests.parity.comparison import differences
from tests.parity.reference import (
    ReferenceCrashError,
    reference_evaluation,
    reference_evaluation_counting_same_data,
)
from tests.strategies import Case, evaluated_cases
from tests.sweeps import STRESS

EXAMPLES = 3000 if STRESS else 50


def case_of(
    layer: Layer, memories: tuple[MemoryLevel, ...], unrolled: str, order: str, cuts: str
) -> Case:
    """A mapping in short: ``unrolled`` and ``order`` as ``C 2``, ``cuts`` as ``O 0 1``."""
    array = OperationalArray(sides=(ArraySide(name="D1", size=8),), unit_energy=0.5)
    accelerator = Accelerator(name="machine", array=array, memories=memories)
    unrollings = (Unrolling(array_dimension="D1", loops=loops_of(unrolled)),) if unrolled else ()
    return Case(
        SpatialProblem(
            problem=MappingProblem(layer=layer, accelerator=accelerator),
            spatial_mapping=SpatialMapping(unrollings=unrollings),
        ),
        TemporalMapping(
            order=loops_of(order),
            cuts=tuple(
                Cuts(operand=operand, positions=tuple(map(int, positions)))
                for operand, *positions in (text.split() for text in cuts.split(","))
            ),
        ),
    )


def loops_of(text: str) -> tuple[Loop, ...]:
    pairs = (loop.split() for loop in text.split(","))
    return tuple(Loop(dimension=dimension, size=int(size)) for dimension, size in pairs)


def memory(
    name: str, *operands: str, width: int = 8, served: tuple[str, ...] = ("D1",)
) -> MemoryLevel:
    """A memory with one port of 8 to ``width`` bit/cycle for everything."""
    allocation = tuple(PortUse(operand=x, movement=m) for x in operands for m in Movement)
    port = MemoryPort(
        name="rw_port_1",
        kind=PortKind.READ_WRITE,
        width_min=8,
        width_max=width,
        allocation=allocation,
    )
    instance = MemoryInstance(
        name=name, size=2**20, read_energy=1.5, write_energy=2.5, ports=(port,)
    )
    return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


DRAM = memory("dram", "I1", "I2", "O")

LONE_INPUT_SHARED_PORT = case_of(
    layer_from_equation("O[b][k]+=I[b][k][c]", {"B": 4, "K": 6, "C": 8}, name="sum"),
    (memory("buffer", "I1"), DRAM),
    "",
    "K 6,B 4,C 8",
    "O 3,I 1 3",
)
"""A link whose upper port also serves the input that the layer does not have."""

ROUNDING_TIE = case_of(
    layer_from_equation(
        "O[b][k][ox]+=W[k][c][fx]*I[b][c][ix]",
        {"B": 2, "K": 1, "C": 51, "OX": 19, "FX": 7},
        name="tie",
        relations=["ix=4*ox+1*fx"],
    ),
    (memory("buffer", "I1", "I2", "O"), DRAM),
    "C 2",
    "FX 7,C 13,OX 19,B 2,C 2",
    "O 3 5,W 3 5,I 3 5",
)
"""2014.5 elements: the order of the products decides how they round."""

THIRDS_OF_WORDS = case_of(
    layer_from_equation("O[b][k]+=W[k][c]*I[b][c]", {"B": 1, "K": 3, "C": 7}, name="thirds"),
    (memory("local", "I1", "I2", "O", width=24, served=()),),
    "K 3",
    "C 7",
    "O 1,W 1,I 1",
)
"""7 words of a third of the port in 3 units: 1/3 * 7 * 3 is below 7 in floating point."""

HALF_A_UNIT = Case(
    mapped(
        layer_from_equation("O[b][k][m]+=W[k]*I[b][k][m]", {"B": 3, "K": 9, "M": 5}, name="half"),
        machine(
            memory("local", "I1", "I2", "O", served=()),
            memory("top", "I1", "I2", "O", served=("D1", "D2", "D3")),
            sides={"D1": 2, "D2": 2, "D3": 2},
        ),
        {"D1": "B 2", "D2": "K 2", "D3": "M 2"},
    ),
    ordered("K 5 M 3 B 2", {"O": (1, 3), "W": (1, 3), "I": (1, 3)}),
)
"""3/2 * 9/5 * 5/3 = 4.5 units, in floating point a little more."""

PADDED_GAPS = case_of(
    layer_from_equation(
        "O[b][oy]+=I[b][iy]",
        {"B": 11, "OY": 62, "FY": 1},
        name="gaps",
        relations=["iy=2*oy+1*fy"],
        axes={"IY": (None, (2, 0))},
    ),
    (DRAM,),
    "",
    "B 11,OY 62",
    "O 2,I 2",
)
"""A stride that jumps over elements next to padding."""


@example(LONE_INPUT_SHARED_PORT)
@example(ROUNDING_TIE)
@example(THIRDS_OF_WORDS)
@example(HALF_A_UNIT)
@example(PADDED_GAPS)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(evaluated_cases())
def test_evaluation_is_that_of_the_reference(case: Case) -> None:
    try:
        reference = reference_evaluation(case.spatial, case.temporal)
    except ReferenceCrashError:
        reject()
    assert differences(evaluate(by_reference(case.spatial), case.temporal), reference) == []


@settings(
    max_examples=EXAMPLES // 2,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(evaluated_cases())
def test_an_array_that_holds_no_inputs_reads_them_for_every_operation(case: Case) -> None:
    try:
        reference = reference_evaluation_counting_same_data(case.spatial, case.temporal)
    except ReferenceCrashError:
        reject()
    array = case.spatial.accelerator.array.model_copy(update={"holds_inputs": False})
    accelerator = case.spatial.accelerator.model_copy(update={"array": array})
    problem = case.spatial.problem.model_copy(update={"accelerator": accelerator})
    spatial = case.spatial.model_copy(update={"problem": problem})
    assert differences(evaluate(by_reference(spatial), case.temporal), reference) == []


def test_unrollings_that_round_up_are_evaluated_as_by_the_reference() -> None:
    """27 iterations over 2 x 14 units: one iteration in time, 13.5 on average in space."""
    accelerator = machine(
        memory("registers", "O", width=32, served=()),
        memory("top", "I1", "I2", "O", width=64, served=("D1", "D2")),
        sides={"D1": 2, "D2": 14},
    )
    layer = layer_from_equation("O[k]+=W[k][c]*I[c]", {"K": 27, "C": 6}, name="odd")
    spatial = mapped(layer, accelerator, {"D1": "K 2", "D2": "K 14"})
    temporal = ordered("C 2 C 3", {"O": (1, 2), "W": (2,), "I": (2,)})
    ours = evaluate(by_reference(spatial), temporal)
    assert differences(ours, reference_evaluation(spatial, temporal)) == []
    assert ours.ideal_temporal_cycles == 6

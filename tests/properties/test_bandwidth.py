"""What wider ports do: computation never waits longer, though more loading may come to light.

The cost model hides transfers that happen once behind computation *and* its stalls
(``nestmap.costmodel.loading``). A wider port that ends a stall thus leaves less time to hide them
in, and the loss, counted at every link, can outweigh the gain: ``latency1`` and ``latency2`` are
not monotone in bandwidth, here as in the reference. In the reference's counting ``latency0`` is (in
ours a port does not wait in what loads before and after, of which a wider port may leave less); so
are all three where stalls stay the same and each movement has a port to itself (on a common port
the longest transfer hides first, and a wider port may change which one that is).
"""

from hypothesis import assume, given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    ArraySide,
    CostModelEvaluation,
    Counting,
    Cuts,
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
    needed_movements,
)
from nestmap.model.base import copy_with
from tests.properties.variants import examples, with_port, with_private_ports
from tests.strategies import Case, evaluated_cases


@st.composite
def ports(draw: st.DrawFn, spatial: SpatialProblem) -> tuple[int, int]:
    """The position of a memory and of a port in it."""
    memories = spatial.accelerator.memories
    memory = draw(st.integers(0, len(memories) - 1))
    return memory, draw(st.integers(0, len(memories[memory].instance.ports) - 1))


def widened(spatial: SpatialProblem, at: tuple[int, int], factor: float) -> SpatialProblem:
    """One port with a maximal width that is larger by a factor, rounded up."""
    width = spatial.accelerator.memories[at[0]].instance.ports[at[1]].width_max
    return with_port(spatial, at, {"width_max": 1 + int(width * factor)})


@examples
@given(evaluated_cases(2**12), st.data(), st.floats(1, 8))
def test_a_wider_port_never_stalls_more(case: Case, data: st.DataObject, factor: float) -> None:
    at = data.draw(ports(case.spatial))
    counted = case.spatial.accelerator.counted(Counting.REFERENCE)
    problem = copy_with(case.spatial.problem, {"accelerator": counted})
    spatial = copy_with(case.spatial, {"problem": problem})
    before = evaluate(spatial, case.temporal)
    after = evaluate(widened(spatial, at, factor), case.temporal)
    assert after.latency0 <= before.latency0
    for one, other in zip(before.port_stalls, after.port_stalls, strict=True):
        assert other.stall <= one.stall
    assert after.drain == before.drain
    assert after.ideal_temporal_cycles == before.ideal_temporal_cycles


@examples
@given(evaluated_cases(2**12), st.data(), st.floats(1, 8))
def test_wider_private_ports_never_cost_latency_while_stalls_stay(
    case: Case, data: st.DataObject, factor: float
) -> None:
    private = with_private_ports(case.spatial)
    at = data.draw(ports(private))
    before = evaluate(private, case.temporal)
    after = evaluate(widened(private, at, factor), case.temporal)
    assume(after.stall == before.stall)
    assert after.onloading <= before.onloading
    assert after.offloading <= before.offloading
    assert after.latency2 <= before.latency2


@examples
@given(evaluated_cases(2**12), st.data())
def test_minimal_widths_do_not_matter_for_time_and_finer_ones_save_energy(
    case: Case, data: st.DataObject
) -> None:
    at = data.draw(ports(case.spatial))
    port = case.spatial.accelerator.memories[at[0]].instance.ports[at[1]]
    assume(port.width_max % port.width_min == 0)  # the finer width divides the other
    coarse = with_port(case.spatial, at, {"width_min": port.width_max, "width_max": port.width_max})
    before = evaluate(coarse, case.temporal)
    after = evaluate(case.spatial, case.temporal)
    assert after.latency2 == before.latency2
    assert after.port_stalls == before.port_stalls
    assert after.energy <= before.energy * (1 + 1e-12)


ROOM = 10**6


def movement_port(operand: str, movement: Movement, width: int) -> MemoryPort:
    return MemoryPort(
        name=f"{operand}_{movement}",
        kind=PortKind.READ if movement.reads else PortKind.WRITE,
        width_min=1,
        width_max=width,
        allocation=(PortUse(operand=operand, movement=movement),),
    )


def memory(name: str, operand: str, width: int, served: tuple[str, ...] = ("D1",)) -> MemoryLevel:
    """A large memory for one operand with a port for each movement."""
    movements = needed_movements(operand, is_top=False)
    instance = MemoryInstance(
        name=name,
        size=ROOM,
        read_energy=1.0,
        write_energy=1.0,
        ports=tuple(movement_port(operand, movement, width) for movement in movements),
    )
    return MemoryLevel(instance=instance, operands=(operand,), served_dimensions=served)


def counterexample(weight_width: int) -> CostModelEvaluation:
    """Inputs come over three links, once and slowly; each cycle needs 800 bit of weights."""
    inputs = (memory(name, "I1", 2) for name in ("inner", "middle", "outer"))
    machine = Accelerator(
        name="machine",
        array=OperationalArray(sides=(ArraySide(name="D1", size=100),), unit_energy=1.0),
        memories=(
            memory("register", "I1", 2, served=()),
            *inputs,
            memory("weights", "I2", weight_width),
            memory("outputs", "O", 10**4),
        ),
    )
    layer = layer_from_equation("O[b][k]+=W[k][c]*I[b][c]", {"B": 1, "K": 64, "C": 100}, name="fc")
    unrolled = Unrolling(array_dimension="D1", loops=(Loop(dimension="C", size=100),))
    spatial = SpatialProblem(
        problem=MappingProblem(layer=layer, accelerator=machine),
        spatial_mapping=SpatialMapping(unrollings=(unrolled,)),
    )
    cuts = {"O": (1,), "W": (1,), "I": (0, 0, 0, 1)}
    temporal = TemporalMapping(
        order=(Loop(dimension="K", size=64),),
        cuts=tuple(Cuts(operand=x, positions=positions) for x, positions in cuts.items()),
    )
    return evaluate(spatial, temporal)


def test_a_stall_that_ends_can_lay_more_loading_bare() -> None:
    narrow, wide = counterexample(400), counterexample(800)
    # 2 cycles instead of 1 for each of the 63 weights after the first, then none
    assert (narrow.stall, wide.stall) == (63, 0)
    # three links of 800 bit at 2 bit a cycle, each hidden behind computation and stall
    assert narrow.onloading == 3 * (400 - (64 + 63))
    assert wide.onloading == 3 * (400 - 64)
    assert narrow.latency2 == 946
    assert wide.latency2 == 1072

"""Wrong data cannot be constructed; the message says what was found and what would be right."""

from collections.abc import Callable

import pytest
from pydantic import ValidationError

from nestmap.model import (
    Accelerator,
    AffineIndex,
    Cuts,
    Frozen,
    LayerConstraints,
    Loop,
    MappingConstraints,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    NetworkEvaluation,
    NoCostNode,
    OperandLink,
    OperationalArray,
    PortKind,
    PortUse,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Term,
    Unrolling,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from tests.model.builders import array, fully_connected, machine, memory, port, problem

Build = Callable[[], Frozen]


def unrolled(side: str, *loops: tuple[str, int]) -> Unrolling:
    return Unrolling(array_dimension=side, loops=tuple(Loop(dimension=d, size=n) for d, n in loops))


def mapped(*unrollings: Unrolling) -> SpatialProblem:
    mapping = SpatialMapping(unrollings=unrollings)
    return SpatialProblem(problem=problem(), spatial_mapping=mapping)


def linked(operand: str, memory_operand: str) -> MappingProblem:
    link = OperandLink(operand=operand, memory_operand=memory_operand)
    return MappingProblem(
        layer=fully_connected(), accelerator=machine(), constraints=LayerConstraints(links=(link,))
    )


def chain(first: str, second: str) -> Workload:
    nodes = (
        NoCostNode(name="a", operator="Relu", sources=(first,)),
        NoCostNode(name="b", operator="Relu", sources=(second,)),
    )
    return Workload(name="w", nodes=nodes)


LAYERS: list[tuple[str, Build]] = [
    ("occurs twice", lambda: layer_from_equation("O[b]+=O[b]", {"B": 2}, name="x")),
    ("indexed by Z", lambda: layer_from_equation("O[b]+=I[z]", {"B": 2}, name="x")),
    ("greater than or equal to 1", lambda: fully_connected(K=0)),
    ("greater than or equal to 1", lambda: fully_connected(K=-8)),
    ("at least 1 character", lambda: copy_with(fully_connected(), {"name": ""})),
    ("match pattern", lambda: Loop(dimension="k", size=2)),
    ("Extra inputs", lambda: Loop.model_validate({"dimension": "K", "size": 2, "step": 1})),
    ("valid integer", lambda: Loop.model_validate({"dimension": "K", "size": 2.5})),
    ("valid integer", lambda: Loop.model_validate({"dimension": "K", "size": "2"})),
    ("one dimension twice", lambda: AffineIndex(terms=(Term(dimension="K"), Term(dimension="K")))),
    ("padding", lambda: AffineIndex(terms=(Term(dimension="K"),), padding=(-1, 0))),
]

MACHINES: list[tuple[str, Build]] = [
    ("width_min 64 above width_max 8", lambda: port(width_min=64, width_max=8)),
    ("greater than 0", lambda: memory("m", "O", size=0)),
    ("names one operand twice", lambda: memory("m", "O", "O")),
    ("names one dimension twice", lambda: memory("m", "O", served=("D1", "D1"))),
    (
        "is a read port",
        lambda: MemoryPort(
            name="r_port_1",
            kind=PortKind.READ,
            width_min=8,
            width_max=8,
            allocation=(PortUse(operand="O", movement=Movement.WR_BY_LOW),),
        ),
    ),
    (
        "expected one of the memory's operands: O",
        lambda: copy_with(memory("m", "O", "I1"), {"operands": ("O",)}),
    ),
    (
        "is not in the array; expected some of D1",
        lambda: Accelerator(name="a", array=array(4), memories=(memory("m", "O", served=("D7",)),)),
    ),
    (
        "no port for 'I1, tl'",
        lambda: Accelerator(
            name="a",
            array=array(4),
            memories=(
                MemoryLevel(instance=replaced_ports(memory("m", "I1").instance), operands=("I1",)),
            ),
        ),
    ),
    (
        "not all different",
        lambda: Accelerator(
            name="a", array=array(4), memories=(memory("m", "O"), memory("m", "I1"))
        ),
    ),
    ("systolic dimension D9", lambda: copy_with(array(4), {"systolic_dimensions": ("D9",)})),
    ("not all different", lambda: OperationalArray(sides=array(4).sides * 2, unit_energy=1.0)),
    ("finite number", lambda: copy_with(array(4), {"unit_energy": float("nan")})),
]


def replaced_ports(instance: MemoryInstance) -> MemoryInstance:
    """The memory with one port that does nothing."""
    return copy_with(instance, {"ports": (port(),)})


MAPPINGS: list[tuple[str, Build]] = [
    ("over D7, which is not in the array", lambda: mapped(unrolled("D7", ("K", 2)))),
    ("at most the 4 units of D1", lambda: mapped(unrolled("D1", ("K", 8)))),
    ("expected a loop dimension of layer fc", lambda: mapped(unrolled("D1", ("OX", 2)))),
    ("unrolls B 4 times", lambda: mapped(unrolled("D1", ("B", 4)))),
    ("not all different", lambda: mapped(unrolled("D1", ("B", 1)), unrolled("D1", ("B", 1)))),
    ("decrease", lambda: Cuts(operand="O", positions=(2, 1))),
    (
        "top level to hold every loop",
        lambda: TemporalMapping(
            order=(Loop(dimension="K", size=2),), cuts=(Cuts(operand="O", positions=(0,)),)
        ),
    ),
    ("expected one of O, I1, I2", lambda: linked("W", "I7")),
    ("expected O", lambda: linked("O", "I1")),
    ("linked to memory operand O", lambda: linked("W", "O")),
    (
        "not all different",
        lambda: LayerConstraints(links=(OperandLink(operand="W", memory_operand="I1"),) * 2),
    ),
    ("occurs twice", lambda: MappingConstraints(entries=(LayerConstraints(),) * 2)),
]

WORKLOADS: list[tuple[str, Build]] = [
    ("'a' -> 'b' -> 'a'", lambda: chain("b", "a")),
    ("reads from 'nowhere'", lambda: chain("nowhere", "a")),
    ("occurs 2 times", lambda: Workload.of(fully_connected(), fully_connected())),
    ("no layer was evaluated", lambda: NetworkEvaluation(layers=())),
]


@pytest.mark.parametrize(("message", "build"), [*LAYERS, *MACHINES, *MAPPINGS, *WORKLOADS])
def test_wrong_data_is_turned_down(message: str, build: Build) -> None:
    with pytest.raises(ValidationError) as caught:
        build()
    assert message in str(caught.value)


def test_fields_cannot_be_assigned() -> None:
    loop = Loop(dimension="K", size=2)
    with pytest.raises(ValidationError, match="frozen"):
        loop.size = 4  # type: ignore[misc]

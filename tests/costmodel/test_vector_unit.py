"""Vector operators: costs worked out by hand, and what holds for all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    Accelerator,
    InputError,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    PortKind,
    PortUse,
    Tensor,
    VectorEvaluation,
    VectorNode,
    VectorUnit,
)
from nestmap.model.base import copy_with
from tests.costmodel.machines import machine, memory
from tests.properties.variants import examples
from tests.strategies import accelerators
from tests.vectors import relu, tensor, vector_machines, vector_nodes, with_unit

TOP = machine(memory("buffer"), memory("top", width=8))
"""Outputs share a port of 8 bit for reads (1 pJ) and writes (2 pJ)."""


def port(kind: PortKind, width: int, *movements: Movement) -> MemoryPort:
    """A port for outputs that moves whole words only."""
    uses = tuple(PortUse(operand="O", movement=movement) for movement in movements)
    return MemoryPort(name=kind, kind=kind, width_min=width, width_max=width, allocation=uses)


def two_ports(read: int, write: int) -> MemoryLevel:
    """A memory for outputs that reads and writes at the same time, so many bits a cycle."""
    instance = MemoryInstance(
        name="two",
        size=2**20,
        read_energy=10.0,
        write_energy=30.0,
        ports=(
            port(PortKind.READ, read, Movement.RD_TO_LOW, Movement.RD_TO_HIGH),
            port(PortKind.WRITE, write, Movement.WR_BY_LOW, Movement.WR_BY_HIGH),
        ),
    )
    return MemoryLevel(instance=instance, operands=("O",), served_dimensions=("D1",))


def test_reads_and_writes_share_a_port() -> None:
    found = evaluate_vector(relu("r", 2, 10), with_unit(TOP, lanes=8, energy=0.25))
    assert found == VectorEvaluation(
        node="r",
        operator="Relu",
        memory="top",
        operations=20,
        bits_read=160,
        bits_written=160,
        words_read=20,
        words_written=20,
        operation_energy=5.0,
        memory_energy=20 * 1.0 + 20 * 2.0,
        compute_cycles=3,
        traffic_cycles=40,
    )
    assert (found.energy, found.latency) == (65.0, 40)


def test_reads_and_writes_have_ports_of_their_own() -> None:
    accelerator = machine(two_ports(read=64, write=16), memory("in", operands="I1 I2"))
    found = evaluate_vector(relu("r", 20), with_unit(accelerator, lanes=1))
    assert (found.words_read, found.words_written) == (3, 10)
    assert found.memory_energy == 3 * 10.0 + 10 * 30.0
    assert (found.compute_cycles, found.traffic_cycles, found.latency) == (20, 10, 20)


def test_energies_are_for_the_full_width() -> None:
    narrow = two_ports(read=64, write=64)
    ports = tuple(copy_with(x, {"width_min": 8}) for x in narrow.instance.ports)
    level = copy_with(narrow, {"instance": copy_with(narrow.instance, {"ports": ports})})
    accelerator = machine(level, memory("in", operands="I1 I2"))
    found = evaluate_vector(relu("r", 9), accelerator)  # 72 bit: two words
    assert (found.words_read, found.memory_energy) == (2, 2 * 10.0 + 2 * 30.0)


def test_without_a_unit_only_the_traffic_counts() -> None:
    found = evaluate_vector(relu("r", 2, 10), TOP)
    assert (found.operations, found.operation_energy, found.compute_cycles) == (20, 0.0, 0)
    assert (found.memory, found.memory_energy, found.latency) == ("top", 60.0, 40)


def test_the_unit_says_which_memory() -> None:
    accelerator = machine(two_ports(read=8, write=8), memory("top"))
    assert evaluate_vector(relu("r", 4), with_unit(accelerator)).memory_energy == 4 * 3.0
    found = evaluate_vector(relu("r", 4), with_unit(accelerator, memory="two"))
    assert (found.memory, found.memory_energy) == ("two", 4 * 40.0)


def test_each_tensor_begins_in_a_word_of_its_own() -> None:
    node = copy_with(
        relu("add", 1), {"inputs": (tensor("a", 5, precision=1), tensor("b", 5, precision=1))}
    )
    found = evaluate_vector(node, TOP)
    assert (found.bits_read, found.words_read) == (10, 2)


def test_words_are_spread_over_the_instances() -> None:
    accelerator = machine(memory("cell"), sides={"D1": 4, "D2": 3})
    found = evaluate_vector(relu("r", 20), accelerator)  # 40 words in 12 memories
    assert (found.memory_energy, found.traffic_cycles) == (60.0, 4)


def test_tensors_of_unknown_size_move_nothing() -> None:
    node = copy_with(relu("r", 2), {"outputs": (Tensor(name="y", sizes=None, precision=8),)})
    found = evaluate_vector(node, TOP)
    assert (found.words_read, found.words_written, found.latency) == (2, 0, 2)


@pytest.mark.parametrize("axes", [(2**30, 2**24), (2**30, 2**30, 2**30, 2**30)])
def test_more_than_can_be_counted_is_refused(axes: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as caught:
        evaluate_vector(relu("huge", *axes), TOP)
    assert caught.value.where == "vector operator huge"
    assert caught.value.expected == "at most 2**53"


def test_a_machine_without_outputs_is_refused() -> None:
    with pytest.raises(InputError, match="accelerator machine: found no memory for outputs"):
        evaluate_vector(relu("r", 2), machine(memory("weights", operands="I2")))


@examples
@given(vector_nodes(), vector_machines())
def test_costs_are_the_sums_of_their_parts(node: VectorNode, accelerator: Accelerator) -> None:
    found = evaluate_vector(node, accelerator)
    unit, level = accelerator.vector_unit, accelerator.vector_memory
    assert unit is not None
    assert level is not None
    assert found.memory == level.name
    assert found.energy == found.operation_energy + found.memory_energy
    assert found.operation_energy == node.total_operations * unit.operation_energy
    instance = level.instance
    words = found.words_read * instance.read_energy + found.words_written * instance.write_energy
    assert found.memory_energy == words
    assert found.latency == max(found.compute_cycles, found.traffic_cycles)
    assert 0 <= found.compute_cycles * unit.lanes - found.operations < unit.lanes
    width = max(x.width_max for x in instance.ports)
    assert found.words_read * width >= found.bits_read == node.bits_read
    assert found.words_written * width >= found.bits_written == node.bits_written


@examples
@given(vector_nodes(), vector_machines(), st.integers(1, 5000))
def test_more_lanes_are_never_slower(node: VectorNode, accelerator: Accelerator, more: int) -> None:
    unit = accelerator.vector_unit
    assert unit is not None
    wider = copy_with(accelerator, {"vector_unit": copy_with(unit, {"lanes": unit.lanes + more})})
    before, after = evaluate_vector(node, accelerator), evaluate_vector(node, wider)
    assert after.latency <= before.latency
    assert after.compute_cycles <= before.compute_cycles
    assert (after.energy, after.traffic_cycles) == (before.energy, before.traffic_cycles)


@examples
@given(vector_nodes(), vector_machines())
def test_twice_the_tensors_are_twice_the_bits(node: VectorNode, accelerator: Accelerator) -> None:
    def doubled(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(copy_with(x, {"precision": 2 * x.precision}) for x in tensors)

    ends = {"inputs": doubled(node.inputs), "outputs": doubled(node.outputs)}
    before = evaluate_vector(node, accelerator)
    after = evaluate_vector(copy_with(node, dict(ends)), accelerator)
    assert after.bits_read == 2 * before.bits_read
    assert after.bits_written == 2 * before.bits_written
    assert before.words_read <= after.words_read <= 2 * before.words_read
    assert before.traffic_cycles <= after.traffic_cycles <= 2 * before.traffic_cycles
    assert after.operation_energy == before.operation_energy


@examples
@given(vector_nodes(), accelerators(), st.integers(1, 64))
def test_a_unit_adds_its_operations_to_the_traffic(
    node: VectorNode, accelerator: Accelerator, lanes: int
) -> None:
    unit = VectorUnit(lanes=lanes, operation_energy=0.5)
    without = evaluate_vector(node, accelerator)
    with_it = evaluate_vector(node, copy_with(accelerator, {"vector_unit": unit}))
    assert (without.operation_energy, without.compute_cycles) == (0.0, 0)
    assert with_it.energy == without.energy + 0.5 * node.total_operations
    parts = {"operation_energy": 0.0, "compute_cycles": 0}
    assert copy_with(with_it, dict(parts)) == without

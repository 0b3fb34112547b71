"""Energy is linear in every energy of the machine, and time knows nothing of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import MOVEMENTS, CostModelEvaluation, LevelEvaluation
from nestmap.model.base import copy_with
from tests.properties.variants import examples, with_accelerator, with_memory
from tests.strategies import Case, energies, evaluated_cases


def accesses(cme: CostModelEvaluation, memory: str) -> tuple[int, int]:
    """Reads and writes of a memory by all operands and movements."""
    levels = [level for level in cme.levels if level.memory == memory]
    return _count(levels, reads=True), _count(levels, reads=False)


def _count(levels: list[LevelEvaluation], *, reads: bool) -> int:
    movements = [movement for movement in MOVEMENTS if movement.reads is reads]
    return sum(level.costs.accesses_of(movement) for level in levels for movement in movements)


@examples
@given(evaluated_cases(), st.data(), energies(), energies())
def test_energy_is_linear_in_each_access_energy(
    case: Case, data: st.DataObject, read: float, write: float
) -> None:
    memories = case.spatial.accelerator.memories
    position = data.draw(st.integers(0, len(memories) - 1))
    old = memories[position].instance
    other = with_memory(case.spatial, position, {"read_energy": read, "write_energy": write})
    before, after = evaluate(case.spatial, case.temporal), evaluate(other, case.temporal)
    reads, writes = accesses(before, old.name)
    assert accesses(after, old.name) == (reads, writes)
    expected = (
        before.energy + reads * (read - old.read_energy) + writes * (write - old.write_energy)
    )
    assert after.energy == pytest.approx(expected, rel=1e-9, abs=1e-9 * before.energy + 1e-9)
    assert after.latency2 == before.latency2
    assert after.port_stalls == before.port_stalls


@examples
@given(evaluated_cases(), energies())
def test_energy_is_linear_in_the_unit_energy(case: Case, unit: float) -> None:
    array = case.spatial.accelerator.array
    accelerator = copy_with(
        case.spatial.accelerator, {"array": copy_with(array, {"unit_energy": unit})}
    )
    other = with_accelerator(case.spatial, accelerator)
    before, after = evaluate(case.spatial, case.temporal), evaluate(other, case.temporal)
    assert after.memory_energy == before.memory_energy
    assert after.mac_energy == pytest.approx(case.spatial.layer.macs * unit)
    assert after.latency2 == before.latency2

"""Recomputes the costs of evaluated mappings with other energies, from their access counts."""

from collections.abc import Mapping

from nestmap.costmodel.area_leakage import (
    areas_of,
    clock_period_of,
    leakage_of,
    static_energies,
    sum_areas,
)
from nestmap.costmodel.energy import memory_energy
from nestmap.costmodel.evaluate import Place, movement_costs, port_names
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import put_transfers
from nestmap.costmodel.kernel.record import fill_corner, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.mac_energy import plain_energy
from nestmap.costmodel.ports import operand_transfers
from nestmap.costmodel.vector_unit import operation_energy, traffic_energy
from nestmap.model import (
    MOVEMENTS,
    Accelerator,
    CostModelEvaluation,
    LevelEvaluation,
    MovementCosts,
    PortStall,
    TopLevel,
    VectorEvaluation,
    without_unused_levels,
)
from nestmap.model.base import copy_with


def reprice(
    cme: CostModelEvaluation, before: Accelerator, after: Accelerator
) -> CostModelEvaluation:
    """The evaluation of the same mapping on ``after``, identical to a new evaluation.

    ``before`` is the entire accelerator of the evaluation, of which the layer may have used a
    part (data kept on chip); ``after`` differs from it in energies, areas and names only, with
    memories and ports in the same order. The same kernels multiply and sum in the same order, so
    the results agree to the last digit.

    Raises:
        InputError: if the evaluation uses a memory that ``before`` does not have.
    """
    machine = used_hierarchy(cme, before, after)
    areas = areas_of(machine)
    flat, work = _records(cme, machine)
    total = memory_energy(flat, work)  # also fills the energies of the movements
    updates: dict[str, object] = {
        "accelerator": after.name,
        "mac_energy": _mac_energy(cme, after),
        "memory_energy": total,
        "levels": _levels(cme, _new_names(before, after), movement_costs(flat, work)),
        "port_stalls": _port_stalls(cme, machine),
        "area": sum_areas(areas),
        "areas": areas,
        "static_energies": static_energies(machine, cme.latency),
        "clock_period": clock_period_of(machine),
    }
    return copy_with(cme, updates)


def reprice_vector(
    entry: VectorEvaluation, before: Accelerator, after: Accelerator
) -> VectorEvaluation:
    """The same for a vector operator."""
    name = _new_names(before, after)[entry.memory]
    (memory,) = (level for level in after.memories if level.name == name)
    updates: dict[str, object] = {
        "memory": name,
        "operation_energy": operation_energy(entry.operations, after.vector_unit),
        "memory_energy": traffic_energy((entry.words_read, entry.words_written), memory),
        "static_energy": leakage_of(after) * entry.latency,
    }
    return copy_with(entry, updates)


def used_hierarchy(
    cme: CostModelEvaluation, before: Accelerator, after: Accelerator
) -> Accelerator:
    """``after`` without the memories above those that the evaluation's operands use.

    Raises:
        InputError: if ``after`` does not have one of these memories.
    """
    names = _new_names(before, after)
    carried = {link.operand: link.memory_operand for link in cme.links}
    tops = {level.operand: level.memory for level in cme.levels}  # the last one is the outermost
    return without_unused_levels(
        after,
        [
            TopLevel(operand=carried[operand], memory=names.get(memory, memory))
            for operand, memory in tops.items()
        ],
    )


def _new_names(before: Accelerator, after: Accelerator) -> dict[str, str]:
    """The current name of each memory."""
    pairs = zip(before.memories, after.memories, strict=True)
    return {old.name: new.name for old, new in pairs}


def _records(cme: CostModelEvaluation, accelerator: Accelerator) -> tuple[FlatProblem, Work]:
    """The records that the energy kernels read."""
    flat, work = new_record(FlatProblem), new_record(Work)
    transfers = operand_transfers(accelerator, [link.memory_operand for link in cme.links])
    where = f"accelerator {accelerator.name}: port allocations"
    put_transfers(flat, transfers, where)
    accesses = {
        (level.operand, level.level + 1, m): level.costs.accesses[m]
        for level in cme.levels
        for m in range(len(MOVEMENTS))
    }
    operands = [link.operand for link in cme.links]
    counted = [float(accesses[operands[t.operand], t.level, t.movement]) for t in transfers]
    fill_corner(work.accesses, counted, where)
    return flat, work


def _mac_energy(cme: CostModelEvaluation, accelerator: Accelerator) -> float:
    """The energy of multiply-accumulates; that of an IMC array cannot differ."""
    array = accelerator.array
    if array.imc:
        return cme.mac_energy
    return plain_energy(cme.macs, cme.gated_macs, array.unit_energy) + cme.hop_energy


def _levels(
    cme: CostModelEvaluation, names: Mapping[str, str], costs: Mapping[Place, MovementCosts]
) -> tuple[LevelEvaluation, ...]:
    rows = {link.operand: x for x, link in enumerate(cme.links)}
    return tuple(
        copy_with(
            level,
            {"memory": names[level.memory], "costs": costs[rows[level.operand], level.level + 1]},
        )
        for level in cme.levels
    )


def _port_stalls(cme: CostModelEvaluation, accelerator: Accelerator) -> tuple[PortStall, ...]:
    """The port stalls with the current names of memories and ports."""
    pairs = zip(port_names(accelerator), cme.port_stalls, strict=True)
    return tuple(copy_with(old, {"memory": memory, "port": port}) for (memory, port), old in pairs)

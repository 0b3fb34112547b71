"""Random accelerators for brute force: few levels, tight memories, narrow ports."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, TypeVar

from nestmap.model import (
    IMC_CELLS,
    MOVEMENTS,
    OUTPUT,
    Accelerator,
    ArraySide,
    Compression,
    ImcKind,
    InMemoryCompute,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
)
from nestmap.model.base import copy_with
from tests.strategies import MEMORY_OPERANDS
from tests.zeros import bitmask, run_length

T = TypeVar("T")

MOST_LEVELS: Final = 3
"""Memories of an operand; the number of cuts grows with each."""


def plain_machine(random: Random) -> Accelerator:
    """One to three array dimensions around memories of any arrangement."""
    sizes = {f"D{i}": random.randint(1, 6) for i in range(1, random.randint(1, 3) + 1)}
    array = OperationalArray(
        sides=sides(sizes),
        unit_energy=energy(random),
        systolic_dimensions=some(random, list(sizes)),
        cycles_per_operation=random.choice((1.0, 1.0, 1.0, 0.5, 1.5, 2.75)),
        holds_inputs=random.random() < 0.75,
    )
    memories = hierarchy(random, list(sizes), dict.fromkeys(MEMORY_OPERANDS, MOST_LEVELS))
    return Accelerator(name="machine", array=array, memories=memories)


def imc_machine(random: Random) -> Accelerator:
    """A small array that computes in memory; its cells are the innermost memory of the weights."""
    weight, activation = random.choice((1, 2, 4, 8)), random.choice((2, 4, 8))
    kind = random.choice(tuple(ImcKind))
    imc = InMemoryCompute(
        kind=kind,
        activation_precision=activation,
        weight_precision=weight,
        bit_serial_precision=random.choice([n for n in (1, 2, 4, 8) if n <= activation]),
        adc_resolution=random.choice((0, 3, 8)) if kind is ImcKind.ANALOG else 0,
    )
    sizes = {"D1": random.randint(1, 6), "D2": random.choice((4, 8))}
    if random.random() < 0.3:
        sizes["D3"] = random.randint(1, 3)
    array = OperationalArray(sides=sides(sizes), unit_energy=0.0, imc=imc)
    cells = memory(random, IMC_CELLS, ("I2",), weight * random.choice((1, 2, 4, 8)))
    levels = dict.fromkeys(MEMORY_OPERANDS, MOST_LEVELS) | {"I2": MOST_LEVELS - 1}
    memories = (cells, *hierarchy(random, list(sizes), levels))
    return Accelerator(name="machine", array=array, memories=memories)


def leaking(random: Random, machine: Accelerator) -> Accelerator:
    """The machine with energies that include its leakage."""
    powers = (0.0, 0.003, 1.5, 40.0)
    memories = tuple(
        copy_with(
            level, {"instance": copy_with(level.instance, {"leakage": random.choice(powers)})}
        )
        for level in machine.memories
    )
    array = copy_with(
        machine.array,
        {"unit_leakage": random.choice(powers), "clock_period": random.choice((0.25, 1.0, 7.3))},
    )
    updates: dict[str, object] = {
        "array": array,
        "memories": memories,
        "counts_leakage": True,
        "unused_leakage": random.choice((0.0, 0.7)),
    }
    return copy_with(machine, updates)


def free(machine: Accelerator) -> Accelerator:
    """The machine that spends no energy."""
    nothing: dict[str, object] = {"read_energy": 0.0, "write_energy": 0.0, "leakage": 0.0}
    memories = tuple(
        copy_with(level, {"instance": copy_with(level.instance, nothing)})
        for level in machine.memories
    )
    array = copy_with(machine.array, {"unit_energy": 0.0})
    return copy_with(machine, {"array": array, "memories": memories})


def wide(machine: Accelerator) -> Accelerator:
    """The machine with ports that the array seldom waits for."""
    memories: list[MemoryLevel] = []
    for level in machine.memories:
        ports = tuple(
            copy_with(port, {"width_min": 64 * port.width_min, "width_max": 64 * port.width_max})
            for port in level.instance.ports
        )
        memories.append(copy_with(level, {"instance": copy_with(level.instance, {"ports": ports})}))
    return copy_with(machine, {"memories": tuple(memories)})


def window_machine(random: Random) -> Accelerator:
    """Memories of inputs that load only what slides in, below one of everything."""
    plain = plain_machine(random)
    names, served = [side.name for side in plain.array.sides], set[str]()
    memories: list[MemoryLevel] = []
    for number in range(random.randint(1, 2)):
        operands = ("I1",) if number == 0 or random.random() < 0.5 else MEMORY_OPERANDS
        served |= set(some(random, names))
        size = int(2 ** (4 + 6 * random.random()))
        level = memory(random, f"m{number}", operands, size, sorted(served))
        reuses: dict[str, object] = {"window_reuse": not number or random.random() < 0.7}
        memories.append(copy_with(level, {"instance": copy_with(level.instance, reuses)}))
    top = memory(random, "top", MEMORY_OPERANDS, 2**30, names)
    return copy_with(plain, {"memories": (*memories, top), "strict_ports": random.random() < 0.2})


def stationary_machine(random: Random) -> Accelerator:
    """Each operand has a memory of a few words of its own, so that it matters which one stays."""
    plain = plain_machine(random)
    names, memories = [side.name for side in plain.array.sides], list[MemoryLevel]()
    for operand in MEMORY_OPERANDS:
        size, served = int(2 ** (5 + 3 * random.random())), some(random, names)
        memories.append(memory(random, f"m{operand}", (operand,), size, served))
    top = memory(random, "top", MEMORY_OPERANDS, 2**30, names)
    return copy_with(plain, {"memories": (*memories, top)})


def sparse_machine(random: Random, machine: Accelerator) -> Accelerator:
    """The machine with memories that compress, and operations that zeros gate."""
    memories = tuple(
        copy_with(level, {"compression": tuple(compression(random, x) for x in held)})
        for level in machine.memories
        for held in [some(random, level.operands)]
    )
    array = copy_with(machine.array, {"zero_gating": some(random, ("I1", "I2"))})
    return copy_with(machine, {"memories": memories, "array": array})


def skipping_machine(random: Random) -> Accelerator:
    """A machine whose zeros skip steps, sometimes with a limit that this meets."""
    machine = leaking(random, random.choice((plain_machine, window_machine))(random))
    changed: dict[str, object] = {
        "zero_skipping": random.choice((("I1",), ("I2",), ("I1", "I2"))),
        "hop_bandwidth": random.choice((None, None, 2, 8)),
    }
    limits: dict[str, object] = {
        "array": copy_with(machine.array, changed),
        "strict_ports": random.random() < 0.5,
    }
    return copy_with(random.choice((machine, wide(machine))), limits)


def compression(random: Random, operand: str) -> Compression:
    """Any format."""
    return random.choice((bitmask(operand), run_length(operand, random.randint(1, 6))))


def sides(sizes: Mapping[str, int]) -> tuple[ArraySide, ...]:
    """The array dimensions."""
    return tuple(ArraySide(name=name, size=n) for name, n in sizes.items())


def hierarchy(
    random: Random, names: Sequence[str], levels: Mapping[str, int]
) -> tuple[MemoryLevel, ...]:
    """Memories, innermost first, with at most so many ``levels`` for each operand.

    A memory serves all array dimensions that those below it serve. The last one mostly holds all
    operands and has capacity for all of them; elsewhere levels are missing for some operands.
    """
    left = {x: n - 1 for x, n in levels.items()}
    holders: list[tuple[str, ...]] = []
    for _ in range(random.randint(0, 4)):
        open_ones = [x for x in MEMORY_OPERANDS if left[x]]
        chosen = some(random, open_ones)
        holders += [chosen] if chosen else []
        left = {x: n - (x in chosen) for x, n in left.items()}
    missing = tuple(x for x in MEMORY_OPERANDS if not any(x in held for held in holders))
    top = MEMORY_OPERANDS if random.random() < 0.8 else missing
    holders += [top] if top else []
    served: dict[str, set[str]] = {x: set() for x in MEMORY_OPERANDS}
    memories: list[MemoryLevel] = []
    for number, operands in enumerate(holders):
        is_last = number == len(holders) - 1
        here = set(names) if is_last and random.random() < 0.8 else set(some(random, names))
        here = here.union(*(served[x] for x in operands))
        served |= dict.fromkeys(operands, here)
        size = 2**30 if is_last and random.random() < 0.9 else tight_size(random)
        memories.append(memory(random, f"m{number}", operands, size, sorted(here)))
    return tuple(memories)


def tight_size(random: Random) -> int:
    """Bits between a few words and the tensors of a small layer."""
    return int(2 ** (5 + 8 * random.random()))


def memory(
    random: Random, name: str, operands: Sequence[str], size: int, served: Sequence[str] = ()
) -> MemoryLevel:
    """A memory with shared or separate ports, some so narrow that the array waits."""
    instance = MemoryInstance(
        name=name,
        size=size,
        read_energy=energy(random),
        write_energy=energy(random),
        ports=ports(random, operands),
        double_buffered=random.random() < 0.2,
    )
    return MemoryLevel(instance=instance, operands=tuple(operands), served_dimensions=tuple(served))


def ports(random: Random, operands: Sequence[str]) -> tuple[MemoryPort, ...]:
    """Ports that serve every movement of the operands, each movement once."""
    inputs = (Movement.RD_TO_LOW, Movement.WR_BY_HIGH)
    splits_kinds, number = random.random() < 0.5, random.randint(1, 4)
    groups: dict[tuple[PortKind, int], list[PortUse]] = {}
    for operand in operands:
        for movement in MOVEMENTS if operand == OUTPUT else inputs:
            kind = PortKind.READ_WRITE
            if splits_kinds:
                kind = PortKind.READ if movement.reads else PortKind.WRITE
            group = groups.setdefault((kind, random.randint(1, number)), [])
            group.append(PortUse(operand=operand, movement=movement))
    made: list[MemoryPort] = []
    for (kind, i), allocation in sorted(groups.items()):
        low = random.choice((1, 3, 8, 16, 32, 64, 256))
        made.append(
            MemoryPort(
                name=f"{kind}_{i}",
                kind=kind,
                width_min=low,
                width_max=low * random.choice((1, 1, 2, 8)),
                allocation=tuple(allocation),
            )
        )
    return tuple(made)


def energy(random: Random) -> float:
    """pJ with three decimals, as tables have them; sometimes nothing."""
    return random.choice((0, random.randint(1, 900), random.randint(1, 90_000))) / 1000


def some(random: Random, names: Sequence[T]) -> tuple[T, ...]:
    """Any of the names, in their order."""
    return tuple(name for name in names if random.random() < 0.6)

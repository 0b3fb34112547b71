"""A layer that runs in tiles: the sum over its tiles, and the copies that come before them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from nestmap.costmodel.copies import Copy
from nestmap.model import (
    MOVEMENTS,
    CostModelEvaluation,
    HopStall,
    LevelEvaluation,
    MemoryLevel,
    Movement,
    MovementCosts,
    PortStall,
    VectorEvaluation,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import LayerOperand
from nestmap.model.units import Bits, Count


@final
@dataclass(frozen=True, slots=True)
class TileCosts:
    """What tiles of one kind cost, and how many there are."""

    cme: CostModelEvaluation
    count: Count


@final
@dataclass(frozen=True, slots=True)
class OperandCopies:
    """Copies of an operand of a layer into ``levels[0]``, from the last of these levels.

    ``elements`` and ``bits`` are what the last level holds of it; each copy happens so many times.
    """

    operand: LayerOperand
    levels: tuple[MemoryLevel, ...]
    elements: Count
    bits: Bits
    copies: tuple[tuple[Copy, Count], ...]

    @property
    def energy(self) -> float:
        """The energy of all copies."""
        return sum((copy.energy * count for copy, count in self.copies), 0.0)

    @property
    def cycles(self) -> int:
        """The cycles of all copies."""
        return sum(copy.cycles * count for copy, count in self.copies)

    def at(self, memory: str) -> MovementCosts:
        """Accesses and energies at a memory."""
        accesses, energies = dict.fromkeys(Movement, 0), dict.fromkeys(Movement, 0.0)
        for copy, count in self.copies:
            for access in copy.accesses:
                if access.memory == memory:
                    accesses[access.movement] += access.words * count
                    energies[access.movement] += access.energy * count
        return _costs([accesses[x] for x in MOVEMENTS], [energies[x] for x in MOVEMENTS])


def sum_of_tiles(
    tiles: Sequence[TileCosts], copies: Sequence[OperandCopies]
) -> CostModelEvaluation:
    """What a layer costs whose tiles run one after the other.

    Energies, accesses, operations and cycles are sums; what a memory holds is the most that it
    holds. The spatial and the temporal mapping are those of the tiles that compute most. Copies
    count at their memories, and their cycles as loading.
    """
    main = max(tiles, key=lambda x: x.count * x.cme.macs).cme
    counted = [(x.cme, x.count) for x in tiles]

    def cycles(of: Callable[[CostModelEvaluation], int]) -> int:
        return sum(x.count * of(x.cme) for x in tiles)

    def total(of: Callable[[CostModelEvaluation], float]) -> float:
        return sum((x.count * of(x.cme) for x in tiles), 0.0)

    return copy_with(
        main,
        {
            "macs": cycles(lambda x: x.macs),
            "mac_energy": total(lambda x: x.mac_energy),
            "memory_energy": total(lambda x: x.memory_energy) + sum(x.energy for x in copies),
            "levels": tuple(_levels(tiles, copies)),
            "port_stalls": tuple(_port_stalls(tiles)),
            "ideal_cycles": cycles(lambda x: x.ideal_cycles),
            "ideal_temporal_cycles": cycles(lambda x: x.ideal_temporal_cycles),
            "stall": cycles(lambda x: x.stall),
            "onloading": total(lambda x: x.onloading) + sum(x.cycles for x in copies),
            "offloading": total(lambda x: x.offloading),
            "drain": cycles(lambda x: x.drain),
            "array_energies": tuple(
                copy_with(part, {"energy": sum(n * x.array_energies[i].energy for x, n in counted)})
                for i, part in enumerate(main.array_energies)
            ),
            "gated_macs": total(lambda x: x.gated_macs),
            "skipped_cycles": cycles(lambda x: x.skipped_cycles),
            "hop_energy": total(lambda x: x.hop_energy),
            "hop_stalls": tuple(_hop_stalls(tiles)),
            "padding": (),
        },
    )


def _levels(
    tiles: Sequence[TileCosts], copies: Sequence[OperandCopies]
) -> Iterator[LevelEvaluation]:
    """The levels of all tiles together, and those above from which copies come."""
    most: dict[tuple[LayerOperand, int], LevelEvaluation] = {}
    costs: dict[tuple[LayerOperand, int], MovementCosts] = {}
    for tile in tiles:
        for level in tile.cme.levels:
            key = level.operand, level.level
            known = most.setdefault(key, level)
            most[key] = level if level.bits > known.bits else known
            costs[key] = _added(costs.get(key, _NOTHING), level.costs, tile.count)
    for operand in dict.fromkeys(operand for operand, _ in most):
        own = [x for x in most.values() if x.operand == operand]
        above = [x for x in copies if x.operand == operand]
        for level in own:
            found = costs[operand, level.level]
            for copied in above:
                found = _added(found, copied.at(level.memory), 1)
            yield copy_with(level, {"costs": found})
        for copied in above:
            yield from _levels_above(own[-1], copied)


def _levels_above(top: LevelEvaluation, copied: OperandCopies) -> Iterator[LevelEvaluation]:
    """The levels through which copies come: the last one holds all, the others what passes."""
    for i, level in enumerate(copied.levels[1:], start=1):
        share = copied.bits / level.instance.size
        yield copy_with(
            top,
            {
                "memory": level.name,
                "level": top.level + i,
                "costs": copied.at(level.name),
                "elements": copied.elements,
                "bits": copied.bits,
                "utilization": share,
                "shared_utilization": share,
                "effective_utilization": share,
                "effective_shared_utilization": share,
            },
        )


def _port_stalls(tiles: Sequence[TileCosts]) -> Iterator[PortStall]:
    """The stalls and busy cycles of each port over all tiles."""
    found: dict[tuple[str, str], PortStall] = {}
    for tile in tiles:
        for port in tile.cme.port_stalls:
            key = port.memory, port.port
            known = found.get(key, copy_with(port, {"stall": 0, "busy": 0}))
            busy = (known.busy or 0) + tile.count * (port.busy or 0)
            found[key] = copy_with(
                port, {"stall": known.stall + tile.count * port.stall, "busy": busy}
            )
    return iter(found.values())


def _hop_stalls(tiles: Sequence[TileCosts]) -> Iterator[HopStall]:
    """The stalls and busy cycles of hops over all tiles."""
    found: dict[tuple[LayerOperand, int], HopStall] = {}
    for tile in tiles:
        for hop in tile.cme.hop_stalls:
            key = hop.operand, hop.level
            known = found.get(key, copy_with(hop, {"stall": 0, "busy": 0}))
            stall, busy = known.stall + tile.count * hop.stall, known.busy + tile.count * hop.busy
            found[key] = copy_with(hop, {"stall": stall, "busy": busy})
    return iter(found.values())


_NOTHING: Final = MovementCosts(accesses=(0, 0, 0, 0), energies=(0.0, 0.0, 0.0, 0.0))


def _added(known: MovementCosts, more: MovementCosts, count: Count) -> MovementCosts:
    accesses = [a + count * b for a, b in zip(known.accesses, more.accesses, strict=True)]
    energies = [a + count * b for a, b in zip(known.energies, more.energies, strict=True)]
    return _costs(accesses, energies)


def _costs(accesses: Sequence[Count], energies: Sequence[float]) -> MovementCosts:
    (a, b, c, d), (e, f, g, h) = accesses, energies
    return MovementCosts(accesses=(a, b, c, d), energies=(e, f, g, h))


def sum_of_vector_tiles(tiles: Sequence[tuple[VectorEvaluation, Count]]) -> VectorEvaluation:
    """What a vector operator costs whose tiles run one after the other.

    Computation and traffic overlap within a tile only, so the longer of both sums is that of the
    longer of both in each tile.
    """

    def total(of: Callable[[VectorEvaluation], int]) -> int:
        return sum(count * of(x) for x, count in tiles)

    computing, moving = total(lambda x: x.compute_cycles), total(lambda x: x.traffic_cycles)
    latency = total(lambda x: x.latency)
    return copy_with(
        tiles[0][0],
        {
            "operations": total(lambda x: x.operations),
            "bits_read": total(lambda x: x.bits_read),
            "bits_written": total(lambda x: x.bits_written),
            "words_read": total(lambda x: x.words_read),
            "words_written": total(lambda x: x.words_written),
            "operation_energy": sum(n * x.operation_energy for x, n in tiles),
            "memory_energy": sum(n * x.memory_energy for x, n in tiles),
            "compute_cycles": latency if computing > moving else computing,
            "traffic_cycles": moving if computing > moving else latency,
            "static_energy": sum(n * x.static_energy for x, n in tiles),
        },
    )

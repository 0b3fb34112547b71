"""Top memories: the outermost memories of the cores, with shared memories listed once."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from nestmap.model.base import Frozen
from nestmap.model.dims import OUTPUT, MemoryOperand
from nestmap.model.hardware.memory import MemoryLevel, PortKind
from nestmap.model.mapping.problem import resolve_links
from nestmap.model.multicore.accelerator import (
    ComputeCore,
    CoreId,
    MultiCoreAccelerator,
    StorageCore,
)
from nestmap.model.multicore.cn_layer import LayerNest
from nestmap.model.units import Width

NO_MEMORY: Final = -1
"""The index of a memory that a core does not have."""


class TopMemory(Frozen, frozen=True):
    """A top memory: the outermost memory of some operands of its cores, which transfers connect.

    If several cores share it, it has one capacity, and all of them can use what it holds.
    """

    cores: tuple[CoreId, ...]
    level: MemoryLevel

    @property
    def name(self) -> str:
        """The memory's name."""
        return self.level.name

    @property
    def read_width(self) -> Width:
        """Bit/cycle of its widest port that reads."""
        return _widest_port(self.level, PortKind.WRITE)

    @property
    def write_width(self) -> Width:
        """Bit/cycle of its widest port that writes."""
        return _widest_port(self.level, PortKind.READ)

    def __str__(self) -> str:
        cores = ", ".join(map(str, self.cores))
        return f"{self.name} of core{'s' if len(self.cores) > 1 else ''} {cores}"


def _widest_port(level: MemoryLevel, unable: PortKind) -> Width:
    """The width of the widest port not of kind ``unable``; of any port, if all are of that kind."""
    ports = level.instance.ports
    return max(port.width_max for port in [p for p in ports if p.kind is not unable] or ports)


class TopMemories(Frozen, frozen=True):
    """The top memories of an accelerator, core by core, those of the off-chip core last."""

    accelerator: MultiCoreAccelerator

    @cached_property
    def memories(self) -> tuple[TopMemory, ...]:
        """All top memories; those of one core innermost first."""
        return tuple(TopMemory(cores=cores, level=level) for cores, level in self._levels_by_cores)

    @cached_property
    def offchip(self) -> tuple[int, ...]:
        """The indices of the off-chip memories."""
        number = self.accelerator.offchip
        return tuple(i for i, home in enumerate(self.memories) if number in home.cores)

    def index_of(self, core: CoreId, operand: MemoryOperand) -> int:
        """The index of a core's top memory for a memory operand; ``NOWHERE`` if it has none."""
        return self._indices.get((core, operand), NO_MEMORY)

    @cached_property
    def _levels_by_cores(self) -> tuple[tuple[tuple[CoreId, ...], MemoryLevel], ...]:
        found: dict[tuple[tuple[CoreId, ...], str], MemoryLevel] = {}
        for core in self._ordered_cores():
            for level in _top_levels(core):
                found.setdefault((self._sharing_cores(core, level), level.name), level)
        return tuple((cores, level) for (cores, _), level in found.items())

    def _ordered_cores(self) -> list[ComputeCore | StorageCore]:
        last = self.accelerator.offchip
        return sorted(self.accelerator.cores, key=lambda core: (core.id == last, core.id))

    def _sharing_cores(
        self, core: ComputeCore | StorageCore, level: MemoryLevel
    ) -> tuple[CoreId, ...]:
        """The cores that share this memory."""
        group = next((x for x in self.accelerator.shared if core.id in x), (core.id,))
        tops = (({top.name for top in self._levels_of(x)}, x) for x in group)
        common = all(level.name in names for names, _ in tops)
        return tuple(sorted(group)) if common else (core.id,)

    def _levels_of(self, number: CoreId) -> Iterator[MemoryLevel]:
        return _top_levels(self.accelerator.core(number))

    @cached_property
    def _indices(self) -> dict[tuple[CoreId, MemoryOperand], int]:
        known = {(home.cores, home.name): i for i, home in enumerate(self.memories)}
        return {
            (core.id, operand): known[self._sharing_cores(core, level), level.name]
            for core in self.accelerator.cores
            for operand, level in core.top_levels.items()
        }


def _top_levels(core: ComputeCore | StorageCore) -> Iterator[MemoryLevel]:
    """The outermost memories of a core without duplicates, in the order of its hierarchy."""
    tops = {level.name: level for level in core.top_levels.values()}
    if isinstance(core, StorageCore):
        yield from tops.values()
        return
    yield from (tops[x.name] for x in core.accelerator.memories if x.name in tops)


def memory_operands(nest: LayerNest, core: ComputeCore) -> tuple[MemoryOperand, ...] | None:
    """The memory operands of a node on a core: of its output, then of its inputs.

    Links are those of a layer on a single core; inputs in excess of the core's memory operands,
    such as the scales of a normalization, use its last one. ``None`` if the core has no memory
    operand for outputs or for inputs.
    """
    known = core.accelerator.operands
    inputs = sorted(set(known) - {OUTPUT})
    if OUTPUT not in known or (nest.inputs and not inputs):
        return None
    names = [nest.output.operand, *(read.operand for read in nest.inputs)]
    links = resolve_links(names, known, {nest.output.operand: OUTPUT})
    return tuple(links[name] or inputs[-1] for name in names)

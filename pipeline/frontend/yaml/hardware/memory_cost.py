"""Reads the cost of a memory, or computes it: the fitted model, CACTI or a DRAM preset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, final

from nestmap.model import (
    ImcSizes,
    InMemoryCompute,
    InputError,
    MemoryCost,
    MemoryMacro,
    MemoryPort,
    PortKind,
)
from nestmap.model.base import copy_with
from nestmap.model.errors import shortened, suggestion, warn_of_input
from nestmap.pipeline.frontend.yaml.field_schema import one_of
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.memory_fields import (
    DEFAULT_DRAM,
    MemoryFields,
    MemoryKind,
)
from nestmap.pipeline.frontend.yaml.located_node import Node

if TYPE_CHECKING:
    from nestmap.costmodel.memory_cost.dram import DramPreset

# --- costs the cells of an IMC array with a memory model, as their share of a bank ---


@final
@dataclass(frozen=True, slots=True)
class Bank:
    """One bank of an IMC array: an SRAM with rows as wide as the weights of all columns."""

    sizes: ImcSizes
    imc: InMemoryCompute

    def macro(self, size: int, technology: float | None) -> MemoryMacro:
        """The bank as an SRAM, with ``size`` bits of cells per unit.

        ``technology`` is in nm (``None``: the node of the array).
        """
        return MemoryMacro(
            size=size * self.sizes.columns * self.sizes.rows,
            width=self.sizes.columns * self.imc.weight_precision,
            read_write_ports=1,
            technology=technology or self.imc.technology,
        )

    def share(self, cost: MemoryCost, width: int) -> MemoryCost:
        """The cost of a unit's cells, given the cost of the bank; an access is ``width`` bits wide.

        A write costs its share of a row. A read costs nothing here: the array reads the cells when
        it computes, and its own components include that energy.
        """
        units = self.sizes.columns * self.sizes.rows
        row = self.sizes.columns * self.imc.weight_precision
        return MemoryCost(
            read_energy=0.0,
            write_energy=cost.write_energy * width / row,
            area=cost.area / units,
            leakage=cost.leakage / units,
        )


CactiClient = Callable[[MemoryMacro], MemoryCost]
"""A function that costs a memory with CACTI, directly or from a cache."""


class SramModel(StrEnum):
    """The source of the costs of SRAM and register files."""

    FITTED = "fitted"
    CACTI = "cacti"


@final
@dataclass(frozen=True, slots=True)
class CostSources:
    """The inputs of cost models other than the fields of a memory.

    ``technology`` is the node of the whole accelerator.
    """

    technology: float
    cacti: CactiClient = cacti_cost


@final
@dataclass(frozen=True, slots=True)
class MemoryDescription:
    """A memory as described: its node in the file, capacity in bits, and ports.

    With a ``bank``, the memory is the cells of one unit of an IMC array, built bank by bank.
    """

    node: Node
    size: int
    ports: Sequence[MemoryPort]
    bank: Bank | None = None

    @property
    def width(self) -> int:
        """Bits of an access: even a narrower port reads and writes whole words."""
        return max(port.width_max for port in self.ports)

    def macro(self, stated: float | None, usual: float) -> MemoryMacro:
        """The memory as the input of cost models, with its ``stated`` node in nm.

        Without one it has the ``usual`` node, or as the cells of an array that of the array.

        Raises:
            InputError: if such a memory cannot be built.
        """
        if self.bank is not None:
            with self.node.locate_errors():
                return self.bank.macro(self.size, stated)
        kinds = [port.kind for port in self.ports]
        with self.node.locate_errors():
            return MemoryMacro(
                size=self.size,
                width=self.width,
                read_ports=kinds.count(PortKind.READ),
                write_ports=kinds.count(PortKind.WRITE),
                read_write_ports=kinds.count(PortKind.READ_WRITE),
                technology=stated or usual,
            )

    def part(self, cost: MemoryCost) -> MemoryCost:
        """The memory's own cost, given the cost of its macro."""
        return cost if self.bank is None else self.bank.share(cost, self.width)


def memory_cost(given: MemoryFields, built: MemoryDescription, sources: CostSources) -> MemoryCost:
    """The cost of a memory.

    Raises:
        InputError: if the fields do not determine the cost, or contradict each other.
    """
    figures = {"read_energy": given.r_cost, "write_energy": given.w_cost}
    figures |= {"area": given.area, "leakage": given.leakage}
    stated = {name: value for name, value in figures.items() if value is not None}
    if not _is_computed(given, built.node):
        _check_unused(given, built.node)
        for name, value in (("r_cost", given.r_cost), ("w_cost", given.w_cost)):
            if value is None:
                expected = f"the field {name} (pJ per access), or cost: {SramModel.FITTED}"
                raise built.node.error(expected, f"no {name}")
        return MemoryCost(**({"area": 0.0, "leakage": 0.0} | stated))
    model = _model(given, built.node)
    found = (
        _sram_cost(model, given, built, sources)
        if isinstance(model, SramModel)
        else _dram_cost(model, given, built)
    )
    # As in ZigZag, auto_cost_extraction alone replaces stated values; cost does not.
    stay = stated if given.cost else {k: v for k, v in stated.items() if k == "leakage"}
    return copy_with(found, dict(stay))


def _is_computed(given: MemoryFields, node: Node) -> bool:
    """Whether a model computes the cost: ``cost`` names one, or ZigZag's switch is on."""
    is_on = given.auto_cost_extraction
    if given.cost and is_on is False:
        expected = "either cost or auto_cost_extraction: false"
        raise node.at("cost").error(expected, "cost with auto_cost_extraction: false")
    return bool(given.cost) if is_on is None else is_on


def _check_unused(given: MemoryFields, node: Node) -> None:
    if given.mem_type is not None and given.mem_type not in list(MemoryKind):
        found = f"the unknown type {shortened(repr(given.mem_type))}"
        warn_of_input(node.at("mem_type").where, found, one_of(MemoryKind))
    if given.technology is not None:
        expected = f"cost: {SramModel.FITTED} or {SramModel.CACTI}, without which it has no effect"
        raise node.at("technology").error(expected, "technology without cost")


def _model(given: MemoryFields, node: Node) -> SramModel | DramPreset:
    """The model that ``cost`` names, else the default one of the ``mem_type``."""
    from nestmap.costmodel.memory_cost.dram import DramPreset  # noqa: PLC0415 (imports numba)

    kind = node.at("mem_type").choice(MemoryKind) if given.mem_type else None
    name = given.cost
    if name is None:
        return DramPreset(DEFAULT_DRAM) if kind is MemoryKind.DRAM else SramModel.FITTED
    node.at("cost").one_of([*SramModel, *DramPreset])
    suited = list(DramPreset) if kind is MemoryKind.DRAM else list(SramModel)
    if kind is not None and name not in suited:
        raise node.at("cost").error(f"{suggestion(name, suited)} for mem_type: {kind}")
    return SramModel(name) if name in list(SramModel) else DramPreset(name)


def _dram_cost(preset: DramPreset, given: MemoryFields, built: MemoryDescription) -> MemoryCost:
    from nestmap.costmodel.memory_cost.dram import dram_cost  # noqa: PLC0415 (imports numba)

    if given.technology is not None:
        expected = "no technology: the energies of a DRAM are those of its standard"
        raise built.node.at("technology").error(expected, f"technology with {preset}")
    return dram_cost(preset, built.width)


def _sram_cost(
    model: SramModel, given: MemoryFields, built: MemoryDescription, sources: CostSources
) -> MemoryCost:
    macro = built.macro(given.technology, sources.technology)
    if model is SramModel.CACTI:
        try:
            return built.part(sources.cacti(macro))
        except InputError as error:
            raise built.node.at("cost").error(error.expected, error.found) from None
    from nestmap.costmodel.memory_cost.sram import fitted_cost  # noqa: PLC0415 (imports numba)

    return built.part(fitted_cost(macro))

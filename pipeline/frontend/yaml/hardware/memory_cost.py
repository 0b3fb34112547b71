"""Reads the cost of a memory, or computes it: the fitted model, CACTI or a DRAM preset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, final

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
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Origin, one_of
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import (
    AREA,
    ENERGY,
    NODE,
    POWER,
    SWITCH,
    area,
    energy,
    power,
    technology,
)

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

DEFAULT_TECHNOLOGY: Final = 22.0
"""The default technology node in nm, the one of ZigZag's own cost extraction."""

DEFAULT_DRAM: Final = "ddr4"
"""The preset for memories that are only described as DRAM."""


class MemoryKind(StrEnum):
    """The type of a memory, the field ``mem_type``."""

    SRAM = "sram"
    RF = "rf"
    DRAM = "dram"


class SramModel(StrEnum):
    """The source of the costs of SRAM and register files."""

    FITTED = "fitted"
    CACTI = "cacti"


_R_COST: Final = Field(
    "r_cost",
    "energy of a read of a port's full width",
    ENERGY,
    "0.021",
    Need.CONDITIONAL,
    otherwise="unless `cost` or `auto_cost_extraction` computes it",
)
_W_COST: Final = Field(
    "w_cost",
    "energy of a write of a port's full width",
    ENERGY,
    "0.021",
    Need.CONDITIONAL,
    otherwise="unless `cost` or `auto_cost_extraction` computes it",
)
_AREA: Final = Field(
    "area",
    "area of one instance",
    AREA,
    "0.02",
    Need.OPTIONAL,
    otherwise="`0`, or the computed value",
)
_LEAKAGE: Final = Field(
    "leakage",
    "leakage power of one instance, used or not; counted with `static_energy: true`",
    POWER,
    "0.3",
    Need.OPTIONAL,
    otherwise="`0`, or the computed value",
    origin=Origin.NESTMAP,
)
_EXTRACTION: Final = Field(
    "auto_cost_extraction",
    "whether costs are computed; replaces stated `r_cost`, `w_cost` and `area`",
    SWITCH,
    "true",
    Need.OPTIONAL,
    otherwise="`true` with `cost`, else `false`",
)
_KIND: Final = Field(
    "mem_type",
    "the type of the memory; determines the default `cost` and the allowed ones",
    one_of(MemoryKind),
    "sram",
    Need.OPTIONAL,
    otherwise="any",
)
_COST: Final = Field(
    "cost",
    "the model that computes the costs: nestmap's own fit, the program CACTI, or a DRAM standard. "
    "Unlike `auto_cost_extraction`, it does not replace stated values",
    "one of fitted, cacti, ddr4, lpddr4, lpddr5, hbm2, hbm2e, hbm3, gddr6",
    "fitted",
    Need.OPTIONAL,
    otherwise=f"with `auto_cost_extraction: true`, `fitted`, or `{DEFAULT_DRAM}` for "
    "`mem_type: dram`; otherwise nothing is computed",
    origin=Origin.NESTMAP,
)
_TECHNOLOGY: Final = Field(
    "technology",
    "the technology node of the memory; only if its costs are computed, and not for DRAM",
    NODE,
    "28",
    Need.OPTIONAL,
    otherwise=f"the `technology` of the accelerator, else {DEFAULT_TECHNOLOGY:g}; for the cells of "
    "an IMC array, the node of the array",
    origin=Origin.NESTMAP,
)

COST_FIELDS: Final = (
    *(_R_COST, _W_COST, _AREA, _LEAKAGE),
    *(_EXTRACTION, _KIND, _COST, _TECHNOLOGY),
)
"""The fields of a memory that state its costs or how to compute them."""


@final
@dataclass(frozen=True, slots=True)
class CostSources:
    """The inputs of cost models other than the fields of a memory.

    ``technology`` is the node of the whole accelerator, if stated.
    """

    technology: Node | None = None
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

    def macro(self, technology: float | None) -> MemoryMacro:
        """The memory as the input of cost models; ``technology`` is in nm (``None``: the default).

        Raises:
            InputError: if such a memory cannot be built.
        """
        if self.bank is not None:
            with self.node.locate_errors():
                return self.bank.macro(self.size, technology)
        kinds = [port.kind for port in self.ports]
        with self.node.locate_errors():
            return MemoryMacro(
                size=self.size,
                width=self.width,
                read_ports=kinds.count(PortKind.READ),
                write_ports=kinds.count(PortKind.WRITE),
                read_write_ports=kinds.count(PortKind.READ_WRITE),
                technology=technology or DEFAULT_TECHNOLOGY,
            )

    def part(self, cost: MemoryCost) -> MemoryCost:
        """The memory's own cost, given the cost of its macro."""
        return cost if self.bank is None else self.bank.share(cost, self.width)


def memory_cost(
    fields: Mapping[Field, Node], built: MemoryDescription, sources: CostSources
) -> MemoryCost:
    """The cost of a memory; ``fields`` are the fields present in the file.

    Raises:
        InputError: if the fields do not determine the cost, or contradict each other.
    """
    given = _given(fields)
    if not _is_computed(fields):
        _check_unused(fields)
        for field, figure in ((_R_COST, "read_energy"), (_W_COST, "write_energy")):
            if figure not in given:
                expected = f"the field {field.name} (pJ per access), or cost: {SramModel.FITTED}"
                raise built.node.error(expected, f"no {field.name}")
        return MemoryCost(**({"area": 0.0, "leakage": 0.0} | given))
    model = _model(fields)
    found = (
        _sram_cost(model, fields, built, sources)
        if isinstance(model, SramModel)
        else _dram_cost(model, fields, built)
    )
    # As in ZigZag, auto_cost_extraction alone replaces stated values; cost does not.
    stay = given if _COST in fields else {k: v for k, v in given.items() if k == "leakage"}
    return copy_with(found, dict(stay))


def _given(fields: Mapping[Field, Node]) -> dict[str, float]:
    """The stated costs, by their names in :class:`MemoryCost`."""
    readers = {
        _R_COST: ("read_energy", energy),
        _W_COST: ("write_energy", energy),
        _AREA: ("area", area),
        _LEAKAGE: ("leakage", power),
    }
    return {
        figure: read(fields[field]) for field, (figure, read) in readers.items() if field in fields
    }


def _is_computed(fields: Mapping[Field, Node]) -> bool:
    """Whether a model computes the cost: ``cost`` names one, or ZigZag's switch is on."""
    switch = fields.get(_EXTRACTION)
    is_on = switch.boolean() if switch else _COST in fields
    if _COST in fields and not is_on:
        raise fields[_COST].error(
            "either cost or auto_cost_extraction: false", "cost with auto_cost_extraction: false"
        )
    return is_on


def _check_unused(fields: Mapping[Field, Node]) -> None:
    kind = fields.get(_KIND)
    if kind is not None and kind.text(_KIND.kind) not in list(MemoryKind):
        found = f"the unknown type {shortened(repr(kind.text(_KIND.kind)))}"
        warn_of_input(kind.where, found, one_of(MemoryKind))
    if _TECHNOLOGY in fields:
        technology(fields[_TECHNOLOGY])
        expected = f"cost: {SramModel.FITTED} or {SramModel.CACTI}, without which it has no effect"
        raise fields[_TECHNOLOGY].error(expected, "technology without cost")


def _model(fields: Mapping[Field, Node]) -> SramModel | DramPreset:
    """The model that ``cost`` names, else the default one of the ``mem_type``."""
    from nestmap.costmodel.memory_cost.dram import DramPreset  # noqa: PLC0415 (imports numba)

    kind = fields[_KIND].choice(MemoryKind) if _KIND in fields else None
    if _COST not in fields:
        return DramPreset(DEFAULT_DRAM) if kind is MemoryKind.DRAM else SramModel.FITTED
    named = fields[_COST]
    name = named.one_of([*SramModel, *DramPreset])
    suited = list(DramPreset) if kind is MemoryKind.DRAM else list(SramModel)
    if kind is not None and name not in suited:
        raise named.error(f"{suggestion(name, suited)} for mem_type: {kind}")
    return SramModel(name) if name in list(SramModel) else DramPreset(name)


def _dram_cost(
    preset: DramPreset, fields: Mapping[Field, Node], built: MemoryDescription
) -> MemoryCost:
    from nestmap.costmodel.memory_cost.dram import dram_cost  # noqa: PLC0415 (imports numba)

    if _TECHNOLOGY in fields:
        expected = "no technology: the energies of a DRAM are those of its standard"
        raise fields[_TECHNOLOGY].error(expected, f"technology with {preset}")
    return dram_cost(preset, built.width)


def _sram_cost(
    model: SramModel, fields: Mapping[Field, Node], built: MemoryDescription, sources: CostSources
) -> MemoryCost:
    named = fields.get(_TECHNOLOGY, None if built.bank else sources.technology)
    macro = built.macro(technology(named) if named else None)
    if model is SramModel.CACTI:
        try:
            return built.part(sources.cacti(macro))
        except InputError as error:
            raise fields[_COST].error(error.expected, error.found) from None
    from nestmap.costmodel.memory_cost.sram import fitted_cost  # noqa: PLC0415 (imports numba)

    return built.part(fitted_cost(macro))

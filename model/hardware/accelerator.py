"""A single-core accelerator: an operational array and its memory hierarchy."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from math import prod

from pydantic import Field, model_validator

from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import OUTPUT, ArrayDimension, MemoryOperand
from nestmap.model.hardware.imc import IMC_CELLS, ImcKind, ImcSizes, InMemoryCompute
from nestmap.model.hardware.memory import MemoryLevel, needed_movements
from nestmap.model.hardware.vector_unit import VectorUnit
from nestmap.model.units import (
    Area,
    AreaUnit,
    Bits,
    Count,
    MilliWatts,
    NanoSeconds,
    PicoJoules,
    Size,
    Width,
)


class ArraySide(Frozen, frozen=True):
    """One dimension of the operational array and its number of units."""

    name: ArrayDimension
    size: Size


class OperationalArray(Frozen, frozen=True):
    """The multiply-accumulate units.

    ``unit_energy`` is pJ per multiply-accumulate, ``unit_area`` the area of one unit,
    ``unit_leakage`` its static power in mW, ``clock_period`` is in ns. Along a systolic dimension
    operands advance one unit per cycle, so the last results come later (drain).
    ``cycles_per_operation`` is 1 except for bit-serial arrays. With ``holds_inputs`` a unit holds
    an input word while the loops do not change it; without, it reads the word from the innermost
    memory for every operation (the reference's ``access_same_data_considered_as_no_access``).
    Where an element of an operand in ``zero_gating`` is zero, its operations do nothing: they take
    their cycles, but no energy, nor do the accesses that they alone need at the innermost memories.
    Zeros of an operand in ``zero_skipping`` do that, too, and the array skips a step of all its
    units, which takes no cycle, if all elements of such an operand in it are zero.
    A bit that goes from a unit to the next takes ``hop_energy`` pJ: inputs that several share, and
    sums to which several add. Between two units, each operand moves at most ``hop_bandwidth`` bits
    a cycle; ``None``: any number.

    With ``imc`` the units compute in memory: energy, area and clock follow from the circuits and
    must not be given here. Dimensions sorted by name are columns, rows and, from the third on,
    banks.
    """

    sides: tuple[ArraySide, ...] = Field(min_length=1)
    unit_energy: PicoJoules
    unit_area: Area = 0.0
    unit_leakage: MilliWatts = 0.0
    clock_period: NanoSeconds | None = None
    systolic_dimensions: tuple[ArrayDimension, ...] = ()
    cycles_per_operation: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    holds_inputs: bool = True
    zero_gating: tuple[MemoryOperand, ...] = ()
    zero_skipping: tuple[MemoryOperand, ...] = ()
    hop_energy: PicoJoules = 0.0
    hop_bandwidth: Width | None = None
    imc: InMemoryCompute | None = None

    @model_validator(mode="after")
    def _check_dimensions(self) -> OperationalArray:
        names = [side.name for side in self.sides]
        if len(set(names)) != len(names):
            raise ValueError(f"array dimensions {', '.join(names)} are not all different")
        for name in self.systolic_dimensions:
            if name not in names:
                raise ValueError(
                    f"systolic dimension {name} is not in the array; expected one of "
                    f"{', '.join(names)}"
                )
        for verb, given in (("gate", self.zero_gating), ("skip", self.zero_skipping)):
            if OUTPUT in given or len(set(given)) < len(given):
                raise ValueError(
                    f"zeros of {', '.join(given)} {verb} operations; expected different inputs"
                )
        both = [name for name in self.zero_gating if name in self.zero_skipping]
        if both:
            raise ValueError(
                f"zeros of {', '.join(both)} gate and skip operations; expected one of them, as "
                "what is skipped is gated, too"
            )
        if self.imc is not None:
            self._check_imc(self.imc)
        return self

    def _check_imc(self, imc: InMemoryCompute) -> None:
        decided: tuple[tuple[str, object, object], ...] = (
            ("unit_energy", self.unit_energy, 0.0),
            ("unit_area", self.unit_area, 0.0),
            ("clock_period", self.clock_period, None),
            ("cycles_per_operation", self.cycles_per_operation, 1.0),
            ("holds_inputs", self.holds_inputs, True),
            ("systolic_dimensions", self.systolic_dimensions, ()),
            ("zero_gating", self.zero_gating, ()),
            ("zero_skipping", self.zero_skipping, ()),
            ("hop_energy", self.hop_energy, 0.0),
            ("hop_bandwidth", self.hop_bandwidth, None),
        )
        for name, found, expected in decided:
            if found != expected:
                raise ValueError(
                    f"{name} {found} of an IMC array; expected {expected}: its circuits set it"
                )
        if len(self.sides) < 2:
            raise ValueError(
                f"an IMC array of one dimension, {', '.join(self.sizes)}; expected two or more: "
                "columns, rows and banks"
            )
        rows = self.imc_sizes.rows
        if imc.kind is ImcKind.DIGITAL and rows & (rows - 1):
            raise ValueError(
                f"{rows} rows of a digital IMC array; expected a power of two, the inputs of an "
                "adder tree"
            )

    @property
    def imc_sizes(self) -> ImcSizes:
        """Columns, rows and banks of an IMC array."""
        columns, rows, *banks = (self.sizes[name] for name in sorted(self.sizes))
        return ImcSizes(columns=columns, rows=rows, banks=prod(banks))

    @property
    def operation_cycles(self) -> float:
        """Cycles per operation of a unit."""
        return self.imc.cycles_per_operation if self.imc else self.cycles_per_operation

    @property
    def sizes(self) -> dict[ArrayDimension, int]:
        """Units along each dimension."""
        return {side.name: side.size for side in self.sides}

    @property
    def units(self) -> Count:
        """Number of multiply-accumulate units."""
        return prod(side.size for side in self.sides)


class Counting(StrEnum):
    """How the model counts what a mapping moves, and what computation nodes hold and send.

    The two differ where an unrolling or a memory does not divide its loop, or a port is overloaded;
    between computation nodes also where a number of tiles does not divide a loop, where padding is
    read, and where a tensor passes through a reshape.
    """

    EXACT = "exact"
    """What an execution moves: tiles end where their loops do, and no port exceeds its width.

    Padding is neither stored nor sent; a node depends on the nodes that write what it reads.
    """

    REFERENCE = "reference"
    """As ZigZag and Stream count.

    Tiles are averages, and loads may overlap beyond the width of a port. Nodes pad loops to the
    next multiple of their tiles; padding counts; a node depends on all nodes that write between
    the first and the last index that it reads; bits that pass through a reshape count twice.
    """

    @classmethod
    def of(cls, reference: bool | None) -> Counting | None:
        """The counting that an option ``reference`` asks for; ``None`` if it is not given."""
        return None if reference is None else cls.REFERENCE if reference else cls.EXACT


class Accelerator(Frozen, frozen=True):
    """An array, its memories (innermost first) and, optionally, a vector unit.

    With ``counts_leakage`` the energy of a layer includes leakage while it runs; ``unused_leakage``
    (mW) is the leakage of memories that a layer does not use. ``area_unit`` is the unit of all
    areas; ``None``: they have none. With ``free_first_sum`` sums begin without a read: no memory
    sends a partial sum down before a part of it came up. With ``strict_ports`` a layer takes at
    least as long as each port needs for all that it moves, as it does in exact counting anyway.
    """

    name: str = Field(min_length=1)
    array: OperationalArray
    memories: tuple[MemoryLevel, ...] = Field(min_length=1)
    vector_unit: VectorUnit | None = None
    counts_leakage: bool = False
    unused_leakage: MilliWatts = 0.0
    area_unit: AreaUnit | None = None
    free_first_sum: bool = False
    strict_ports: bool = False
    counting: Counting = Counting.EXACT

    @property
    def room_for_sums(self) -> Bits:
        """The bits of the innermost memory of outputs."""
        return self.levels_of(OUTPUT)[0].instance.size

    def counted(self, counting: Counting | None) -> Accelerator:
        """The same in another counting; ``None``: unchanged."""
        same = counting is None or counting is self.counting
        return self if same else copy_with(self, {"counting": counting})

    @model_validator(mode="after")
    def _check_consistency(self) -> Accelerator:
        _ = self._is_valid
        return self

    @cached_property
    def _is_valid(self) -> bool:
        """Cached, because every model that contains an accelerator validates it again."""
        names = [level.name for level in self.memories]
        if len(set(names)) != len(names):
            raise ValueError(f"memory names {', '.join(names)} are not all different")
        for level in self.memories:
            for name in level.served_dimensions:
                if name not in self.array.sizes:
                    raise ValueError(
                        f"memory {level.name} serves dimension {name}, which is not in the array; "
                        f"expected some of {', '.join(self.array.sizes)}"
                    )
        for operand in self.operands:
            self._check_ports(operand)
        for operand in self.array.zero_gating:
            if operand not in self.operands:
                raise ValueError(
                    f"zeros of {operand} gate operations, which no memory holds; expected some of "
                    f"{', '.join(x for x in self.operands if x != OUTPUT)}"
                )
        self._check_vector_unit()
        self._check_cells()
        self._check_leakage()
        return True

    def _check_cells(self) -> None:
        """The array of an IMC accelerator is also one of its memories."""
        imc = self.array.imc
        if imc is None:
            return
        cells = next((level for level in self.memories if level.name == IMC_CELLS), None)
        if cells is None:
            names = ", ".join(level.name for level in self.memories)
            raise ValueError(
                f"an IMC array with memories {names}; expected one named {IMC_CELLS}, which holds "
                "the weights"
            )
        if len(cells.operands) != 1 or cells.operands[0] == OUTPUT or cells.served_dimensions:
            served = ", ".join(cells.served_dimensions) or "no dimension"
            raise ValueError(
                f"memory {IMC_CELLS} holds {', '.join(cells.operands)} and serves {served}; "
                "expected weights only, one memory for each unit: served_dimensions []"
            )
        if self.levels_of(cells.operands[0])[0] is not cells:
            raise ValueError(
                f"memory {IMC_CELLS} is above another memory of {cells.operands[0]}; expected it "
                "innermost"
            )
        if cells.instance.size % imc.weight_precision:
            raise ValueError(
                f"memory {IMC_CELLS} has {cells.instance.size} bit for weights of "
                f"{imc.weight_precision} bit; expected a whole number of weights"
            )

    def _check_leakage(self) -> None:
        if self.counts_leakage and self.array.imc is None and self.array.clock_period is None:
            raise ValueError(
                "static energy of an array without clock_period; expected the clock period in ns"
            )

    def _check_vector_unit(self) -> None:
        if self.vector_unit is None:
            return
        names, chosen = [level.name for level in self.levels_of(OUTPUT)], self.vector_unit.memory
        if not names or chosen not in (None, *names):
            raise ValueError(
                f"vector unit has memory {chosen}; expected a memory that holds outputs: "
                f"{', '.join(names) or 'there is none'}"
            )

    def _check_ports(self, operand: MemoryOperand) -> None:
        levels = self.levels_of(operand)
        for level in levels:
            for movement in needed_movements(operand, is_top=level is levels[-1]):
                if level.port_index(operand, movement) is None:
                    raise ValueError(
                        f"memory {level.name} has no port for '{operand}, {movement}'; expected "
                        "it in the allocation of one of its ports"
                    )

    @property
    def operands(self) -> tuple[MemoryOperand, ...]:
        """The memory operands, in order of appearance."""
        return tuple(dict.fromkeys(o for level in self.memories for o in level.operands))

    def levels_of(self, operand: MemoryOperand) -> tuple[MemoryLevel, ...]:
        """The memories that hold a memory operand, innermost first."""
        return tuple(level for level in self.memories if operand in level.operands)

    @property
    def cells(self) -> MemoryLevel:
        """The memory of an IMC accelerator that is the array itself."""
        return next(level for level in self.memories if level.name == IMC_CELLS)

    def instances_of(self, level: MemoryLevel) -> Count:
        """Instances of a level: one per unit along the dimensions that it does not serve."""
        sizes = self.array.sizes
        return prod(n for name, n in sizes.items() if name not in level.served_dimensions)

    @property
    def vector_memory(self) -> MemoryLevel | None:
        """The memory that vector operators read and write: the one the vector unit names.

        Otherwise the outermost memory that holds outputs; ``None`` if no memory holds outputs.
        """
        levels = self.levels_of(OUTPUT)
        chosen = self.vector_unit.memory if self.vector_unit else None
        return next((x for x in reversed(levels) if chosen in (None, x.name)), None)

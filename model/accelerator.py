"""An accelerator: an operational array and the memory hierarchy that feeds it."""

from __future__ import annotations

from functools import cached_property
from math import prod

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import OUTPUT, ArrayDimension, MemoryOperand
from nestmap.model.memory import MemoryLevel, needed_movements
from nestmap.model.units import Area, Count, MilliWatts, NanoSeconds, PicoJoules, Size
from nestmap.model.vector import VectorUnit


class ArraySide(Frozen, frozen=True):
    """One dimension of the operational array and how many units it has."""

    name: ArrayDimension
    size: Size


class OperationalArray(Frozen, frozen=True):
    """The multiply-accumulate units.

    ``unit_energy`` is pJ per multiply-accumulate, ``unit_area`` the area of one unit,
    ``unit_leakage`` the mW it takes whether or not it is used, ``clock_period`` is in ns. Along a
    systolic dimension operands move one unit a cycle, so the last results come later
    (drain). ``cycles_per_operation`` is 1 but for bit-serial arrays. With ``holds_inputs`` a unit
    keeps an input word for as long as the loops do not change it; without, it reads the word from
    the innermost memory for every operation (the reference's
    ``access_same_data_considered_as_no_access``).
    """

    sides: tuple[ArraySide, ...] = Field(min_length=1)
    unit_energy: PicoJoules
    unit_area: Area = 0.0
    unit_leakage: MilliWatts = 0.0
    clock_period: NanoSeconds | None = None
    systolic_dimensions: tuple[ArrayDimension, ...] = ()
    cycles_per_operation: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    holds_inputs: bool = True

    @model_validator(mode="after")
    def _dimensions(self) -> OperationalArray:
        names = [side.name for side in self.sides]
        if len(set(names)) != len(names):
            raise ValueError(f"array dimensions {', '.join(names)} are not all different")
        for name in self.systolic_dimensions:
            if name not in names:
                raise ValueError(
                    f"systolic dimension {name} is not in the array; expected one of "
                    f"{', '.join(names)}"
                )
        return self

    @property
    def sizes(self) -> dict[ArrayDimension, int]:
        """Units along each dimension."""
        return {side.name: side.size for side in self.sides}

    @property
    def units(self) -> Count:
        """Number of multiply-accumulate units."""
        return prod(side.size for side in self.sides)


class Accelerator(Frozen, frozen=True):
    """An array and its memories, innermost first, and where there is one a vector unit."""

    name: str = Field(min_length=1)
    array: OperationalArray
    memories: tuple[MemoryLevel, ...] = Field(min_length=1)
    vector_unit: VectorUnit | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Accelerator:
        _ = self._checked
        return self

    @cached_property
    def _checked(self) -> bool:
        """Made once: every model that gets an accelerator asks for it again."""
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
        self._check_vector_unit()
        return True

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
        """The memories that hold the operand, innermost first."""
        return tuple(level for level in self.memories if operand in level.operands)

    def instances_of(self, level: MemoryLevel) -> Count:
        """Instances of a level: one per unit along the dimensions that it does not serve."""
        sizes = self.array.sizes
        return prod(n for name, n in sizes.items() if name not in level.served_dimensions)

    @property
    def vector_memory(self) -> MemoryLevel | None:
        """Where vector operators read and write: the vector unit's memory if it names one.

        Else the outermost memory that holds outputs (of several outermost memories, theirs);
        ``None`` where no memory holds outputs.
        """
        levels = self.levels_of(OUTPUT)
        chosen = self.vector_unit.memory if self.vector_unit else None
        return next((x for x in reversed(levels) if chosen in (None, x.name)), None)

    @property
    def area(self) -> Area:
        """Area of all units, all memory instances and the vector unit."""
        array = self.array.units * self.array.unit_area
        memories = sum(x.instance.area * self.instances_of(x) for x in self.memories)
        return array + memories + (self.vector_unit.area if self.vector_unit else 0.0)

"""Memories: instances with ports, and the levels of a memory hierarchy."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Final

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import OUTPUT, ArrayDimension, MemoryOperand, Movement
from nestmap.model.units import Area, Bits, MilliWatts, PicoJoules, Width

# --- how a memory stores tensors that have zeros ---

BITMASK: Final = "bitmask"
RUN_LENGTH: Final = "run_length"
MOST_RUN_BITS: Final = 16


class Compression(Frozen, frozen=True):
    """The format in which a memory stores an operand.

    ``run_bits`` are the bits of a number of zeros that precedes each element which is not zero
    (run-length code; a run that is too long for them ends with an element that is zero). ``None``:
    a bit for each element says whether it is zero, and only the others are stored (bitmask).
    Source: Wu et al., Sparseloop, MICRO 2022; docs/cost-model.md#compressed-tensors.
    """

    operand: MemoryOperand
    run_bits: int | None = Field(default=None, ge=1, le=MOST_RUN_BITS)

    def __str__(self) -> str:
        form = BITMASK if self.run_bits is None else f"{RUN_LENGTH} {self.run_bits}"
        return f"{self.operand} {form}"


class PortKind(StrEnum):
    """The transfer directions of a port."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"

    def carries(self, movement: Movement) -> bool:
        """Whether the port can serve that movement."""
        return self is PortKind.READ_WRITE or (self is PortKind.READ) == movement.reads


class PortUse(Frozen, frozen=True):
    """One use of a port: a movement of an operand."""

    operand: MemoryOperand
    movement: Movement

    def __str__(self) -> str:
        return f"{self.operand}, {self.movement}"


class MemoryPort(Frozen, frozen=True):
    """A port: transfers between ``width_min`` and ``width_max`` bit/cycle.

    Transfers are counted in units of ``width_min``, energies are for ``width_max``.
    """

    name: str
    kind: PortKind
    width_min: Width
    width_max: Width
    allocation: tuple[PortUse, ...]

    @model_validator(mode="after")
    def _check_directions(self) -> MemoryPort:
        if self.width_min > self.width_max:
            raise ValueError(
                f"port {self.name} has width_min {self.width_min} above width_max "
                f"{self.width_max}; expected a minimum not above the maximum"
            )
        for use in self.allocation:
            if not self.kind.carries(use.movement):
                verb = "read" if use.movement.reads else "write"
                raise ValueError(
                    f"port {self.name} is a {self.kind} port and is allocated '{use}', a {verb}; "
                    f"expected a {verb} or read_write port"
                )
        return self


class MemoryInstance(Frozen, frozen=True):
    """One memory macro: ``size`` in bits, energies in pJ per access of a port's full width.

    ``leakage`` is the static power of one instance in mW.
    """

    name: str = Field(min_length=1)
    size: Bits = Field(gt=0)
    read_energy: PicoJoules
    write_energy: PicoJoules
    area: Area = 0.0
    leakage: MilliWatts = 0.0
    latency: int = Field(default=1, ge=0)
    ports: tuple[MemoryPort, ...] = Field(min_length=1)
    double_buffered: bool = False
    """Whether the memory always holds two copies of a tile, which takes twice the capacity."""
    window_reuse: bool = False
    """Whether the memory loads only what slides in when a loop moves a window of the inputs."""

    @property
    def peak_bandwidth(self) -> int:
        """The bits that all ports move in a cycle at most."""
        return sum(port.width_max for port in self.ports)


class MemoryLevel(Frozen, frozen=True):
    """A memory in the hierarchy: the operands it holds, and the array dimensions that share it.

    One instance serves all units along ``served_dimensions``; along every other array dimension
    there is one instance per unit. Operands in ``compression`` are stored compressed, unless that
    takes more bits.
    """

    instance: MemoryInstance
    operands: tuple[MemoryOperand, ...] = Field(min_length=1)
    served_dimensions: tuple[ArrayDimension, ...] = ()
    compression: tuple[Compression, ...] = ()

    @model_validator(mode="after")
    def _check_operands(self) -> MemoryLevel:
        compressed = tuple(x.operand for x in self.compression)
        for names, what in (
            (self.operands, "operand"),
            (self.served_dimensions, "dimension"),
            (compressed, "compressed operand"),
        ):
            if len(set(names)) != len(names):
                raise ValueError(f"memory {self.name} names one {what} twice: {', '.join(names)}")
        for name in compressed:
            if name not in self.operands:
                raise ValueError(
                    f"memory {self.name} compresses {name}; expected one of the memory's operands: "
                    f"{', '.join(self.operands)}"
                )
        for port in self.instance.ports:
            for use in port.allocation:
                if use.operand not in self.operands:
                    raise ValueError(
                        f"port {port.name} of memory {self.name} is allocated '{use}'; expected "
                        f"one of the memory's operands: {', '.join(self.operands)}"
                    )
        return self

    @property
    def name(self) -> str:
        """The name of the memory."""
        return self.instance.name

    def compression_of(self, operand: MemoryOperand) -> Compression | None:
        """The format in which the memory stores an operand; ``None``: as it is."""
        return next((x for x in self.compression if x.operand == operand), None)

    def port_index(self, operand: MemoryOperand, movement: Movement) -> int | None:
        """The index of the port that serves the movement (the last that lists it), or ``None``."""
        return self._serving_ports.get((operand, movement))

    @cached_property
    def _serving_ports(self) -> dict[tuple[MemoryOperand, Movement], int]:
        return {
            (use.operand, use.movement): i
            for i, port in enumerate(self.instance.ports)
            for use in port.allocation
        }


def needed_movements(operand: MemoryOperand, is_top: bool) -> tuple[Movement, ...]:
    """The movements for which a level needs a port.

    Inputs come from above and go down; outputs come from below and go up, and partial sums also
    travel back. Nothing lies above the top level.
    """
    if operand == OUTPUT:
        low = (Movement.RD_TO_LOW, Movement.WR_BY_LOW)
        return low if is_top else (*low, Movement.RD_TO_HIGH, Movement.WR_BY_HIGH)
    return (Movement.RD_TO_LOW,) if is_top else (Movement.RD_TO_LOW, Movement.WR_BY_HIGH)

"""Areas, energies and leakage of components, and the memory macros that cost models get."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.hardware.imc import ArrayPart
from nestmap.model.units import Area, Bits, MilliWatts, NanoMeters, PicoJoules, Width


class PartKind(StrEnum):
    """The component that a part belongs to."""

    ARRAY = "array"
    MEMORY = "memory"
    VECTOR_UNIT = "vector_unit"


class PartArea(Frozen, frozen=True):
    """The area of one part of an accelerator, by name; of a memory, all its instances together.

    An IMC array has several parts, one of which is its cells; any other array is one part.
    """

    part: str
    area: Area
    kind: PartKind = PartKind.ARRAY


class PartEnergy(Frozen, frozen=True):
    """The energy of one part of an IMC array for one layer, in pJ."""

    part: ArrayPart
    energy: PicoJoules


class StaticEnergy(Frozen, frozen=True):
    """Leakage of the array, or of all instances of a memory, while a layer runs.

    ``power`` is in mW; ``energy`` (pJ) is ``power`` times the clock period and the latency of the
    layer.
    """

    part: str
    power: MilliWatts
    energy: PicoJoules
    kind: PartKind = PartKind.ARRAY


# --- memory macros and their costs: the input and output of memory cost models ---


class MemoryMacro(Frozen, frozen=True):
    """A memory as the input of a cost model.

    ``size`` is the capacity in bits, ``width`` the bits per access, ``technology`` the node in nm.
    """

    size: Bits = Field(gt=0)
    width: Width
    read_ports: int = Field(default=0, ge=0)
    write_ports: int = Field(default=0, ge=0)
    read_write_ports: int = Field(default=0, ge=0)
    technology: NanoMeters

    @model_validator(mode="after")
    def _check_ports(self) -> MemoryMacro:
        if not self.read_write_ports and not (self.read_ports and self.write_ports):
            raise ValueError(
                f"{self.read_ports} read, {self.write_ports} write and no read_write ports; "
                "expected ports that read and ports that write"
            )
        if self.width > self.size:
            raise ValueError(
                f"width {self.width} above size {self.size}; expected an access of at most the "
                "whole memory"
            )
        return self


class MemoryCost(Frozen, frozen=True):
    """The cost of a memory: energies in pJ per access of the full width, area in mm2.

    ``leakage`` is its static power in mW.
    """

    read_energy: PicoJoules
    write_energy: PicoJoules
    area: Area
    leakage: MilliWatts

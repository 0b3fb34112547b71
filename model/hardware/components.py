"""What the parts of an accelerator cost: area, energy of computation, leakage."""

from __future__ import annotations

from enum import StrEnum

from nestmap.model.base import Frozen
from nestmap.model.hardware.imc import ArrayPart
from nestmap.model.units import Area, MilliWatts, PicoJoules


class PartKind(StrEnum):
    """What a part of an accelerator belongs to."""

    ARRAY = "array"
    MEMORY = "memory"
    VECTOR_UNIT = "vector_unit"


class PartArea(Frozen, frozen=True):
    """The area of one part of an accelerator, by name: of all instances of a memory.

    An IMC array has several parts, among them its cells, any other array one.
    """

    part: str
    area: Area
    kind: PartKind = PartKind.ARRAY


class PartEnergy(Frozen, frozen=True):
    """What one part of an IMC array spends on a layer."""

    part: ArrayPart
    energy: PicoJoules


class StaticEnergy(Frozen, frozen=True):
    """What leaks in the array or in all instances of a memory, by name, while a layer runs.

    ``energy`` is ``power`` times the clock period and the latency of the layer.
    """

    part: str
    power: MilliWatts
    energy: PicoJoules
    kind: PartKind = PartKind.ARRAY

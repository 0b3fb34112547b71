"""Costs of accelerator components: area, energy of computation, leakage."""

from __future__ import annotations

from enum import StrEnum

from nestmap.model.base import Frozen
from nestmap.model.hardware.imc import ArrayPart
from nestmap.model.units import Area, MilliWatts, PicoJoules


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

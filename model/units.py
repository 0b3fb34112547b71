"""The units of quantities, as annotated aliases of ``int`` and ``float``."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

Bits = Annotated[int, Field(ge=0)]
"""A number of bits."""

Density = Annotated[float, Field(gt=0, le=1)]
"""The share of a tensor's elements that are not zero."""

Width = Annotated[int, Field(gt=0)]
"""A transfer rate in bit per cycle."""

Cycles = Annotated[int, Field(ge=0)]
"""A number of clock cycles."""

PicoJoules = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""An energy in pJ."""

MilliWatts = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A power in mW; multiplied by ns, an energy in pJ."""

NanoSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A positive time in ns, such as a clock period."""

NanoMeters = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A technology node in nm."""

Volts = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A voltage in V."""

Area = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""An area, in the unit of the accelerator description, which may state none."""


class AreaUnit(StrEnum):
    """The units in which an accelerator description states areas."""

    MM2 = "mm2"


CyclesShare = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A possibly fractional number of cycles, for transfers that share a port."""

Count = Annotated[int, Field(ge=0)]
"""A non-negative count, such as word accesses, multiply-accumulates or evaluations."""

Size = Annotated[int, Field(ge=1, lt=2**31)]
"""The size of a loop or of an array dimension: a positive number of iterations or units."""

PositiveCount = Annotated[int, Field(ge=1)]
"""A positive count."""

Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""The temperature of annealing: the typical relative increase a step accepts; 0: none."""

Cooling = Annotated[float, Field(gt=0, le=1)]
"""The factor by which simulated annealing multiplies the temperature after each step."""

Seed = Annotated[int, Field(ge=0)]
"""The random seed: the same seed gives the same result."""

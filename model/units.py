"""The units of nestmap's figures, as annotated aliases of ``int`` and ``float``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Bits = Annotated[int, Field(ge=0)]
"""A number of bits."""

Width = Annotated[int, Field(gt=0)]
"""A transfer rate in bit per cycle."""

Cycles = Annotated[int, Field(ge=0)]
"""A number of clock cycles."""

PicoJoules = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""An energy in pJ."""

MilliWatts = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A power in mW; times ns it is an energy in pJ."""

NanoSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A time in ns that is not zero, such as a clock period."""

NanoMeters = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A technology node in nm."""

Volts = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A voltage in V."""

Area = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""An area, in the unit of the accelerator description (mm2 in the bundled ones)."""

CyclesShare = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A number of clock cycles that may be a fraction: transfers that share a port with others."""

Count = Annotated[int, Field(ge=0)]
"""A number of things: word accesses, multiply-accumulates, evaluations."""

Size = Annotated[int, Field(ge=1, lt=2**31)]
"""The size of a loop or of an array dimension: a positive number of iterations or units."""

PositiveCount = Annotated[int, Field(ge=1)]
"""A number of things of which there is at least one."""

Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""Of an annealing: by which share an objective may get worse in a step, about; 0: never."""

Cooling = Annotated[float, Field(gt=0, le=1)]
"""Of an annealing: what the temperature is multiplied by after each step."""

Seed = Annotated[int, Field(ge=0)]
"""Decides all that is random: the same seed gives the same result."""

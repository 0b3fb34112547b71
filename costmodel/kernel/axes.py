"""The meaning of the rows and columns of the cost model's arrays."""

from __future__ import annotations

OUT = 0
"""The row of the output in every array over operands."""

RD_LOW, WR_LOW, RD_HIGH, WR_HIGH = range(4)
"""The columns of the four movements, in the order of :data:`nestmap.model.MOVEMENTS`."""

FRACTIONAL, INTEGER = 0, 1
"""The two views of a spatial mapping: energy uses the first, latency the second."""

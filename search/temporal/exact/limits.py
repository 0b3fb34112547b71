"""Ever higher limits of the passes of a search."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.kernel.jit import kernel
from nestmap.model.arrays import Floats


@kernel
def limits_between(bound: float, most: float) -> Floats:
    """Limits from a bound up to the incumbent, or to infinity without one.

    A low limit takes few labels, and suffices if the optimum is low.
    """
    if most < np.inf:
        return bound + (most - bound) * np.array((1 / 16, 1 / 4, 1.0))
    limits = bound * (1 + np.array((0.01, 0.04, 0.16, 0.64, 2.56, 0.0)))
    limits[len(limits) - 1] = np.inf  # also if the bound is 0
    return limits

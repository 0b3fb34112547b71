"""The union of periodic windows in closed form.

Window ``k`` covers the first ``windows[k]`` cycles of each of its periods. The periods are
prefix products of one loop order, so each divides the next longer one and the pattern of all
shorter windows starts again in each of its periods. The length of the union within the first
``y`` cycles is then a sum over windows, the longest period first: whole periods count what one
period covers, and what is left lies within the window, or outside of it among the shorter ones.

Formula: docs/cost-model.md#union-of-windows
"""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.kernel.jit import kernel
from nestmap.model.arrays import Floats


@kernel
def covered_cycles(
    y: float, windows_used: int, periods: Floats, gain: Floats, rest: Floats, windows: Floats
) -> float:
    """Cycles among the first ``y`` that one of the first ``windows_used`` windows covers."""
    total = 0.0
    for k in range(windows_used - 1, -1, -1):
        whole = np.floor(y / periods[k])
        total += whole * gain[k]
        y -= whole * periods[k]
        if y <= windows[k]:
            return float(total + y)
        total += rest[k]
    return total


@kernel
def window_union(n: int, periods: Floats, windows: Floats, gain: Floats, rest: Floats) -> float:
    """Cycles that ``n`` windows cover within the longest period.

    ``periods`` ascend and each divides the next; ``0 <= windows <= periods``. ``gain`` and
    ``rest`` are scratch: cycles covered in one period of a window, and those of them in the
    window itself that no shorter window covers.
    """
    for k in range(n):
        rest[k] = windows[k] - covered_cycles(windows[k], k, periods, gain, rest, windows)
        gain[k] = rest[k] + covered_cycles(periods[k], k, periods, gain, rest, windows)
    return float(gain[n - 1])

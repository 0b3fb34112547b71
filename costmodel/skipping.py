"""Steps of the array that zeros skip, and the periods of transfers that nobody needs then.

All units work in lock-step: a step is skipped, and takes no cycle, if all elements of a skipping
operand that they use in it are zero. All figures are expected values of Sparseloop's uniform model.

Source: Wu et al., Sparseloop, MICRO 2022 (skipping; uniform density).
"""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work


@kernel
def executed_share(problem: FlatProblem) -> float:
    """The share of the steps of the array that are not skipped.

    Formula: docs/cost-model.md#skipped-steps
    """
    share = 1.0
    for x in range(1, problem.operands):
        if problem.skip_density[x] < 1.0:
            share *= 1.0 - np.power(1.0 - problem.skip_density[x], problem.step_words[x])
    return float(share)


@kernel
def skippable_cycles(problem: FlatProblem, steps: float) -> float:
    """The whole cycles of so many steps that are skipped; at least one is left.

    Formula: docs/cost-model.md#skipped-steps
    """
    cycles = steps * problem.cycles_per_operation
    idle = (1.0 - executed_share(problem)) * cycles
    return float(np.floor(min(idle, np.ceil(cycles) - 1.0)))


@kernel
def share_of_periods(problem: FlatProblem, work: Work, x: int, link: int) -> float:
    """The share of the periods of a link that are not skipped.

    At the array, where a period is a step, this is the share of steps. What stays for longer, or
    goes to a memory, moves in any case.

    Formula: docs/cost-model.md#skipped-steps

    Reads: cycles.
    Fills: nothing.
    """
    return executed_share(problem) if link == 0 and work.cycles[x, 0] == 1.0 else 1.0

"""Word accesses and their energy."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import FRACTIONAL
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work


@kernel
def count_accesses(problem: FlatProblem, work: Work) -> None:
    """Accesses in full-width words; a period's data is rounded up to minimal-width words.

    Formula: docs/cost-model.md#word-accesses

    Reads: bits, times.
    Fills: accesses.
    """
    for port in range(problem.ports):
        narrow, wide = problem.port_min[port], problem.port_max[port]
        for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
            x, level = problem.transfer_operand[t], problem.transfer_level[t]
            words = np.ceil(work.bits[FRACTIONAL, t] / narrow) * (narrow / wide)
            words *= work.times[FRACTIONAL, t] * problem.units[FRACTIONAL, x, level]
            work.accesses[t] = np.trunc(words)


@kernel
def memory_energy(problem: FlatProblem, work: Work) -> float:
    """The energy of all transfers, in pJ.

    Formula: docs/cost-model.md#of-memories

    Reads: accesses.
    Fills: energy.
    """
    total = 0.0
    for t in range(problem.transfers):
        work.energy[t] = work.accesses[t] * problem.transfer_energy[t]
        total += work.energy[t]
    return total

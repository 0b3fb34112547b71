"""With as many evaluations our genetic algorithm finds fronts at least as good as Stream's.

Both search with our scheduler, which behaves as Stream's here, on the costs that Stream had; the
means over seeds are compared. ``make stress`` (``NESTMAP_STRESS=1``) takes all problems.
"""

from statistics import fmean

import pytest

from nestmap.search.multicore.schedule.evaluator import Evaluator
from tests.golden.stream_runs import NAMES, problem_of, recorded_run
from tests.quality.stream_fronts import Arena
from tests.sweeps import STRESS

RUNS = NAMES if STRESS else ("fsrcnn_hetero", "mobilenet_tpu")
EQUAL = 1 - 1e-12


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.stress
def test_fronts_cover_at_least_as_much(name: str) -> None:
    run = recorded_run(name)
    problem = problem_of(run)
    arena = Arena(run, problem, Evaluator(problem))
    assert fmean(arena.ours()) >= fmean(arena.theirs()) * EQUAL

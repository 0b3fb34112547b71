"""Stream's recorded schedules beside those of nestmap's default mode, as a table for the docs.

``python -m tests.golden.compared`` prints it.
"""

from collections.abc import Iterator
from dataclasses import replace

from nestmap.model import Counting
from nestmap.model.base import copy_with
from nestmap.model.multicore.schedule import CandidateRule, Schedule
from nestmap.search.multicore.schedule.evaluator import schedule
from tests.golden.schedules import NAMES, problem_of, recorded_schedule

HEAD = (
    "| network, split | Stream | nestmap, `--reference` | rule `memory` | rule `latency` "
    "| rule `critical` |"
)


def table() -> Iterator[str]:
    """The rows: cycles and mJ of Stream, of the reference mode, of each rule in default mode."""
    yield HEAD
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in NAMES:
        run = recorded_schedule(name)
        cells = [f"{run.latency:,} cycles, {sum(run.energy.values()) / 1e9:.4g} mJ"]
        cells.append(_cell(schedule(*problem_of(name))))
        rules = (CandidateRule.MEMORY, CandidateRule.LATENCY, CandidateRule.CRITICAL)
        cells += [_cell(default_schedule(name, rule)) for rule in rules]
        yield f"| {name} | {' | '.join(cells)} |"


def _cell(made: Schedule) -> str:
    return f"{made.latency:,}, {made.energy.total / 1e9:.4g}"


def default_schedule(name: str, rule: CandidateRule) -> Schedule:
    """The schedule of a recorded problem in default mode: the same nodes, costs and allocation."""
    problem, allocation = problem_of(name)
    nodes = replace(problem.nodes, counting=Counting.EXACT)
    options = copy_with(problem.options, {"rule": rule})
    return schedule(replace(problem, nodes=nodes, options=options), allocation)


if __name__ == "__main__":
    print("\n".join(table()))

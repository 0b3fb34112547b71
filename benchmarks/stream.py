"""Networks on several cores against stream-dse 0.0.8: schedules, costs of nodes, fronts.

Run ``python -m benchmarks.stream``; with the path of a Python that has stream-dse (see
benchmarks/stream_dse.py) as argument both sides are measured, else only ours.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final

from tests.golden.stream_runs import (
    NAMES,
    RecordedRun,
    allocation_of,
    network_of,
    problem_of,
    recorded_run,
    split_with_costs,
)
from tests.quality.stream_fronts import Arena, Cost, hypervolume

from benchmarks.stream_dse import Answer, Question
from nestmap.model.multicore.allocation import Allocation, Fitness
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.stages.multicore.intra_core import CoreCostStage
from nestmap.search.multicore.schedule.evaluator import Evaluator

NESTMAP: Final = str(Path(sys.executable).with_name("nestmap"))
RATE: Final = "resnet18_tpu"
"""The run whose schedules are timed: 849 nodes."""
SAMPLE: Final = 12
"""So many of its allocations; the reference takes half a second for each."""
SMALL: Final = ("--individuals", "2", "--generations", "0")
LARGE: Final = ("--individuals", "32", "--generations", "100")


def main() -> None:
    """Prints a paragraph a part."""
    python = sys.argv[1] if len(sys.argv) > 1 else None
    for name in (RATE, "resnet18_hetero"):
        _schedules_and_costs(name, python)
    _command()
    for name in NAMES:
        _front(name, python)


def _schedules_and_costs(name: str, python: str | None) -> None:
    """Evaluations of allocations and costs of nodes, of a recorded run."""
    run = recorded_run(name)
    sample = [list(x.cores) for x in run.evaluated[:SAMPLE]]
    problem = problem_of(run)
    allocations = [allocation_of(problem, run, tuple(cores)) for cores in sample]
    rate, found = _rate(problem, allocations)
    seconds = _cost_seconds(run)
    print(f"{name}: {len(problem.nodes)} nodes; {rate:,.1f} schedules per CPU second; ", end="")
    print(f"costs of nodes {seconds:.3f} CPU s", flush=True)
    if python is None:
        return
    answer = _answer(python, run, sample)
    _check_costs(run, answer)
    theirs = len(sample) / answer["fitness_seconds"]
    off = max(
        abs(mine.latency / latency - 1)
        for mine, (_, latency) in zip(found, answer["fitness"], strict=True)
    )
    print(f"  stream-dse: {theirs:.2f}/s, ratio {rate / theirs:,.0f}, ", end="")
    print(f"latencies at most {off:.2%} apart; costs {answer['cost_seconds']:.1f} s, ", end="")
    print(f"ratio {answer['cost_seconds'] / seconds:,.0f}", flush=True)


def _rate(
    problem: ScheduleProblem, allocations: Sequence[Allocation]
) -> tuple[float, list[Fitness]]:
    """Schedules per CPU second, compiled, over at least two seconds; and what they cost."""
    evaluate = Evaluator(problem)
    found = [x for x in evaluate(allocations) if x is not None]
    assert len(found) == len(allocations)
    start = process_time()
    for rounds in count(1):
        evaluate(allocations)
        spent = process_time() - start
        if spent > 2:
            return rounds * len(allocations) / spent, found
    raise AssertionError


def _cost_seconds(run: RecordedRun) -> float:
    """CPU seconds for the costs of all nodes on all cores; no one is slower than recorded."""
    split = split_with_costs(run)
    stage, spent = CoreCostStage(), list[float]()
    costs = stage(split)  # compiled now
    for _ in range(3):
        start = process_time()
        costs = stage(split)
        spent.append(process_time() - start)
    for row, layer in enumerate(run.layers):
        for recorded in layer.costs:
            for core in recorded.cores:
                known = costs.cost_of(int(split.nodes.first_nodes[row]), core)
                assert known is not None, (layer.number, core)
                assert known.cost is not None, (layer.number, core)
                assert known.cost.runtime <= recorded.runtime, (layer.number, core, known.cost)
    return min(spent)


def _answer(python: str, run: RecordedRun, allocations: list[list[int]]) -> Answer:
    """What the reference says of allocations of a run."""
    question = Question(
        workload=str(network_of(run)),
        hints=list(run.hints),
        machine=run.machine,
        lpf_limit=run.lpf_limit,
        allocations=allocations,
    )
    script = str(Path(__file__).with_name("stream_dse.py"))
    with TemporaryDirectory() as folder:  # it may leave files
        done = subprocess.run(
            [python, "-P", script],  # this folder has a module of the name of its package
            input=json.dumps(question),
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    answer: Answer = json.loads(done.stdout)
    return answer


def _check_costs(run: RecordedRun, answer: Answer) -> None:
    """Asserts that both sides schedule with the same costs."""
    recorded = {
        (layer.number, core): (cost.runtime, cost.onchip + cost.offchip)
        for layer in run.layers
        for cost in layer.costs
        for core in cost.cores
    }
    assert len(recorded) == len(answer["costs"])
    for layer, core, cycles, energy in answer["costs"]:
        expected = recorded[layer, core]
        assert cycles == expected[0]
        assert abs(energy - expected[1]) <= 1e-9 * energy


def _command() -> None:
    """The whole command, 32 individuals and 100 generations, compiled before."""
    network = str(network_of(recorded_run(RATE)))
    for machine in ("quad_tpu", "quad_hetero"):
        with TemporaryDirectory() as folder:
            command = [NESTMAP, "stream", network, "--cores", machine, "--hint-loops", "OY=all"]
            _timed([*command, *SMALL, "--store", "warm.duckdb"], folder)
            wall, cpu = _timed([*command, *LARGE, "--store", "bench.duckdb"], folder)
        print(f"nestmap stream, 32 x 100, {machine}: {wall:.1f} s, {cpu:.1f} CPU s", flush=True)


def _timed(command: Sequence[str], folder: str) -> tuple[float, float]:
    """Wall and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    wall, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _front(name: str, python: str | None) -> None:
    """Hypervolumes after as many evaluations, by our scheduler; the first seed's by both."""
    run = recorded_run(name)
    problem = problem_of(run)
    arena = Arena(run, problem, Evaluator(problem))
    theirs, ours = arena.theirs(), arena.ours()
    print(
        f"{name}: {run.searched.evaluations} evaluations; hypervolume {_spread(theirs)}, ", end=""
    )
    print(f"ours {_spread(ours)}", flush=True)
    if python is None:
        return
    fronts = [[tuple(x[place] for place in problem.space.free_groups) for x in arena.front(0)]]
    fronts.append(list(run.searched.fronts[0]))
    answer = _answer(python, run, [list(cores) for front in fronts for cores in front])
    worst = Cost(max(x.energy for x in run.evaluated), max(x.latency for x in run.evaluated))
    costs = [Cost(*x) for x in answer["fitness"]]
    mine, other = costs[: len(fronts[0])], costs[len(fronts[0]) :]
    print(f"  seed 0 by stream-dse: {hypervolume(other, worst):.4f}, ", end="")
    print(f"ours {hypervolume(mine, worst):.4f}", flush=True)


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.4f} ({min(values):.4f} to {max(values):.4f})"


if __name__ == "__main__":
    main()

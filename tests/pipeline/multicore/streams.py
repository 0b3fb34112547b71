"""A small network on a small machine of several cores, and how it is scheduled in tests."""

from dataclasses import dataclass, field
from typing import Final, final

from nestmap.model import Layer, Workload
from nestmap.model.multicore.allocation import Generation
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.model.workload.builders import conv2d, network
from nestmap.pipeline.multicore.plan import StreamPlan, stream_plan
from nestmap.pipeline.multicore.run import StreamJob
from tests.model.multicore.cores import buffer, core, star

SPLIT: Final = SplitOptions(hints=((HintLoop(dimension="K", tiles=2),),))
PLAN: Final = stream_plan(split=SPLIT, individuals=6, generations=5, seed=3, lpf_limit=3)


def convolutions(count: int = 4) -> Workload:
    """So many convolutions in a row."""
    layers: list[Layer] = []
    for number in range(count):
        channels = 4 if layers else 3
        source = layers[-1] if layers else None
        image, weights = (1, channels, 4, 4), (4, channels, 3, 3)
        layers.append(conv2d(f"conv{number}", image, weights, padding=1, source=source))
    return network("net", *layers)


def problem(count: int = 4) -> StreamProblem:
    """Convolutions in a row on three cores that are linked to the memory off the chip only."""
    cores = (core(0), core(1), core(2, memory=buffer(size=8192)))
    return StreamProblem(workload=convolutions(count), accelerator=star(*cores))


def job(plan: StreamPlan = PLAN, workers: int = 1) -> StreamJob:
    """The job to schedule them."""
    return StreamJob(problem(), plan, workers)


@final
@dataclass
class Watched:
    """Whoever notes what an exploration tells; it is interrupted after so many generations."""

    until: int | None = None
    costs: int = 0
    proofs: int = 0
    generations: list[Generation] = field(default_factory=list[Generation])

    def split(self, split: SplitProblem) -> None:
        """The network is split."""

    def costed(self, done: int, of: int) -> None:
        """So many of the costs are known."""
        assert done <= of
        self.costs = done

    def prove(self, problem: ScheduleProblem) -> None:
        """The search by constraints begins."""
        self.proofs += 1

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        """The genetic search begins."""

    def observe(self, generation: Generation) -> None:
        """A generation has come to its end."""
        self.generations.append(generation)
        if generation.number == self.until:
            raise KeyboardInterrupt

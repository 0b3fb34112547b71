"""A run of several cores in a store, with something in each of its tables, and no search behind."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import numpy as np

from nestmap.model import Objective
from nestmap.model.multicore.allocation import (
    AllocationSpace,
    Fitness,
    Generation,
    Individual,
    NodeGroup,
    StreamBound,
)
from nestmap.model.multicore.cn_costs import INFEASIBLE, CnCost, CnCosts, RecordedCost
from nestmap.model.multicore.problem import StreamProblem
from nestmap.model.multicore.schedule import (
    OperandStreams,
    Residencies,
    Schedule,
    ScheduledTensors,
    ScheduleEnergy,
    ScheduleOptions,
    ScheduleProblem,
    Transfers,
)
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.store import Store, StreamInfo
from tests.pipeline.multicore.streams import SPLIT, problem
from tests.store.builders import layer, network
from tests.store.filled import results_of

RUNTIME = 10
ENERGY = ScheduleEnergy(
    computation=8.0,
    streaming=1.0,
    constant_links=0.5,
    constant_memory=0.25,
    activation_links=0.0,
    activation_memory=0.0,
    eviction_links=0.0,
    eviction_memory=0.0,
    result_links=0.0,
    result_memory=0.0,
)


def info(given: StreamProblem | None = None) -> StreamInfo:
    """A run about the small problem."""
    of = given or problem()
    return StreamInfo(
        command="nestmap stream",
        version="1",
        objective=Objective.LATENCY,
        workload=of.workload,
        accelerator=of.accelerator,
    )


def schedule_problem() -> ScheduleProblem:
    """Nodes of two kinds on two of three cores; the second kind cannot run on the third."""
    given = problem()
    nodes = GenerateCNWorkloadHybridStage(options=SPLIT)(given).nodes
    count = len(nodes)
    kind = np.minimum(np.arange(count), 1)
    runtime = np.array([[RUNTIME] * 3, [RUNTIME, RUNTIME, INFEASIBLE]])
    numbers = np.ones((2, 3), dtype=np.int64)
    return ScheduleProblem(
        accelerator=given.accelerator,
        nodes=nodes,
        space=AllocationSpace(
            groups=tuple(NodeGroup(layer=i, group=0, cores=(0, 1)) for i in range(count)),
            group_of=np.arange(count),
        ),
        costs=CnCosts(
            kind=kind,
            cores=(0, 1, 2),
            runtime=runtime,
            onchip=np.full((2, 3), 1.5),
            offchip=np.full((2, 3), 0.25),
            streamed=numbers * 5,
            read_rate=numbers * 3,
            write_rate=numbers * 2,
        ),
        options=ScheduleOptions(),
    )


def schedule(of: ScheduleProblem) -> Schedule:
    """All nodes on the first core, one after the other."""
    count = len(of.nodes)
    place = np.arange(count)
    some, cores, ends = np.arange(4), np.full(4, 9), np.full(4, 5)
    return Schedule(
        problem=of,
        allocation=(0,) * count,
        core=np.zeros(count, dtype=np.int64),
        start=place * RUNTIME,
        end=(place + 1) * RUNTIME,
        tensors=ScheduledTensors(node=place, operand=place * 0, bits=place + 8),
        transfers=Transfers(
            tensor=some,
            sender=some * 0 + 3,
            receiver=some * 0,
            sending=cores,
            receiving=cores * 0,
            start=some,
            end=ends,
            kind=some,
            node=some,
            link_energy=some / 2,
            memory_energy=some / 4,
        ),
        streams=OperandStreams(
            node=some,
            sending=cores,
            receiving=cores * 0,
            start=some + 4,
            end=ends + 4,
            rate=some + 1,
            link_energy=some / 8,
        ),
        residencies=Residencies(
            tensor=place,
            memory=place * 0,
            since=place,
            available=place,
            until=np.where(place < count - 1, place + 20, -1),
        ),
        latency=count * RUNTIME,
        energy=ENERGY,
    )


def individual(core: int, genes: int, possible: bool = True) -> Individual:
    """All genes on one core."""
    fitness = Fitness(latency=100 - core, energy=10.5 + core, memory=64) if possible else None
    return Individual(allocation=(core,) * genes, fitness=fitness)


def generation(number: int, genes: int) -> Generation:
    """A generation that has something of everything."""
    good, bad = individual(0, genes), individual(1, genes, possible=False)
    other = individual(1, genes)
    return Generation(
        number=number,
        population=(good, bad, other),
        front=(other, good),
        evaluations=3 * number + 3,
        scheduled=(good, bad) if number else (),
        improved=min(number, 1),
        exhaustive=False,
    )


def known_costs() -> dict[str, RecordedCost]:
    """A cost with a mapping behind it, one without, and one that cannot be."""
    cme = results_of(network(layer("a"), name="a")).layers[0].cme
    streamed = CnCost(
        runtime=7, onchip_energy=1.5, offchip_energy=2.5, streamed=("I", "O"), read_rate=8
    )
    return {
        "1" * 32: RecordedCost(cost=streamed, cme=cme),
        "2" * 32: RecordedCost(cost=CnCost(runtime=9, onchip_energy=0.1)),
        "3" * 32: RecordedCost(cost=None),
    }


def fill_stream(store: Store, finish: bool = True, generations: int = 2) -> UUID:
    """A run of several cores with rows in all tables of such runs."""
    of = schedule_problem()
    genes = len(of.space.groups)
    with store.start_stream(info()) as run:
        run.record_costs(known_costs())
        run.record_problem(of)
        best = individual(0, genes)
        run.record_bound(StreamBound(best=best, bound=40, proven=False, evaluations=9))
        for number in range(generations):
            run.record_generation(generation(number, genes))
        if finish:
            run.finish(schedule(of))
    return run.id


_MADE = TemporaryDirectory(prefix="nestmap-tests-")  # the stores below; gone when tests end


def filled_stream(path: Path, finish: bool = True) -> UUID:
    """A new store with a run of several cores; gives the run.

    New ones are copies of one store, so their runs have the same id.
    """
    made, run = _made_stream(finish)
    shutil.copyfile(made, path)
    return run


@cache
def _made_stream(finish: bool) -> tuple[Path, UUID]:
    path = Path(_MADE.name) / f"{finish}.duckdb"
    with Store.open(path) as store:
        return path, fill_stream(store, finish)

"""Schedules to report: small ones that are made without a scheduler, and runs in a store."""

from dataclasses import replace
from functools import cache
from typing import Final

from nestmap.model.base import copy_with
from nestmap.model.multicore.allocation import Fitness, Generation, Individual
from nestmap.model.multicore.cn_layer import CnLayer
from nestmap.model.multicore.schedule import Schedule
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.pipeline.pages.report.multicore.page import stream_report
from nestmap.pipeline.pages.report.multicore.reported_run import ReportedStream
from tests.pipeline.pages.report.dom import Element, read
from tests.pipeline.render.schedules import pipelined, streamed

NAMES: Final = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 2">',
    "{{ 7 * 7 }} ${window.hacked = 3} &amp; '\\u003cb>",
    "two\nlines",
    "blocks.11/attention/self/query/MatMul_quantized/" + "x" * 80,
)
"""Names of layers that markup could trip over."""


def named(schedule: Schedule, *names: str) -> Schedule:
    """The schedule with other names of its first layers; the first is the machine's, too."""
    problem = schedule.problem
    layers = list(problem.nodes.layers)
    for place, name in enumerate(names[: len(layers)]):
        layers[place] = _renamed(layers[place], name)
    machine = copy_with(problem.accelerator, {"name": names[0]})
    nodes = replace(problem.nodes, layers=tuple(layers), name=names[0])
    return replace(schedule, problem=replace(problem, accelerator=machine, nodes=nodes))


def _renamed(layer: CnLayer, name: str) -> CnLayer:
    return copy_with(layer, {"nest": copy_with(layer.nest, {"name": name})})


def generations(schedule: Schedule, count: int = 4) -> tuple[Generation, ...]:
    """A search that has found the schedule in its last generation."""
    cores = [gene.cores for gene in schedule.problem.space.groups]
    found: list[Generation] = []
    for number in range(count):
        steps = range(count - number)
        allocations = [tuple(x[step % len(x)] for x in cores) for step in steps]
        population = tuple(
            Individual(allocation=x, fitness=_fitness(schedule, number, step))
            for step, x in zip(steps, allocations, strict=True)
        )
        if number == count - 1:
            own = Individual(allocation=schedule.allocation, fitness=fitness(schedule))
            population = (*population, own)
        front = tuple(x for x in population if x.fitness is not None)
        found.append(
            Generation(
                number=number, population=population, front=front, evaluations=5 * number + 5
            )
        )
    return tuple(found)


def fitness(schedule: Schedule) -> Fitness:
    """What a schedule costs."""
    offchip = TopMemories(accelerator=schedule.problem.accelerator).offchip
    memory = sum(peak for place, peak in enumerate(schedule.peaks) if place not in offchip)
    return Fitness(latency=schedule.latency, energy=schedule.energy.total, memory=memory)


def _fitness(schedule: Schedule, number: int, step: int) -> Fitness | None:
    """Later generations are better; in each one latency is traded for energy."""
    if number == 1 and step == 1:
        return None
    latency = schedule.latency * 2 - 10 * number + 5 * step
    return Fitness(latency=latency, energy=3000.0 - 100 * number - 50 * step, memory=64 + step)


def reported(schedule: Schedule, anchor: str = "run-1") -> ReportedStream:
    """A schedule with the search for it."""
    return ReportedStream(anchor, schedule, generations(schedule))


def hostile() -> Schedule:
    """A schedule whose names are hard to show."""
    return named(pipelined(5, 4, 3), *NAMES)


def large() -> Schedule:
    """A schedule of more bars than are drawn at a time."""
    return pipelined(24, 90, 4)


@cache
def page() -> Element:
    """A report of one schedule, with streams."""
    return read(stream_report([reported(streamed())]))


@cache
def hostile_page() -> Element:
    """A report of one with names that are hard to show."""
    return read(stream_report([reported(hostile())]))


@cache
def compared_page() -> Element:
    """A report of two: layer by layer, and row by row."""
    layers, rows = pipelined(5, 1, 3), hostile()
    return read(stream_report([reported(layers, "run-1"), reported(rows, "run-2")]))

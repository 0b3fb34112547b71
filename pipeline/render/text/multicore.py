"""Sentences about a network on several cores: its split, search space, bounds, comparisons."""

from collections import Counter
from typing import Final

from nestmap.model import VectorNode, Workload
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.allocation import Fitness, StreamBound
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.format.numbers import capacity, count, cycles, printable, share

DEFINITIONS: Final = (
    "Nodes: parts of a layer that run one after the other; those of a group use the same constants "
    "and run on one core. Constants, inputs, output: what one node needs, from the least to the "
    "most. Edges: nodes of other layers whose output a node waits for, with the bits they send."
)


def machine_sentence(machine: MultiCoreAccelerator) -> str:
    """How many cores there are."""
    return (
        f"{printable(machine.name)}: {count(len(machine.cores))} cores, of which "
        f"{count(len(machine.compute_cores))} compute; core {machine.offchip} is off the chip."
    )


def split_totals(split: CnWorkload) -> str:
    """The totals in one sentence."""
    brings = split.edges.read >= 0
    sent = int(split.edges.bits[brings].sum())
    return (
        f"Total: {count(len(split))} nodes of {count(len(split.layers))} layers, "
        f"{count(len(split.edges))} edges: {count(int(brings.sum()))} bring {capacity(sent)}, "
        f"{count(int((~brings).sum()))} keep the order within a group."
    )


def passing_note(workload: Workload, split: CnWorkload) -> str:
    """The vector operators that no core runs and that are not split; empty if there are none."""
    made = {layer.nest.name for layer in split.layers}
    passing = Counter(
        node.operator
        for node in workload.nodes
        if isinstance(node, VectorNode) and node.name not in made
    )
    if not passing:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in sorted(passing.items()))
    return f"Operators that no core runs pass their data on at no cost: {counted}."


def problem_note(problem: ScheduleProblem) -> str:
    """The size of the search space, in one sentence."""
    nodes, space = problem.nodes, problem.space
    return (
        f"{count(len(nodes))} computation nodes of {count(len(nodes.layers))} layers, "
        f"{count(len(problem.costs.runtime))} kinds; {count(len(space.groups))} groups, "
        f"{count(len(space.free_groups))} with a choice of cores: {_many(space.size)} allocations."
    )


def _many(number: int) -> str:
    return count(number) if number < 1_000_000 else f"about 10^{len(str(number)) - 1}"


def bound_note(bound: StreamBound) -> str:
    """The bounds on the latency that the constraint solver found."""
    if bound.best is None or bound.best.fitness is None:
        least = "there is no schedule" if bound.proven else "no schedule was found"
        return f"By constraints: {least}, after {count(bound.evaluations)} allocations."
    found = cycles(bound.best.fitness.latency)
    if bound.proven:
        return f"By constraints: {found} cycles; no allocation has a shorter schedule."
    return (
        f"By constraints: {found} cycles, no schedule is shorter than {cycles(bound.bound)} cycles "
        f"(gap {share(bound.gap)})."
    )


def comparison_note(other: str, this: Fitness, that: Fitness) -> str:
    """The costs of this schedule relative to those of the other one, in one sentence."""
    parts = (
        ("latency", this.latency, that.latency),
        ("energy", this.energy, that.energy),
        ("memory", this.memory, that.memory),
    )
    said = (_ratio(name, one, two) for name, one, two in parts)
    return f"Against {other}: {', '.join(said)}."


def _ratio(name: str, one: float, other: float) -> str:
    return f"{name} x {one / other:.3f}" if other else f"{name} {one:g} instead of 0"

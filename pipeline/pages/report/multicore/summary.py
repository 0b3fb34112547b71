"""Summarizes a schedule in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator

from nestmap.model.multicore.schedule import TransferKind
from nestmap.pipeline.analysis.schedule.energy import energy_bars
from nestmap.pipeline.analysis.schedule.resource_loads import wire_loads
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.numbers import capacity, count, cycles, share, with_micro
from nestmap.pipeline.pages.report.multicore.reported_run import ReportedStream
from nestmap.pipeline.pages.report.summary import EDP_UNIT, Fact, Summary, edp, largest, parts_table
from nestmap.pipeline.render.charts.schedule.totals import busy_share, load_bars
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.text.multicore import bound_note, problem_note


def stream_summary(run: ReportedStream) -> Summary:
    """The summary of a schedule: energy by component, time of the cores by activity."""
    loads, energies = load_bars(run.schedule), energy_bars([""], [run.schedule.energy])
    return Summary(
        facts=tuple(_facts(run)),
        sentences=tuple(map(with_micro, _sentences(run))),
        energy=parts_table("Energy by purpose", "Energy", energies, cells.energy),
        latency=parts_table("Cycles of all cores by activity", "Cycles", loads, cells.cycles),
        notes=tuple(map(with_micro, _notes(run))),
    )


def _facts(run: ReportedStream) -> Iterator[Fact]:
    schedule, fitness = run.schedule, run.fitness
    nodes = schedule.problem.nodes
    cores = len(schedule.problem.accelerator.compute_cores)
    yield Fact("Latency", cells.cycles(schedule.latency), "cycles")
    yield Fact("Energy", cells.energy(fitness.energy))
    yield Fact("EDP", edp(fitness.edp), EDP_UNIT)
    yield Fact("Memory", cells.capacity(fitness.memory), "peaks on the chip, added up")
    yield Fact("Busy", cells.share(busy_share(schedule)), f"{cores} cores, on average")
    yield Fact("Nodes", cells.count(len(schedule.core)), f"{count(len(nodes.layers))} layers")
    yield Fact("Transfers", cells.count(len(schedule.transfers)), _evicted(run))
    if run.generations:
        yield Fact("Allocations", cells.count(run.generations[-1].evaluations), "scheduled")


def _evicted(run: ReportedStream) -> str:
    found = int((run.schedule.transfers.kind == TransferKind.EVICTION).sum())
    return f"{count(found)} of them evictions" if found else "no evictions"


def _sentences(run: ReportedStream) -> Iterator[str]:
    schedule = run.schedule
    yield (
        f"{cycles(schedule.latency)} cycles and {cells.energy(schedule.energy.total).text} for the "
        f"whole network, {run.splitting}."
    )
    energies = energy_bars([""], [schedule.energy])
    if any(energies.totals):
        yield f"Energy goes to {largest(energies)}."
    yield f"The cores: {largest(load_bars(schedule))}."
    yield from _busiest(run)
    yield problem_note(schedule.problem)
    if run.bound is not None:
        yield bound_note(run.bound)


def _busiest(run: ReportedStream) -> Iterator[str]:
    """The busiest channel and the fullest memory."""
    schedule = run.schedule
    wires = wire_loads(schedule)
    if wires and schedule.latency:
        most = wires[0]
        yield f"Busiest wire: {most.wire.name}, {share(most.busy / schedule.latency)} of the time."
    uses = [use for use in memory_uses(schedule) if use.peak and not use.offchip]
    if uses:
        full = max(uses, key=lambda use: use.peak / use.capacity)
        yield (
            f"Fullest memory on the chip: {full.home}, at most {capacity(full.peak)} of "
            f"{capacity(full.capacity)} ({share(full.peak / full.capacity)})."
        )


def _notes(run: ReportedStream) -> Iterator[str]:
    problem = run.schedule.problem
    yield (
        f"Ranges and bits by the {problem.convention.value} convention; candidate rule: "
        f"{problem.options.rule.value}."
    )
    if problem.options.prefetch:
        named = ", ".join(problem.options.prefetch)
        yield f"Sent before anything runs: {named}."

"""Summarizes the results of a run: totals, energy and cycles by component."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from nestmap.model import CostModelEvaluation, NetworkEvaluation
from nestmap.pipeline.analysis.network.stacked_bars import Bars, energy_bars, latency_bars
from nestmap.pipeline.format import numbers
from nestmap.pipeline.format.numbers import area_unit, with_micro
from nestmap.pipeline.pages.report.run import ReportedRun
from nestmap.pipeline.render.tables import cells
from nestmap.pipeline.render.tables.cells import EDP_UNIT
from nestmap.pipeline.render.tables.network import binding_port, parts_table
from nestmap.pipeline.render.tables.table import Cell, Table
from nestmap.pipeline.render.text.gap import gap_note
from nestmap.pipeline.render.text.network import network_notes, says_area
from nestmap.pipeline.stages.mapping.layers import skipped_note

_MOST_LAYERS: Final = 3


@final
@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name; ``note`` says more."""

    name: str
    cell: Cell
    note: str = ""


@final
@dataclass(frozen=True, slots=True)
class Summary:
    """Key numbers, sentences, two tables of components, and notes."""

    facts: tuple[Fact, ...]
    sentences: tuple[str, ...]
    energy: Table
    latency: Table
    notes: tuple[str, ...]


def summary(run: ReportedRun) -> Summary:
    """The summary of a run."""
    evaluation = run.evaluation
    energies, latencies = energy_bars(evaluation), latency_bars(evaluation)
    return Summary(
        facts=tuple(_facts(evaluation)),
        sentences=tuple(_sentences(run, energies, latencies)),
        energy=parts_table("Energy of the network by part", "Energy", energies, cells.energy),
        latency=parts_table("Cycles of the network by cause", "Cycles", latencies, cells.cycles),
        notes=tuple(_notes(run)),
    )


def _facts(evaluation: NetworkEvaluation) -> Iterator[Fact]:
    counted = "with vector operators" if evaluation.vector_counted else ""
    layers = len(evaluation.layers)
    yield Fact("Energy", cells.energy(evaluation.energy), counted)
    yield Fact("Latency", cells.cycles(evaluation.latency), "cycles" + (counted and f", {counted}"))
    if evaluation.clock_period is not None:
        seconds = evaluation.latency * evaluation.clock_period * 1e-9
        yield Fact("Time", cells.seconds(seconds), f"{evaluation.clock_period:.4g} ns a cycle")
    yield Fact("EDP", cells.edp(evaluation.edp), EDP_UNIT)
    yield Fact("MAC utilization", cells.share(evaluation.utilization), "ideal cycles over latency")
    yield Fact("MACs", cells.engineering(evaluation.macs), f"{layers} layer{'s' * (layers > 1)}")
    if evaluation.static_energy:
        part = numbers.share(evaluation.static_energy / evaluation.energy)
        yield Fact("Leakage", cells.energy(evaluation.static_energy), f"{part} of the energy")
    if says_area(evaluation.largest):
        yield Fact("Area", cells.plain(evaluation.area), area_unit(evaluation.largest.area_unit))
    yield Fact("Mappings", cells.count(evaluation.evaluations), "evaluated")
    if evaluation.gap is not None:
        yield gap_fact(evaluation.gap)


def gap_fact(gap: float) -> Fact:
    """How far a result may be from the optimum."""
    if not gap:
        return Fact("Gap", cells.gap(gap), "the lower bound is reached")
    return Fact("Gap", cells.gap(gap), "the optimum is at most this much lower")


def _sentences(run: ReportedRun, energies: Bars, latencies: Bars) -> Iterator[str]:
    cmes = [result.cme for result in run.evaluation.layers]
    yield (
        f"With the mapping of lowest {run.record.objective.long_name} for each layer, the network "
        f"takes {numbers.cycles(run.evaluation.latency)} cycles and "
        f"{cells.energy(run.evaluation.energy).text}."
    )
    if any(energies.totals):
        yield f"Energy goes to {largest(energies)}."
    yield f"Cycles: {largest(latencies)}."
    if len(cmes) > _MOST_LAYERS:
        yield _costliest(cmes, "cycles", lambda cme: float(cme.latency))
        yield _costliest(cmes, "energy", lambda cme: cme.energy)
    yield _waiting(cmes)


def largest(bars: Bars) -> str:
    """The largest components, with their shares."""
    sums = sorted(((sum(part.values), part.label) for part in bars.parts), reverse=True)
    total = sum(value for value, _ in sums)
    shown = [f"{name} {numbers.share(value / total)}" for value, name in sums if value]
    rest = len(shown) - 4
    return ", ".join(shown[:4]) + (f" and {rest} more" if rest > 0 else "")


def _costliest(
    cmes: Sequence[CostModelEvaluation], what: str, number: Callable[[CostModelEvaluation], float]
) -> str:
    order = sorted(cmes, key=number, reverse=True)[:_MOST_LAYERS]
    total = sum(map(number, cmes))
    if not total:
        return f"No layer takes {what}."
    names = ", ".join(f"{cme.layer} ({numbers.share(number(cme) / total)})" for cme in order)
    return f"Layers that take most {what}: {names}."


def _waiting(cmes: Sequence[CostModelEvaluation]) -> str:
    """The ports that stall the array, and in how many layers."""
    blamed = Counter(port for port in map(binding_port, cmes) if port)
    if not blamed:
        return "No memory port makes the array wait while it computes."
    ports = ", ".join(f"{name} ({n} layer{'s' * (n > 1)})" for name, n in blamed.most_common(3))
    return f"The array waits in {blamed.total()} of {len(cmes)} layers, most often for {ports}."


def _notes(run: ReportedRun) -> Iterator[str]:
    skipped = skipped_note(run.network.workload.layers, run.evaluation) if run.complete else ""
    for note in (gap_note(run.evaluation), *network_notes(run.evaluation, run.network), skipped):
        if note:
            yield with_micro(note)

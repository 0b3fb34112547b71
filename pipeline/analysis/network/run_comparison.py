"""Computes the bars of a comparison of runs."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from nestmap.model import CostModelEvaluation, NetworkEvaluation
from nestmap.pipeline.analysis.network.stacked_bars import (
    VECTOR,
    VECTOR_LOOK,
    Bars,
    Part,
    cmes_of,
    energy_parts,
    latency_parts,
)
from nestmap.pipeline.format.palette import run_look

Parts = Callable[[Sequence[CostModelEvaluation]], tuple[Part, ...]]


class NamedRun(NamedTuple):
    """The results and the name of a run."""

    name: str
    evaluation: NetworkEvaluation


def total_energies(runs: Sequence[NamedRun]) -> Bars:
    """The energy (pJ) of each run by component, including vector operators if they count."""
    return _totals(runs, energy_parts, [run.evaluation.vector_energy for run in runs])


def total_latencies(runs: Sequence[NamedRun]) -> Bars:
    """The latency (cycles) of each run by cause, including vector operators if they count."""
    return _totals(runs, latency_parts, [run.evaluation.vector_latency for run in runs])


def layer_energies(runs: Sequence[NamedRun]) -> Bars:
    """The energy (pJ) of each layer of any run, a part for each run; 0 for a missing layer."""
    return _by_layer(runs, lambda cme: cme.energy)


def layer_latencies(runs: Sequence[NamedRun]) -> Bars:
    """The latency (cycles) of each layer, as in :func:`layer_energies`."""
    return _by_layer(runs, lambda cme: float(cme.latency))


def _totals(runs: Sequence[NamedRun], parts_of: Parts, vector: Sequence[float]) -> Bars:
    """A bar for each run, with the same parts."""
    evaluations = [cmes_of(run.evaluation) for run in runs]
    parts = parts_of([cme for cmes in evaluations for cme in cmes])
    ends = list(accumulate(map(len, evaluations), initial=0))
    summed = (
        part._replace(values=tuple(sum(part.values[a:b]) for a, b in pairwise(ends)))
        for part in parts
    )
    return Bars(tuple(run.name for run in runs), (*summed, *_vector(runs, vector)))


def _vector(runs: Sequence[NamedRun], costs: Sequence[float]) -> Iterator[Part]:
    values = tuple(
        float(cost) if run.evaluation.vector_counted else 0.0
        for cost, run in zip(costs, runs, strict=True)
    )
    if any(values):
        yield Part(VECTOR, VECTOR_LOOK, values)


def _by_layer(runs: Sequence[NamedRun], number: Callable[[CostModelEvaluation], float]) -> Bars:
    values = [{cme.layer: number(cme) for cme in cmes_of(run.evaluation)} for run in runs]
    names = tuple(dict.fromkeys(name for found in values for name in found))
    parts = (
        Part(run.name, run_look(i), tuple(found.get(name, 0.0) for name in names))
        for i, (run, found) in enumerate(zip(runs, values, strict=True))
    )
    return Bars(names, tuple(parts))

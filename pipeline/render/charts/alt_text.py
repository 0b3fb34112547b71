"""Text alternatives of charts, in a sentence or two."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.analysis.network.roofline import Ceiling, Point
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.analysis.network.scatter import Cloud
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import TIMES, count, cycles, energy_text, share
from nestmap.pipeline.render.charts.vega_spec import plain

Written = Callable[[float], str]
"""The format of a number."""

_MOST_PARTS: Final = 4
_LONGEST: Final = 60


def cycles_text(number: float) -> str:
    """A number of cycles with its unit."""
    return f"{cycles(number)} cycles"


def called(name: str) -> str:
    """A name for use in a sentence."""
    return shortened(plain(name), _LONGEST)


def bars_text(bars: Bars, written: Written) -> str:
    """The total of all bars, the largest components, and the longest bar."""
    total = sum(bars.totals)
    sums = [(sum(part.values), part.label) for part in bars.parts]
    text = f"{written(total)} in all: {_parts_text(sums, total)}."
    if len(bars.names) > 1:
        longest, name = max(zip(bars.totals, bars.names, strict=True), key=lambda pair: pair[0])
        text += f" Most at {called(name)}: {written(longest)}{_share(longest, total)}."
    return text


def utilization_text(evaluation: NetworkEvaluation, ideal: Part) -> str:
    """The utilization of the network, and its range over the layers."""
    layers = [result.cme.layer for result in evaluation.layers]
    found = sorted(zip(ideal.values, layers, strict=True))
    text = f"{share(evaluation.utilization)} of the array is used over the whole latency."
    if len(found) > 1:
        (low, worst), (high, best) = found[0], found[-1]
        text += f" From {share(low)} ({called(worst)}) to {share(high)} ({called(best)})."
    return text


def roofline_text(points: Sequence[Point], peak: float) -> str:
    """The number of layers that each ceiling bounds."""
    binding = [point for point in points if point.binding]
    by = Counter(point.memory for point in binding)
    layers = f"{count(len(binding))} different {_plural('layer', len(binding))}"
    lowest = ", ".join(f"{called(memory)} for {count(n)}" for memory, n in by.most_common())
    return (
        f"{layers} below {peak:,.6g} MAC/cycle of the array. The memory whose ceiling is the "
        f"lowest: {lowest}."
    )


def ceiling_text(ceiling: Ceiling) -> str:
    """A memory and its bandwidth."""
    return f"{called(ceiling.memory)}: {ceiling.text}"


def mappings_text(clouds: Sequence[Cloud], front: int, shown: int) -> str:
    """The number of mappings and of points that represent them, and their ranges."""
    total = sum(len(cloud.energy) for cloud in clouds)
    energies = [float(x) for cloud in clouds for x in (cloud.energy.min(), cloud.energy.max())]
    latencies = [float(x) for cloud in clouds for x in (cloud.latency.min(), cloud.latency.max())]
    text = (
        f"{count(total)} recorded {_plural('mapping', total)} with {len(clouds)} spatial "
        f"{_plural('mapping', len(clouds))}, {count(front)} of them on the Pareto front. "
        f"Energy {energy_text(min(energies))} to {energy_text(max(energies))}, "
        f"latency {cycles(min(latencies))} to {cycles_text(max(latencies))}."
    )
    if shown < total:
        text += f" {count(shown)} points stand for all of them; the front is complete."
    return text


def totals_text(runs: Sequence[NamedRun], totals: Sequence[float], written: Written) -> str:
    """The total cost of each run, and its ratio to the first."""
    names = (run.name for run in runs)
    return compared_text(list(zip(names, totals, strict=True)), written)


def compared_text(named: Sequence[tuple[str, float]], written: Written) -> str:
    """Named numbers, and their ratios to the first one."""
    first = named[0][1]
    texts = (
        f"{called(name)} {written(total)}"
        + (f" ({TIMES}{total / first:.3g})" if i and first else "")
        for i, (name, total) in enumerate(named)
    )
    return f"{', '.join(texts)}."


def layers_text(runs: Sequence[NamedRun], layers: int) -> str:
    """The runs whose bars are side by side."""
    named = ", ".join(called(run.name) for run in runs)
    return f"{count(layers)} {_plural('layer', layers)}, a bar for each of: {named}."


def _parts_text(sums: Sequence[tuple[float, str]], total: float) -> str:
    most = sorted(sums, key=lambda pair: -pair[0])[:_MOST_PARTS]
    texts = [f"{called(label)} {share(value / total)}" for value, label in most if total]
    rest = len(sums) - len(most)
    return ", ".join([*texts, f"{rest} more {_plural('part', rest)}"] if rest else texts)


def _share(value: float, total: float) -> str:
    return f" ({share(value / total)})" if total else ""


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"

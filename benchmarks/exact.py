"""The exact search of every distinct layer of five networks on all bundled accelerators.

Run ``python -m benchmarks.exact [--quick] [ACCELERATOR ...]``; ``--quick`` takes SqueezeNet only.
CPU time of one search, compiled, one thread, one spatial mapping; what was found is asserted in the
same run: it fits, costs what the search claims, not less than the bound, and at most as much as the
best of LOMA with six loop factors. Prints a row for each accelerator and objective.
"""

import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import median
from time import process_time

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    Layer,
    MappingBatch,
    MappingProblem,
    MappingType,
    Objective,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import gap_to
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.search import best_of, loma, spatial_mappings
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.pinned import place_pinned_levels

MOBILENET = Path(str(files("zigzag") / "inputs" / "workload" / "mobilenetv2.onnx"))
QUICK = ("light:squeezenet",)
NETWORKS = (*QUICK, "light:resnet50", str(MOBILENET), "bert-base", "llama-7b-prefill-block")
LPF_LIMIT = 6
OPTIONS = ExactOptions()
ROUNDING = 1e-9
"""Bounds add in another order than the cost model."""


@dataclass(frozen=True)
class Search:
    """One search: CPU seconds, gap to the bound, and LOMA's best over the optimum.

    ``over`` is infinite where LOMA finds nothing that fits.
    """

    layer: str
    seconds: float
    gap: float
    over: float


def main() -> None:
    """Prints the table, and the memory that the process took at most."""
    words = sys.argv[1:]
    networks = QUICK if "--quick" in words else NETWORKS
    layers = distinct_layers(networks)
    machines = [word for word in words if not word.startswith("-")] or accelerator_names()
    print(
        "| accelerator | objective | layers | CPU ms, median | worst | gap 0 | gap <= 2 % "
        "| worst gap | LOMA over optimum, mean | worst | worst layers: time, gap, LOMA |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for machine in machines:
        for objective in Objective:
            print(row(machine, objective, list(searches(machine, objective, layers))), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{len(layers)} distinct layers; at most {peak:.0f} MB")


def distinct_layers(networks: Sequence[str]) -> list[Layer]:
    """The layers of all networks, of equal ones the first; their names begin with the network's."""
    layers: dict[Layer, Layer] = {}
    for network in networks:
        workload = read_workload(network)
        for layer in workload.layers:
            named = copy_with(layer, {"name": f"{workload.name} {layer.name}"})
            layers.setdefault(layer.anonymous, named)
    return list(layers.values())


def searches(machine: str, objective: Objective, layers: Sequence[Layer]) -> Iterator[Search]:
    """The search of each layer that fits the accelerator with its first spatial mapping."""
    accelerator = read_accelerator(machine)
    constraints = read_mapping(None, for_accelerator=machine)
    compiles = True
    for layer in layers:
        problem = MappingProblem(
            layer=layer, accelerator=accelerator, constraints=constraints.of(layer)
        )
        (mapping,) = spatial_mappings(problem, 1)
        spatial = SpatialProblem(problem=problem, spatial_mapping=mapping)
        if compiles:
            _search(spatial, objective)
            compiles = False
        found = _search(SpatialProblem(problem=problem, spatial_mapping=mapping), objective)
        if found is not None:
            yield found


def _search(spatial: SpatialProblem, objective: Objective) -> Search | None:
    """Searches, and checks what is found; nothing if no mapping fits."""
    start = process_time()
    batches = list(exact(SearchTask(spatial), objective, OPTIONS))
    seconds = process_time() - start
    best = best_of(batches, objective)
    theirs = best_of(map(evaluate_batch, loma(spatial, LPF_LIMIT, MappingType.UNEVEN)), objective)
    if not len(best):
        assert not len(theirs), spatial.layer.name
        return None
    value, mapping = float(best.values(objective)[0]), best.mappings.row(0)
    assert len(place_pinned_levels(spatial, mapping)), spatial.layer.name
    again = evaluate_batch(MappingBatch.of(spatial, mapping))
    assert float(again.values(objective)[0]) == value, spatial.layer.name
    bounds = best.statistics.bounds
    assert bounds is not None, spatial.layer.name
    assert bounds.of(objective) <= value * (1 + ROUNDING), spatial.layer.name
    over = float(theirs.values(objective)[0]) / value if len(theirs) else float("inf")
    assert over >= 1 - ROUNDING, spatial.layer.name
    return Search(spatial.layer.name, seconds, gap_to(bounds.of(objective), value), over)


def row(machine: str, objective: Objective, found: Sequence[Search]) -> str:
    """A row of the table."""
    if not found:
        return f"| {machine} | {objective} | 0 |"
    slowest = max(found, key=lambda x: x.seconds)
    widest = max(found, key=lambda x: x.gap)
    farthest = max(found, key=lambda x: x.over)
    finite = [x.over for x in found if x.over < float("inf")]
    figures = (
        f"{1e3 * median(x.seconds for x in found):.2f}",
        f"{1e3 * slowest.seconds:.1f}",
        f"{_share(x.gap == 0 for x in found):.0%}",
        f"{_share(x.gap <= 0.02 for x in found):.0%}",
        f"{widest.gap:.2%}",
        f"{sum(finite) / max(len(finite), 1):.4f}",
        f"{farthest.over:.3f}",
        f"{slowest.layer}, {widest.layer}, {farthest.layer}",
    )
    return f"| {machine} | {objective} | {len(found)} | {' | '.join(figures)} |"


def _share(conditions: Iterator[bool]) -> float:
    """The share of those that hold."""
    given = list(conditions)
    return sum(given) / len(given)


if __name__ == "__main__":
    main()

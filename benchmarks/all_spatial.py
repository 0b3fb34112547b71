"""The default search of layers without a mapping file: over all of their spatial mappings.

Run ``python -m benchmarks.all_spatial [--network NETWORK] [--reference] [ACCELERATOR ...]``. CPU
time of one thread, compiled, of each distinct layer, in exact or the reference's counting. That no
result is below its bound is asserted in the same run. Prints a row for each accelerator, network
and objective.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time

from benchmarks.exact import MOBILENET, ROUNDING, distinct_layers
from nestmap.model import Accelerator, Counting, Layer, LayerConstraints, MappingProblem, Objective
from nestmap.model.evaluation.objective import gap_to
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.read.accelerator import read_accelerator

NETWORKS = (
    "light:squeezenet",
    "light:resnet50",
    str(MOBILENET),
    "bert-base",
    "llama-7b-decode-block",
)


@dataclass(frozen=True)
class Search:
    """One search: CPU seconds, and the gap to the bound; no gap where no mapping fits."""

    seconds: float
    gap: float | None


def main() -> None:
    """Prints the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("accelerator", nargs="*", default=accelerator_names())
    parser.add_argument("--network", action="append")
    parser.add_argument("--reference", action="store_true")
    asked = parser.parse_args()
    counting = Counting.REFERENCE if asked.reference else Counting.EXACT
    print(
        "| accelerator | network | objective | layers | proven | CPU s | slowest layer "
        "| largest gap |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for machine in asked.accelerator:
        accelerator = read_accelerator(machine).counted(counting)
        for network in asked.network or NETWORKS:
            layers = distinct_layers([network])
            for objective in Objective:
                print(row(accelerator, network, objective, layers), flush=True)


def row(
    accelerator: Accelerator, network: str, objective: Objective, layers: Sequence[Layer]
) -> str:
    """A row of the table."""
    found = list(searches(accelerator, objective, layers))
    gaps = [x.gap for x in found if x.gap is not None]
    seconds = [x.seconds for x in found]
    name = network.rpartition("/")[2].removeprefix("light:").removesuffix(".onnx")
    figures = (
        f"{len(gaps)} of {len(layers)}",
        f"{gaps.count(0.0)}",
        f"{sum(seconds):.1f}",
        f"{max(seconds):.1f}",
        f"{max(gaps, default=0):.2%}",
    )
    return f"| {accelerator.name} | {name} | {objective} | {' | '.join(figures)} |"


def searches(
    accelerator: Accelerator, objective: Objective, layers: Sequence[Layer]
) -> Iterator[Search]:
    """The search of each layer; the first one is repeated, as it also loads the kernels."""
    search = best_stage(SearchPlan(objective=objective))
    for n, layer in enumerate((layers[0], *layers)):
        problem = MappingProblem(
            layer=layer, accelerator=accelerator, constraints=LayerConstraints()
        )
        start = process_time()
        best = search(problem)
        seconds, bounds = process_time() - start, best.statistics.bounds
        if n == 0:
            continue
        if not len(best):
            yield Search(seconds, None)
            continue
        value = float(best.values(objective)[0])
        assert bounds is not None, layer.name
        assert bounds.of(objective) <= value * (1 + ROUNDING), layer.name
        yield Search(seconds, gap_to(bounds.of(objective), value))


if __name__ == "__main__":
    main()

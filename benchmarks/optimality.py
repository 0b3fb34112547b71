"""What LOMA and SALSA leave on the table: their best over the optimum, network by network.

Run ``python -m benchmarks.optimality [NETWORK ...]``. One spatial mapping a layer, the first. LOMA
with 6 (as ZigZag by default), 7 and 8 loop factors, SALSA with three seeds, of which the best
counts. That none of them is better than the exact search is asserted in the same run, and that none
is below its bound.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.exact import distinct_layers
from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import EvaluationBatch, MappingProblem, MappingType, Objective, SpatialProblem
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.search import loma, spatial_mappings
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.salsa import Annealing, salsa

NETWORKS = ("light:squeezenet", "light:resnet50", "bert-base-block")
LIMITS, SEEDS = (6, 7, 8), (0, 1, 2)
ROUNDING = 1e-9


@dataclass(frozen=True)
class Found:
    """The best objective of each search for one layer; ``proven`` if the exact one is optimal."""

    optimum: float
    proven: bool
    of_loma: tuple[float, ...]
    of_salsa: float


def main() -> None:
    """Prints a row for each network, accelerator and objective."""
    networks = sys.argv[1:] or NETWORKS
    print("| network | accelerator | objective | proven | LOMA 6 | LOMA 8 | SALSA | worst layer |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for network in networks:
        for machine in accelerator_names():
            for objective in Objective:
                found = list(layers(network, machine, objective))
                if found:
                    print(row(network, machine, objective, found), flush=True)


def layers(network: str, machine: str, objective: Objective) -> Iterator[Found]:
    """The searches of every distinct layer that fits."""
    accelerator, constraints = (
        read_accelerator(machine),
        read_mapping(None, for_accelerator=machine),
    )
    for layer in distinct_layers([network]):
        problem = MappingProblem(
            layer=layer, accelerator=accelerator, constraints=constraints.of(layer)
        )
        mapping = spatial_mappings(problem, 1)[0]
        result = _search(SpatialProblem(problem=problem, spatial_mapping=mapping), objective)
        if result is not None:
            yield result


def _search(spatial: SpatialProblem, objective: Objective) -> Found | None:
    batches = list(exact(SearchTask(spatial), objective, ExactOptions()))
    optimum, bounds = _best(batches, objective), batches[-1].statistics.bounds
    if optimum is None or bounds is None:
        return None
    of_loma = [
        _best(map(evaluate_batch, loma(spatial, limit, MappingType.UNEVEN)), objective)
        for limit in LIMITS
    ]
    of_salsa = [
        _best(salsa(spatial, objective, Annealing(seed=seed), MappingType.UNEVEN, 1), objective)
        for seed in SEEDS
    ]
    others = [value for value in (*of_loma, *of_salsa) if value is not None]
    assert all(value >= optimum * (1 - ROUNDING) for value in others), spatial.layer.name
    assert bounds.of(objective) <= optimum * (1 + ROUNDING), spatial.layer.name
    known = [value if value is not None else float("inf") for value in (*of_loma, *of_salsa)]
    proven = bounds.of(objective) >= optimum * (1 - ROUNDING)
    return Found(optimum, proven, tuple(known[: len(LIMITS)]), min(known[len(LIMITS) :]))


def _best(batches: Iterable[EvaluationBatch], objective: Objective) -> float | None:
    values = [float(batch.values(objective).min()) for batch in batches if len(batch)]
    return min(values, default=None)


def row(network: str, machine: str, objective: Objective, found: list[Found]) -> str:
    """A row of the table: sums over the layers, and the worst layer of LOMA with six factors."""
    optimum = sum(x.optimum for x in found)
    shares = [sum(x.of_loma[i] for x in found) / optimum for i in (0, -1)]
    annealed = sum(x.of_salsa for x in found) / optimum
    worst = max(x.of_loma[0] / x.optimum for x in found)
    proven = f"{sum(x.proven for x in found)} of {len(found)}"
    figures = " | ".join(f"{share:.3f}" for share in (*shares, annealed, worst))
    return f"| {network} | {machine} | {objective.value} | {proven} | {figures} |"


if __name__ == "__main__":
    main()

"""Simulated annealing against zigzag-dse's SALSA: evaluations per CPU second, energy found.

One of our chains that starts anywhere, as the reference does, at equal evaluations; and the whole
search with its usual budget. Energy, because the reference anneals energy whatever was asked.
"""

import random
from dataclasses import dataclass
from queue import Queue
from time import process_time

import numpy as np
from tests.parity.reference_objects import (
    reference_accelerator,
    reference_layer,
    reference_mapping_type,
    reference_spatial_mappings,
)
from tests.quality.layers import bundled_layer
from zigzag.cost_model.cost_model import CostModelEvaluation as ReferenceCme
from zigzag.opt.salsa.engine import SalsaEngine

from nestmap.model import EvaluationBatch, MappingType, Objective, SpatialProblem
from nestmap.search import best_of
from nestmap.search.temporal.salsa import Annealing, salsa

CASES = (
    ("light:resnet50", "tpu_like", "n32"),
    ("light:resnet50", "meta_prototype", "n96"),
    ("light:bvlc_alexnet", "ascend_like", "n8"),
)
ITERATIONS = 1000
"""Evaluations of one chain, and of the reference, which takes about 10 ms for one."""

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Run:
    """One seed: energies in pJ, and the CPU seconds that the reference took."""

    chain: float
    whole: float
    reference: float
    reference_seconds: float


def main() -> None:
    """Prints a row a case, speeds and their ratio, and a row a seed, energies; ours as good."""
    ratios: list[float] = []
    print("layer, accelerator | ours /s | zigzag-dse /s | ratio")
    for network, accelerator, name in CASES:
        spatial = bundled_layer(network, accelerator, name)
        runs = [_run(spatial, seed) for seed in SEEDS]
        ours = _rate(spatial)
        theirs = len(runs) * ITERATIONS / sum(run.reference_seconds for run in runs)
        print(f"{name}, {accelerator} | {ours:,.0f} | {theirs:,.1f} | {ours / theirs:,.0f}")
        for seed, run in zip(SEEDS, runs, strict=True):
            print(
                f"  seed {seed}, {ITERATIONS} evaluations: {run.chain:,.0f} pJ, "
                f"zigzag-dse {run.reference:,.0f} pJ; usual budget: {run.whole:,.0f} pJ"
            )
            assert run.whole <= run.reference * (1 + 1e-9)
            ratios.append(run.chain / run.reference)
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"at equal evaluations: {mean:.4f} times the energy on average")
    assert mean <= 1 + 1e-9, ratios


def _run(spatial: SpatialProblem, seed: int) -> Run:
    start = process_time()
    reference = _reference(spatial, seed)
    seconds = process_time() - start
    found = best_of(_search(spatial, Annealing(seed=seed)), Objective.ENERGY)
    return Run(_one_chain(spatial, seed), float(found.energy[0]), reference, seconds)


def _search(spatial: SpatialProblem, annealing: Annealing) -> list[EvaluationBatch]:
    return list(salsa(spatial, Objective.ENERGY, annealing, MappingType.UNEVEN, workers=1))


def _one_chain(spatial: SpatialProblem, seed: int) -> float:
    """The least energy that the second chain visits, which knows nothing of LOMA."""
    batches = _search(spatial, Annealing(chains=2, iterations=ITERATIONS, seed=seed))
    return float(batches[-2].energy.min(initial=np.inf))


def _reference(spatial: SpatialProblem, seed: int) -> float:
    """The energy that the reference finds."""
    random.seed(seed)
    np.random.seed(seed)
    fractional, _ = reference_spatial_mappings(spatial)
    engine = SalsaEngine(
        accelerator=reference_accelerator(spatial.accelerator),
        layer=reference_layer(spatial.problem),
        spatial_mapping=fractional,
        mapping_type=reference_mapping_type(MappingType.UNEVEN),
        salsa_iteration_number=ITERATIONS,
    )
    answer: Queue[ReferenceCme] = Queue()
    engine.run(answer)  # pyright: ignore[reportUnknownMemberType]
    return float(answer.get().energy_total)


def _rate(spatial: SpatialProblem) -> float:
    """Our evaluations per CPU second, compiled, over at least half a second."""
    count, start = 0, process_time()
    while process_time() - start < 0.5:
        count += sum(map(len, _search(spatial, Annealing())))
    return count / (process_time() - start)


if __name__ == "__main__":
    main()

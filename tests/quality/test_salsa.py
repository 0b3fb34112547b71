"""SALSA finds the optimum where it is known, and never less than LOMA with six loop factors.

``make stress`` (``NESTMAP_STRESS=1``) takes all layers of all bundled networks.
"""

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import EvaluationBatch, MappingType, Objective, SpatialProblem
from nestmap.pipeline.frontend.bundled import accelerator_names, light_names
from nestmap.search import best_of, loma
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.permutations import count_permutations
from nestmap.search.temporal.salsa import Annealing, salsa
from tests.quality.layers import bundled_layer, bundled_layers
from tests.sweeps import STRESS

NETWORKS = light_names() if STRESS else ("light:alexnet", "light:resnet50")
MACHINES = accelerator_names() if STRESS else ("tpu_like", "meta_prototype", "edge_tpu_like")
EVERY = 1 if STRESS else 6
"""Of each network's different layers, one in so many."""

USUAL = Annealing()
EQUAL = 1 + 1e-12


def search(spatial: SpatialProblem, objective: Objective) -> list[EvaluationBatch]:
    return list(salsa(spatial, objective, USUAL, MappingType.UNEVEN, workers=2))


def best(spatial: SpatialProblem, objective: Objective) -> float:
    """The smallest objective that the search finds."""
    return smallest(best_of(search(spatial, objective), objective), objective)


def exhaustive(spatial: SpatialProblem, objective: Objective, limit: int | None) -> float:
    """The smallest objective among all orders."""
    batches = map(evaluate_batch, loma(spatial, limit, MappingType.UNEVEN))
    return smallest(best_of(batches, objective), objective)


def smallest(batch: EvaluationBatch, objective: Objective) -> float:
    return float(batch.values(objective).min(initial=np.inf))


def is_annealed(spatial: SpatialProblem) -> bool:
    return count_permutations(loop_factors(spatial, None)) > USUAL.budget


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize(
    ("network", "machine", "layer"),
    [
        ("light:squeezenet", "meta_prototype", "n33"),  # 23,760 orders
        ("light:alexnet", "meta_prototype", "n0"),  # 40,320
        ("light:resnet50", "meta_prototype", "n44"),  # 51,480
        ("light:alexnet", "ascend_like", "n4"),  # 60,480
        ("light:squeezenet", "edge_tpu_like", "n33"),  # 83,160
    ],
)
def test_the_chains_find_the_best_order_of_all_primes(
    network: str, machine: str, layer: str, objective: Objective
) -> None:
    spatial = bundled_layer(network, machine, layer)
    assert is_annealed(spatial)
    chains = search(spatial, objective)[-1 - USUAL.chains : -1]
    optimum = exhaustive(spatial, objective, None)
    assert min(smallest(chain, objective) for chain in chains) <= optimum * EQUAL


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("network", NETWORKS)
def test_it_is_at_least_as_good_as_loma_with_six_factors(network: str, machine: str) -> None:
    for spatial in bundled_layers(network, machine)[::EVERY]:
        for objective in Objective:
            few, found = exhaustive(spatial, objective, 6), best(spatial, objective)
            assert found <= few, (spatial.layer.name, objective)


@pytest.mark.parametrize(
    ("network", "machine", "layer", "objective", "gain"),
    [
        ("light:resnet50", "meta_prototype", "n133", Objective.ENERGY, 0.03),
        ("light:resnet50", "meta_prototype", "n81", Objective.EDP, 0.02),
        ("light:resnet50", "tpu_like", "n81", Objective.LATENCY, 0.01),
    ],
)
def test_it_is_better_where_finer_factors_help(
    network: str, machine: str, layer: str, objective: Objective, gain: float
) -> None:
    spatial = bundled_layer(network, machine, layer)
    assert best(spatial, objective) <= (1 - gain) * exhaustive(spatial, objective, 6)


def test_the_chains_alone_save_as_much_energy_as_loma_in_95_percent_of_layers() -> None:
    layers = [spatial for spatial in sample() if is_annealed(spatial)]
    worse = [spatial for spatial in layers if not _chains_reach_loma(spatial)]
    assert len(worse) <= 0.05 * len(layers), [spatial.layer.name for spatial in worse]


def _chains_reach_loma(spatial: SpatialProblem) -> bool:
    """Whether even those chains that start anywhere do."""
    chains = search(spatial, Objective.ENERGY)[-USUAL.chains : -1]
    found = min(smallest(chain, Objective.ENERGY) for chain in chains)
    return found <= exhaustive(spatial, Objective.ENERGY, 6) * EQUAL


def sample() -> list[SpatialProblem]:
    return [
        spatial
        for network in NETWORKS
        for machine in MACHINES
        for spatial in bundled_layers(network, machine)[::EVERY]
    ]

"""Explorations of every kind, small ones, and whoever watches what they compute."""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Final, NoReturn

import pytest

from nestmap.model import (
    EvaluationBatch,
    Layer,
    LayerConstraints,
    LayerNode,
    NetworkProblem,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import ExactStage, SalsaStage, SpatialMappingGeneratorStage
from tests.costmodel.machines import convolution, loops, machine, matmul, memory
from tests.loma import with_loma
from tests.pipeline.networks import FIRST, MACHINE, PROBLEM, SECOND, constrained
from tests.vectors import relu, with_unit


def named(layer: Layer, name: str, source: str | None = None) -> Layer:
    """The layer under a name; what it reads comes from ``source``."""
    weights, data = layer.inputs
    read = copy_with(data, {"source": source})
    constant = copy_with(weights, {"constant": True})
    return copy_with(layer, {"name": name, "inputs": (constant, read)})


BLOCKS: Final = Workload.of(
    *(named(FIRST, f"first{i}", f"second{i - 1}" if i else None) for i in range(3)),
    *(named(SECOND, f"second{i}") for i in range(3)),
    name="blocks",
)
VECTOR: Final = Workload(
    name="vector",
    nodes=(LayerNode(layer=FIRST), relu("r", 4, 16, sources=("first",)), LayerNode(layer=SECOND)),
)
# what passes between the layers has room in the buffer
CHAIN: Final = NetworkProblem(
    workload=Workload.of(
        named(matmul(k=8, c=12), "first"), named(matmul(k=6, c=8), "second", "first"), name="chain"
    ),
    accelerator=machine(
        memory("register", size=64, operands="I2", width=64),
        memory("buffer", size=512, operands="I1 O", served="D1 D2", width=64),
        memory("top", served="D1 D2", width=64),
        sides={"D1": 4, "D2": 2},
    ),
)
LARGE: Final = NetworkProblem(
    workload=Workload.of(
        copy_with(matmul(k=48, c=36, b=4), {"name": "first"}),
        copy_with(matmul(k=30, c=64, b=4), {"name": "second"}),
        name="large",
    ),
    accelerator=MACHINE,
)
"""Layers with more orders than a short walk visits."""

UNROLLED: Final = SpatialMapping(unrollings=(Unrolling(array_dimension="D1", loops=loops("K 2")),))


@dataclass(frozen=True)
class Kind:
    """An exploration: how it searches, and what."""

    plan: SearchPlan
    network: NetworkProblem = PROBLEM


def salsa(iterations: int = 60, seed: int = 3) -> SearchPlan:
    """A short walk over more orders than it visits."""
    stage = SalsaStage(chains=2, iterations=iterations, seed=seed, workers=2)
    return SearchPlan(search=stage, spatial=SpatialMappingGeneratorStage(max_mappings=2))


def bundled(name: str) -> NetworkProblem:
    """Two layers on a bundled accelerator, mapped as it does."""
    window = convolution({"K": 8, "C": 4, "OX": 14, "FX": 3}, "ix=2*ox+1*fx")
    workload = Workload.of(copy_with(window, {"name": "window"}), FIRST, name="small")
    return read_network(workload, name)


KINDS: Final[dict[str, Kind]] = {
    "loma": Kind(SearchPlan.of(with_loma(lpf_limit=4, workers=1))),
    "threads": Kind(SearchPlan.of(with_loma(lpf_limit=5, workers=3))),
    "primes": Kind(SearchPlan.of(SearchOptions(search="loma", lpf_limit=None, spatial_mappings=1))),
    "energy": Kind(SearchPlan.of(with_loma(lpf_limit=4, objective="energy"))),
    "product": Kind(SearchPlan.of(with_loma(lpf_limit=4, objective="edp"))),
    "many mappings": Kind(
        SearchPlan.of(SearchOptions(search="loma", lpf_limit=3, spatial_mappings=8, mixed=True))
    ),
    "even": Kind(SearchPlan.of(with_loma(lpf_limit=4, mapping_type="even"))),
    "bound": Kind(
        SearchPlan.of(SearchOptions(search="loma", lpf_limit=3, rank="bound", spatial_mappings=4))
    ),
    "prune": Kind(
        SearchPlan.of(SearchOptions(search="loma", lpf_limit=3, prune=True, spatial_mappings=6))
    ),
    "pad": Kind(
        SearchPlan.of(SearchOptions(search="loma", lpf_limit=4, pad=60, spatial_mappings=4))
    ),
    "exact": Kind(SearchPlan.of(SearchOptions(objective="edp"))),
    "exact, energy": Kind(SearchPlan.of(SearchOptions(objective="energy")), LARGE),
    "exact of few": Kind(SearchPlan.of(SearchOptions(spatial_mappings=2, mapping_type="even"))),
    "salsa": Kind(salsa(), LARGE),
    "salsa, few orders": Kind(salsa(iterations=100_000)),
    "blocks": Kind(
        SearchPlan.of(with_loma(lpf_limit=4)), NetworkProblem(workload=BLOCKS, accelerator=MACHINE)
    ),
    "on chip": Kind(SearchPlan.of(with_loma(lpf_limit=4, keep_on_chip=True)), CHAIN),
    "vector": Kind(
        SearchPlan.of(with_loma(lpf_limit=4, count_vector=True)),
        NetworkProblem(workload=VECTOR, accelerator=with_unit(MACHINE)),
    ),
    "fixed": Kind(
        SearchPlan.of(with_loma(lpf_limit=4)),
        constrained(
            LayerConstraints(target="first", spatial_mapping=UNROLLED),
            LayerConstraints(
                spatial_hints=(UnrollingHint(array_dimension="D1", dimensions=("C",)),)
            ),
        ),
    ),
    "eyeriss_like": Kind(SearchPlan.of(with_loma(lpf_limit=4)), bundled("eyeriss_like")),
    "edge_tpu_like": Kind(SearchPlan.of(with_loma(lpf_limit=4)), bundled("edge_tpu_like")),
    "tpu_like": Kind(SearchPlan.of(with_loma(lpf_limit=4)), bundled("tpu_like")),
}
FRONTS: Final = [name for name, kind in KINDS.items() if not kind.plan.prune]
SHARING: Final = [name for name in FRONTS if not isinstance(KINDS[name].plan.search, ExactStage)]
"""Kinds whose searches do not depend on the objective."""


@dataclass
class Seen:
    """Whoever watches: what is evaluated, and what is recalled."""

    evaluated: list[str] = field(default_factory=list[str])
    recalled: list[str] = field(default_factory=list[str])

    def start(self, network: NetworkProblem) -> None:
        """Nothing to note."""

    def observe(self, batch: EvaluationBatch) -> None:
        self.evaluated.append(batch.mappings.problem.layer.name)

    def recall(self, batch: EvaluationBatch) -> None:
        self.recalled.append(batch.mappings.problem.layer.name)


Function = tuple[str, str]
"""The module that calls it, and its name there."""

SEARCHING: Final[tuple[Function, ...]] = (
    ("nestmap.costmodel.evaluate", "evaluate_rows"),
    ("nestmap.search.temporal.loma", "allocate_rows"),
    ("nestmap.search.temporal.salsa", "anneal"),
)
COSTING: Final[Function] = ("nestmap.costmodel.evaluate", "evaluate_row")


def forbid(monkeypatch: pytest.MonkeyPatch, *functions: Function) -> None:
    """Whoever calls one of these fails."""

    def fail(*_: object) -> NoReturn:
        raise AssertionError("this was computed before")

    for module, name in functions:  # some functions have the names of their modules
        monkeypatch.setattr(import_module(module), name, fail)

"""Stages of the main pipeline: from a network to the evaluations of its layers' mappings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import PositiveInt, ValidationError

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    EvaluationBatch,
    Frozen,
    InputError,
    Layer,
    MappingBatch,
    MappingProblem,
    MappingType,
    NetworkProblem,
    SpatialProblem,
)
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.constraint_checks import check_layers
from nestmap.pipeline.stages.mapping.imc_skipped import mapped_layers
from nestmap.search import loma
from nestmap.search.temporal.loma import loma_order_count


class WorkloadStage(Frozen, Stage[NetworkProblem, Iterator[MappingProblem]], frozen=True):
    """The layers of a workload in topological order, with their constraints.

    An IMC array skips the poolings and additions of a hand-written workload.

    Raises:
        InputError: where there is no layer, or the constraints do not suit one or the accelerator.
    """

    def __call__(self, network: NetworkProblem, /) -> Iterator[MappingProblem]:
        check_layers(network)
        return layer_problems(network, mapped_layers(network))


def layer_problems(network: NetworkProblem, layers: Iterable[Layer]) -> Iterator[MappingProblem]:
    """Layers of the network with their constraints.

    Raises:
        InputError: where the constraints do not suit a layer or the accelerator.
    """
    for layer in layers:
        try:
            yield MappingProblem(
                layer=layer,
                accelerator=network.accelerator,
                constraints=network.constraints.of(layer),
                top_levels=network.top_levels_of(layer),
            )
        except ValidationError as error:
            where = f"mapping for layer {layer.name}"
            raise InputError.of(where, error) from None


class LomaStage(Frozen, Stage[SpatialProblem, Iterator[MappingBatch]], frozen=True):
    """Generates every order of the loop factors with its memory allocation, in batches.

    ``lpf_limit`` is the maximum number of loop factors (``None``: all prime factors). ``workers``
    is the number of threads; the result does not depend on it.

    Source: LOMA (Symons et al., AICAS 2021).
    """

    lpf_limit: PositiveInt | None = 6
    mapping_type: MappingType = MappingType.UNEVEN
    workers: PositiveInt = 1

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[MappingBatch]:
        return loma(spatial, self.lpf_limit, self.mapping_type, self.workers)

    def order_count(self, spatial: SpatialProblem) -> int:
        """The number of orders that the stage tries, feasible or not."""
        return loma_order_count(spatial, self.lpf_limit)


class CostModelStage(Frozen, Stage[MappingBatch, EvaluationBatch], frozen=True):
    """Evaluates every mapping of a batch."""

    def __call__(self, mappings: MappingBatch, /) -> EvaluationBatch:
        return evaluate_batch(mappings)

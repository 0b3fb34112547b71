"""Unrollings of the user's mapping that a result has only in part."""

from collections.abc import Iterator

from nestmap.model import Frozen, Layer, NetworkEvaluation, NetworkProblem, SpatialMapping
from nestmap.model.dims import ArrayDimension, Dimension
from nestmap.model.units import Count


class ReducedUnrolling(Frozen, frozen=True):
    """A loop dimension that a layer unrolls less often than the user's mapping asks for.

    The layer has fewer iterations, or the innermost memory along the array dimension cannot hold
    or deliver as many words.
    """

    layer: str
    array_dimension: ArrayDimension
    dimension: Dimension
    asked: Count
    used: Count


def reduced_unrollings(
    network: NetworkProblem, evaluation: NetworkEvaluation
) -> tuple[ReducedUnrolling, ...]:
    """The reduced unrollings of all layers, in the order of the results and of the mapping."""
    layers = {layer.name: layer for layer in network.workload.layers}
    return tuple(
        reduced
        for result in evaluation.layers
        for reduced in _of_layer(network, layers[result.cme.layer], result.cme.spatial_mapping)
    )


def _of_layer(
    network: NetworkProblem, layer: Layer, chosen: SpatialMapping
) -> Iterator[ReducedUnrolling]:
    wanted = network.constraints.of(layer).spatial_mapping or SpatialMapping()
    for unrolling in wanted.unrollings:
        side = unrolling.array_dimension
        used = _factors(chosen, side)
        for dimension, asked in _factors(wanted, side).items():
            if used.get(dimension, 1) < asked:
                yield ReducedUnrolling(
                    layer=layer.name,
                    array_dimension=side,
                    dimension=dimension,
                    asked=asked,
                    used=used.get(dimension, 1),
                )


def _factors(mapping: SpatialMapping, side: ArrayDimension) -> dict[Dimension, int]:
    """The unrolling of each loop dimension over an array dimension."""
    factors: dict[Dimension, int] = {}
    for loop in mapping.on(side):
        factors[loop.dimension] = factors.get(loop.dimension, 1) * loop.size
    return factors

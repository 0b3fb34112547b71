"""Writes a network as JSON: its layers and all other operators; sizes are in bits."""

from collections.abc import Sequence

from nestmap.model import Workload
from nestmap.pipeline.analysis.network.workload_summary import (
    LayerGroup,
    activation_bits,
    intensity,
    known_no_cost,
    vector_summaries,
    weight_bits,
)
from nestmap.pipeline.util.atomic_files import Json


def workload_json(workload: Workload, groups: Sequence[LayerGroup]) -> Json:
    """The whole report, sizes in bits; ``groups`` are the rows."""
    vectors = vector_summaries(workload)
    no_cost: dict[str, Json] = dict(known_no_cost(workload))
    unknown: dict[str, Json] = dict(workload.unknown_operators)
    return {
        "workload": workload.name,
        "total": {
            "nodes": len(workload.nodes),
            "layers": len(workload.layers),
            "different_layers": len({layer.anonymous for layer in workload.layers}),
            "macs": workload.macs,
            "weight_bits": sum(group.weight_bits for group in groups),
            "vector_operators": len(workload.vector_nodes),
            "vector_operations": sum(x.operations for x in vectors),
            "vector_bits_read": sum(x.bits_read for x in vectors),
            "vector_bits_written": sum(x.bits_written for x in vectors),
        },
        "layers": [_group_json(group) for group in groups],
        "vector_operators": [
            {
                "operator": x.operator,
                "nodes": x.nodes,
                "operations": x.operations,
                "bits_read": x.bits_read,
                "bits_written": x.bits_written,
            }
            for x in vectors
        ],
        "no_cost_operators": no_cost,
        "unknown_operators": unknown,
    }


def _group_json(group: LayerGroup) -> Json:
    layer, names = group.layer, group.names
    sizes: dict[str, Json] = dict(layer.sizes)
    precisions: dict[str, Json] = {x.name: x.precision for x in layer.operands}
    densities: dict[str, Json] = {x.name: x.density for x in layer.operands}
    weights, activations = weight_bits(layer), activation_bits(layer)
    return {
        "name": layer.name,
        "operator": layer.operator,
        "equation": layer.equation,
        "sizes": sizes,
        "precision": precisions,
        "density": densities,
        "macs": layer.macs,
        "weight_bits": weights,
        "activation_bits": activations,
        "macs_per_byte": intensity(layer.macs, weights + activations),
        "times": group.times,
        "names": [*names],
    }

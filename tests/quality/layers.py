"""Layers of the networks that everybody has, on the bundled accelerators."""

from functools import cache

from nestmap.model import MappingProblem, SpatialProblem
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages import SpatialMappingConversionStage


def bundled_layers(network: str, accelerator: str) -> list[SpatialProblem]:
    """The layers of a network, the first one of equals, mapped as bundled with the accelerator."""
    different: dict[str, SpatialProblem] = {}
    for spatial in _all_layers(network, accelerator):
        different.setdefault(f"{spatial.layer.equation} {spatial.layer.sizes}", spatial)
    return list(different.values())


def bundled_layer(network: str, accelerator: str, name: str) -> SpatialProblem:
    """The layer of that name."""
    layers = {spatial.layer.name: spatial for spatial in _all_layers(network, accelerator)}
    return layers[name]


@cache
def _all_layers(network: str, accelerator: str) -> tuple[SpatialProblem, ...]:
    constraints = read_mapping(None, for_accelerator=accelerator)
    machine = read_accelerator(accelerator)
    convert = SpatialMappingConversionStage()
    return tuple(
        convert(MappingProblem(layer=layer, accelerator=machine, constraints=constraints.of(layer)))
        for layer in read_workload(network).layers
    )

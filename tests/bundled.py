"""Layers on bundled accelerators: a fixed sample of problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nestmap.model import (
    Accelerator,
    Layer,
    Loop,
    MappingProblem,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
    layer_from_equation,
)
from nestmap.pipeline.inputs import read_accelerator

MACHINES: Final[Mapping[str, str]] = {
    "ascend_like": "3d0245db46c7c7cb3b8912bbe5228477",
    "edge_tpu_like": "aa4ede324447583cd8bed997492b9400",
    "eyeriss_like": "c14959937dbee7f5c5a40c54f65d727a",
    "meta_prototype": "199907f3cceb4fce2d3cf7b756db2a73",
    "tpu_like": "97d7eb44f01d9a7ca9e102abd6087def",
}
"""The accelerators of the sample, with their content hashes."""

LAYERS: Final[tuple[Layer, ...]] = (
    layer_from_equation(
        "O[g][k][oy][ox]+=W[g][k][c][fy]*I[g][c][iy][ox]",
        {"K": 40, "C": 24, "OX": 9, "OY": 7, "FY": 3, "G": 2},
        name="convolution",
        operator="Conv",
        relations=["iy=2*oy+1*fy"],
        axes={"IY": (14, (1, 0))},
    ),
    layer_from_equation(
        "O[h][m][n]+=W[h][c][n]*I[h][m][c]",
        {"N": 80, "C": 72, "M": 24, "H": 2},
        name="product",
        operator="MatMul",
    ),
)


def problems() -> tuple[SpatialProblem, ...]:
    """Every layer on every accelerator.

    Raises:
        ValueError: where a bundled accelerator is not what it was.
    """
    machines = [(read_accelerator(name), content) for name, content in MACHINES.items()]
    for accelerator, content in machines:
        if accelerator.content_hash != content:
            raise ValueError(
                f"{accelerator.name} is another one now: put its content_hash into MACHINES, and "
                "the digests of the sample as it is now into the tests that fail. If nothing but "
                "the accelerator has changed, VERSION stays."
            )
    return tuple(problem(layer, accelerator) for accelerator, _ in machines for layer in LAYERS)


def problem(layer: Layer, accelerator: Accelerator) -> SpatialProblem:
    """The layer on the accelerator, of whose array it takes what is simple to take.

    A dimension of the layer along each of the array, also where that leaves units idle.
    """
    loops = (loop for loop in layer.loops if loop.size > 2)
    unrollings = tuple(
        Unrolling(
            array_dimension=name,
            loops=(Loop(dimension=loop.dimension, size=min(units, loop.size)),),
        )
        for (name, units), loop in zip(accelerator.array.sizes.items(), loops, strict=False)
    )
    return SpatialProblem(
        problem=MappingProblem(layer=layer, accelerator=accelerator),
        spatial_mapping=SpatialMapping(unrollings=unrollings),
    )

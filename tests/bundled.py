"""Bundled networks, and layers on bundled accelerators: a fixed sample of problems."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from nestmap.model import Layer, SpatialProblem, Workload, layer_from_equation
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.workload import read_workload
from tests.costmodel.machines import mapped


class Machine(NamedTuple):
    """A bundled accelerator by its content hash, and what its array unrolls."""

    content: str
    unrolled: Mapping[str, str]


MACHINES: Final[Mapping[str, Machine]] = {
    "ascend_like": Machine(
        "3d0245db46c7c7cb3b8912bbe5228477", {"D1": "K 16", "D2": "C 16", "D3": "OX 2", "D4": "OY 2"}
    ),
    "edge_tpu_like": Machine(
        "aa4ede324447583cd8bed997492b9400", {"D1": "K 8", "D2": "C 8", "D3": "OX 4", "D4": "OY 4"}
    ),
    "eyeriss_like": Machine("c14959937dbee7f5c5a40c54f65d727a", {"D1": "OX 14", "D2": "K 12"}),
    "meta_prototype": Machine(
        "199907f3cceb4fce2d3cf7b756db2a73", {"D1": "K 32", "D2": "C 2", "D3": "OX 4", "D4": "OY 4"}
    ),
    "tpu_like": Machine("97d7eb44f01d9a7ca9e102abd6087def", {"D1": "K 32", "D2": "C 32"}),
}

LAYERS: Final[tuple[Layer, ...]] = (
    layer_from_equation(
        "O[k][oy][ox]+=W[k][c][fy][fx]*I[c][iy][ix]",
        {"K": 256, "C": 96, "OY": 28, "OX": 56, "FY": 3, "FX": 5},
        name="convolution",
        operator="Conv",
        relations=["iy=2*oy+1*fy", "ix=1*ox+1*fx"],
        axes={"IY": (56, (1, 0)), "IX": (56, (2, 2))},
    ),
    layer_from_equation(
        "O[oy][ox][k]+=W[oy][c][k]*I[oy][ox][c]",
        {"K": 768, "C": 500, "OX": 960, "OY": 4},
        name="product",
        operator="MatMul",
    ),
)
"""Their dimensions have the names that the machines unroll."""


def problems() -> tuple[SpatialProblem, ...]:
    """Every layer on every accelerator.

    Raises:
        ValueError: where a bundled accelerator is not what it was.
    """
    return tuple(problem(layer, name) for name in MACHINES for layer in LAYERS)


def problem(layer: Layer, name: str) -> SpatialProblem:
    """The layer on one of the accelerators."""
    accelerator, machine = read_accelerator(name), MACHINES[name]
    if accelerator.content_hash != machine.content:
        raise ValueError(
            f"{name} is another one now: put its content hash {accelerator.content_hash} into "
            "MACHINES, and the digests of the sample as it is now into the tests that fail. If "
            "nothing but the accelerator has changed, VERSION stays."
        )
    return mapped(layer, accelerator, machine.unrolled)


@lru_cache
def bundled_network(name: str) -> Workload:
    """A bundled network, read once."""
    return read_workload(name)

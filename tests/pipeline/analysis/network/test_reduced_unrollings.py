"""Unrollings that do not fit are named: the loop, the port or the capacity is too small."""

from collections.abc import Mapping

import pytest

from nestmap.model import (
    Accelerator,
    LayerConstraints,
    MappingConstraints,
    NetworkProblem,
    SpatialMapping,
    Unrolling,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.reduced_unrollings import reduced_unrollings
from nestmap.pipeline.explore.api import explore_network
from tests.costmodel.machines import loops, machine, matmul, memory
from tests.loma import LOMA_PLAN

WIDE = memory("top", served="D1", width=2**12)
NARROW = memory("narrow", operands="I2", served="D1", width=32)
"""Delivers 4 words of 8 bit."""

SMALL = memory("small", size=3 * 8, operands="I2", served="D1", width=2**12)
"""Holds 3 words of 8 bit."""


def found(accelerator: Accelerator, unrolled: Mapping[str, str]) -> list[tuple[str, str, int, int]]:
    """What is reduced of a mapping of a layer K 12, C 5 and of another one, K 2, C 5."""
    wanted = SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=name, loops=loops(text)) for name, text in unrolled.items()
        )
    )
    layers = (matmul(k=12, c=5), copy_with(matmul(k=2, c=5), {"name": "second"}))
    network = NetworkProblem(
        workload=Workload.of(*layers),
        accelerator=accelerator,
        constraints=MappingConstraints(entries=(LayerConstraints(spatial_mapping=wanted),)),
    )
    total = explore_network(network, LOMA_PLAN).total
    reduced = reduced_unrollings(network, total)
    assert {x.layer for x in reduced} <= {layer.name for layer in layers}
    assert all(x.array_dimension == "D1" for x in reduced)
    return [(x.layer, x.dimension, x.asked, x.used) for x in reduced]


@pytest.mark.parametrize(
    ("accelerator", "unrolled", "expected"),
    [
        (machine(WIDE, sides={"D1": 16}), {"D1": "K 2 C 5"}, []),
        (machine(WIDE, sides={"D1": 16}), {"D1": "K 8"}, [("second", "K", 8, 2)]),
        (machine(WIDE, sides={"D1": 16}), {"D1": "K 2 K 4"}, [("second", "K", 8, 2)]),
        # a dimension that no layer has is not unrolled
        (
            machine(WIDE, sides={"D1": 16}),
            {"D1": "OX 4"},
            [("layer", "OX", 4, 1), ("second", "OX", 4, 1)],
        ),
        (
            machine(NARROW, WIDE, sides={"D1": 16}),
            {"D1": "K 8"},
            [("layer", "K", 8, 4), ("second", "K", 8, 2)],
        ),
        (
            machine(SMALL, WIDE, sides={"D1": 16}),
            {"D1": "K 8"},
            [("layer", "K", 8, 3), ("second", "K", 8, 2)],
        ),
    ],
)
def test_reduced_unrollings(
    accelerator: Accelerator, unrolled: Mapping[str, str], expected: list[tuple[str, str, int, int]]
) -> None:
    assert found(accelerator, unrolled) == expected

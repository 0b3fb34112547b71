"""Unrollings over several array dimensions are compared with what layers iterate."""

import warnings

import pytest

from nestmap.model import (
    InputWarning,
    LayerConstraints,
    Loop,
    MappingConstraints,
    NetworkProblem,
    SpatialMapping,
    Unrolling,
    Workload,
    layer_from_equation,
)
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.stages.mapping.layers import check_constraints


def problem(size: int, *factors: int) -> NetworkProblem:
    """A layer of ``size`` outputs, which are unrolled over each array dimension."""
    layer = layer_from_equation("O[k]+=W[k][c]*I[c]", {"K": size, "C": 4}, name="first")
    mapping = SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=f"D{i}", loops=(Loop(dimension="K", size=factor),))
            for i, factor in enumerate(factors, start=1)
        )
    )
    entry = LayerConstraints(target="default", spatial_mapping=mapping)
    return NetworkProblem(
        workload=Workload.of(layer),
        accelerator=read_accelerator("tpu_like"),
        constraints=MappingConstraints(entries=(entry,)),
    )


def test_a_dimension_unrolled_twice_beyond_its_size_is_a_warning() -> None:
    with pytest.warns(InputWarning) as caught:
        check_constraints(problem(2, 2, 2), "mapping.yaml")
    (warning,) = caught
    assert str(warning.message) == (
        "mapping.yaml: default: spatial_mapping: found K unrolled 2 x 2 times; expected at most "
        "the 2 iterations that layers have; the last unrollings are reduced"
    )


@pytest.mark.parametrize(
    ("size", "factors"), [(4, (2, 2)), (27, (2, 14)), (3, (2, 2)), (2, (4,)), (1, (1, 1))]
)
def test_unrollings_that_fill_or_round_up_are_none(size: int, factors: tuple[int, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_constraints(problem(size, *factors), "mapping.yaml")

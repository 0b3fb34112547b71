"""The mapping bundled with an accelerator, for layers that do not have what it unrolls."""

import pytest

import nestmap
from nestmap.model import InputError, Workload
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.explore.replay import only_layer
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.stages import SpatialMappingConversionStage, WorkloadStage
from tests.pipeline.cli.inputs import run

CONVOLUTION = nestmap.conv2d("conv", (1, 16, 14, 14), (32, 16, 3, 3), padding=1)
PRODUCT = nestmap.matmul("product", (64, 32), (32, 128))
PRODUCTS = nestmap.network("products", PRODUCT)
BOTH = nestmap.network("both", CONVOLUTION, PRODUCT)


def test_nothing_is_unrolled_beforehand_for_a_layer_without_those_dimensions() -> None:
    constraints = read_network(BOTH, "eyeriss_like").constraints
    bundled = read_network(nestmap.network("one", CONVOLUTION), "eyeriss_like").constraints
    assert constraints.of(CONVOLUTION) == bundled.of(CONVOLUTION)
    assert constraints.of(CONVOLUTION).spatial_mapping is not None
    assert constraints.of(PRODUCT).spatial_mapping is None
    assert constraints.of(PRODUCT).links == bundled.of(CONVOLUTION).links


def test_hints_name_what_a_layer_has() -> None:
    constraints = read_network(BOTH, "dimc").constraints
    dimensions = {
        layer.name: {x.array_dimension: x.dimensions for x in constraints.of(layer).spatial_hints}
        for layer in (CONVOLUTION, PRODUCT)
    }
    assert dimensions == {
        "conv": {"D1": ("K",), "D2": ("C", "FX", "FY")},
        "product": {"D1": ("K",), "D2": ("C",)},
    }


@pytest.mark.parametrize("accelerator", accelerator_names())
def test_matrix_products_use_every_bundled_array(accelerator: str) -> None:
    found = nestmap.explore(PRODUCTS, accelerator, search="loma", spatial_mappings=3, lpf_limit=3)
    assert found.layers[0].cme.spatial_utilization > 0.2


@pytest.mark.parametrize("workload", [PRODUCTS, BOTH])
def test_a_mapping_that_is_asked_for_stays_as_it_is(workload: Workload) -> None:
    if workload is PRODUCTS:
        with pytest.raises(InputError, match="OY"):
            read_network(workload, "eyeriss_like", "eyeriss_like")
    else:
        asked = read_network(workload, "eyeriss_like", "eyeriss_like").constraints
        assert asked.of(PRODUCT).spatial_mapping == asked.of(CONVOLUTION).spatial_mapping


def test_evaluating_starts_from_the_same_mapping_as_exploring() -> None:
    name, layer = "bert-base-block", "block/up"
    problem = only_layer(WorkloadStage()(read_network(name, "eyeriss_like")), layer)
    left = SpatialMappingConversionStage()(problem).temporal_sizes
    order = ", ".join(f"{dimension} {size}" for dimension, size in left.items())
    ended = run("evaluate", name, "--layer", layer, "-a", "eyeriss_like", "--order", order)
    assert (ended.code, ended.err) == (0, "")

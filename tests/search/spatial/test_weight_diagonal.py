"""Weight-diagonal mapping: pixels fill idle columns as far as there are idle rows."""

from collections.abc import Mapping
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.area_leakage import total_area
from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    Layer,
    LayerConstraints,
    MappingType,
    SpatialProblem,
    UnrollingHint,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.search import loma
from nestmap.search.spatial.weight_diagonal import weight_diagonal
from tests.costmodel.machines import mapped, matmul
from tests.properties.variants import examples
from tests.search.cells import array_of_cells

SIZES = {"K": 16, "C": 4, "OX": 24, "OY": 24, "FX": 3, "FY": 3}


def layer(stride: int = 1, **sizes: int) -> Layer:
    """A convolution over two axes."""
    return layer_from_equation(
        "O[k][oy][ox]+=W[k][c][fy][fx]*I[c][iy][ix]",
        SIZES | sizes,
        name="conv",
        relations=[f"ix={stride}*ox+1*fx", f"iy={stride}*oy+1*fy"],
    )


def units(spatial: SpatialProblem) -> int:
    """Units that work."""
    return prod(x.factor for x in spatial.spatial_mapping.unrollings)


@pytest.mark.parametrize(
    ("columns", "rows", "stride", "unrolled", "expected"),
    [
        # 2 of 32 columns are idle for K 16; FX 3 and OX 2 need 4 rows
        (32, 32, 1, {"D1": "K 16", "D2": "FX 3"}, "K 16 OX 2"),
        (32, 4, 1, {"D1": "K 16", "D2": "FX 3"}, "K 16 OX 2"),
        (32, 3, 1, {"D1": "K 16", "D2": "FX 3"}, "K 16"),  # no row for another input
        (32, 4, 2, {"D1": "K 16", "D2": "FX 3"}, "K 16"),  # 5 with a stride of 2
        (32, 5, 2, {"D1": "K 16", "D2": "FX 3"}, "K 16 OX 2"),
        (32, 15, 1, {"D1": "K 16", "D2": "FX 3 C 4"}, "K 16"),  # 4 channels: 16 rows
        (32, 16, 1, {"D1": "K 16", "D2": "FX 3 C 4"}, "K 16 OX 2"),
        (31, 32, 1, {"D1": "K 16", "D2": "FX 3"}, "K 16"),  # no column
        (64, 32, 1, {"D1": "K 16", "D2": "FX 3"}, "K 16 OX 4"),
        (1000, 32, 1, {"D1": "K 16", "D2": "FX 3"}, "K 16 OX 24"),  # 26 rows, all pixels
        (1000, 25, 1, {"D1": "K 16", "D2": "FX 3"}, "K 16 OX 12"),
        (64, 32, 1, {"D1": "K 16", "D2": "FY 3"}, "K 16 OY 4"),
        (64, 16, 1, {"D1": "K 16", "D2": "FX 3 FY 3"}, "K 16 OY 2 OX 2"),
        (64, 64, 1, {"D1": "K 16", "D2": "FX 3 FY 3"}, "K 16 OX 4"),
        (64, 32, 1, {"D1": "K 16", "D2": "C 4"}, "K 16"),  # the kernel is not along the sums
        (64, 32, 1, {"D1": "K 4 OX 2", "D2": "FX 3"}, "K 4 OX 2"),  # pixels are there already
        (8, 32, 1, {"D2": "FX 3"}, "OX 8"),
    ],
)
def test_pixels_fill_idle_columns(
    columns: int, rows: int, stride: int, unrolled: Mapping[str, str], expected: str
) -> None:
    spatial = mapped(layer(stride), array_of_cells(columns, rows), unrolled)
    found = weight_diagonal(spatial)
    wanted = mapped(layer(stride), array_of_cells(columns, rows), {"D1": expected})
    assert found.spatial_mapping.on("D1") == wanted.spatial_mapping.on("D1")
    assert found.spatial_mapping.on("D2") == spatial.spatial_mapping.on("D2")


def test_the_input_registers_hold_and_deliver_all_pixels() -> None:
    machine = array_of_cells(64, 32)
    found = weight_diagonal(mapped(layer(), machine, {"D1": "K 16", "D2": "FX 3"}))
    before, after = machine.memories[1].instance, found.accelerator.memories[1].instance
    assert found.accelerator.name == machine.name
    assert (before.name, before.size, after.size) == ("registers", 8, 32)
    assert [(x.width_min, x.width_max) for x in after.ports] == [(32, 32)]
    assert (after.read_energy, after.write_energy) == (
        4 * before.read_energy,
        4 * before.write_energy,
    )
    assert total_area(found.accelerator) == total_area(machine)
    others = [x for x in machine.memories if x.name != "registers"]
    assert [x for x in found.accelerator.memories if x.name != "registers"] == others


@pytest.mark.parametrize(
    "served", [("", "D2"), ("D1", ""), ("D1 D2", "D2"), ("D1", "D1 D2"), ("D1", "D1"), ("D2", "D2")]
)
def test_it_needs_one_dimension_for_inputs_and_another_for_outputs(served: tuple[str, str]) -> None:
    machine = array_of_cells(64, 32, inputs=served[0], outputs=served[1])
    spatial = mapped(layer(), machine, {"D1": "K 16", "D2": "FX 3"})
    assert weight_diagonal(spatial) == spatial


def test_array_dimensions_may_change_places() -> None:
    machine = array_of_cells(32, 64, inputs="D2", outputs="D1")
    found = weight_diagonal(mapped(layer(), machine, {"D1": "FX 3", "D2": "K 16"}))
    assert str(found.spatial_mapping) == "D1: FX 3, D2: K 16 x OX 4"


def test_without_a_sliding_input_nothing_changes() -> None:
    spatial = mapped(matmul(k=16, c=8, b=8), array_of_cells(64, 32), {"D1": "K 16", "D2": "C 8"})
    assert weight_diagonal(spatial) == spatial


def test_without_weights_nothing_changes() -> None:
    pool = layer_from_equation(
        "O[k][ox]+=I[k][ix]", {"K": 4, "OX": 8, "FX": 3}, name="p", relations=["ix=1*ox+1*fx"]
    )
    spatial = mapped(pool, array_of_cells(64, 32), {"D2": "FX 3"})
    assert weight_diagonal(spatial) == spatial


@pytest.mark.parametrize(
    ("hints", "wanted", "expected"),
    [
        ("K OX", "", "K 16 OX 4"),
        ("K OY", "", "K 16"),
        ("K", "", "K 16"),
        ("", "K 16", "K 16"),  # what the user maps stays
    ],
)
def test_the_user_may_keep_pixels_out(hints: str, wanted: str, expected: str) -> None:
    machine = array_of_cells(64, 32)
    spatial = mapped(layer(), machine, {"D1": "K 16", "D2": "FX 3"})
    user = mapped(layer(), machine, {"D1": wanted}).spatial_mapping if wanted else None
    named = (tuple(text.split()) for text in [hints] if text)
    hinted = tuple(UnrollingHint(array_dimension="D1", dimensions=x) for x in named)
    constraints = LayerConstraints(spatial_hints=hinted, spatial_mapping=user)
    problem = copy_with(spatial.problem, {"constraints": constraints})
    found = weight_diagonal(copy_with(spatial, {"problem": problem}))
    expected_mapping = mapped(layer(), machine, {"D1": expected}).spatial_mapping
    assert found.spatial_mapping.on("D1") == expected_mapping.on("D1")


@examples
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 3), st.data())
def test_rows_hold_all_different_inputs(
    columns: int, rows: int, stride: int, data: st.DataObject
) -> None:
    kernel = data.draw(st.integers(1, min(3, rows)))
    channels = data.draw(st.integers(1, min(4, rows // kernel)))
    outputs = data.draw(st.integers(1, min(16, columns)))
    unrolled = {"D1": f"K {outputs}", "D2": f"FX {kernel} C {channels}"}
    spatial = mapped(layer(stride), array_of_cells(columns, rows), unrolled)
    found = weight_diagonal(spatial)
    pixels = units(found) // units(spatial)
    inputs = {stride * x + f for x in range(pixels) for f in range(kernel)}
    assert outputs * pixels <= columns
    assert len(inputs) * channels <= rows


def test_it_takes_less_time() -> None:
    machine = array_of_cells(64, 32)
    spatial = mapped(layer(), machine, {"D1": "K 16", "D2": "C 4 FX 3"})
    plain, diagonal = (best_latency(x) for x in (spatial, weight_diagonal(spatial)))
    assert diagonal <= plain / 3  # 4 times the units


def best_latency(spatial: SpatialProblem) -> float:
    """Cycles of the fastest mapping with few loop factors."""
    batches = map(evaluate_batch, loma(spatial, 4, MappingType.UNEVEN))
    return min(float(x) for batch in batches for x in batch.latency2)

"""Inputs whose source is named, but not the sizes of the tensor between the two layers."""

from pathlib import Path

import pytest

from nestmap.model import InputWarning
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml
from nestmap.search.multicore.split.split_workload import split_workload

CONV = """\
- id: 0
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c]*I[b][c][oy][ox]
  loop_dims: [B, K, C, OY, OX]
  loop_sizes: [1, 4, 2, 6, 6]
  operand_precision: {W: 8, I: 8, O: 8}
"""
POOL = """\
- id: 1
  operator_type: Pooling
  equation: O[b][k][oy][ox]+=W[fx][fy]*I[b][k][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, K, OY, OX, FX, FY]
  loop_sizes: [1, 4, 3, 3, 3, 3]
  operand_precision: {W: 0, I: 8, O: 8}
  operand_source: {I: 0}
"""
PADDING = """\
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [6, 6]
  padding: [[0, 1], [0, 1]]
"""
DENSE = """\
- id: 1
  operator_type: Gemm
  equation: O[b][k]+=W[k][c]*I[b][c]
  loop_dims: [B, K, C]
  loop_sizes: [1, 10, {channels}]
  operand_precision: {{W: 8, I: 8, O: 8}}
  operand_source: {{I: 0}}
"""


def split(folder: Path, network: str, *hints: HintLoop) -> CnWorkload:
    """The network, split along these loops."""
    file = folder / "network.yaml"
    file.write_text(network)
    options = SplitOptions(hints=(hints,))
    return split_workload(parse_workload_yaml(file), options, lambda _: True, lambda _: None)


def feeds(made: CnWorkload) -> set[tuple[int, int]]:
    """The nodes of layer 0 and of layer 1 between which data moves."""
    pairs = [made.edge(row) for row in range(len(made.edges)) if made.edges.read[row] >= 0]
    return {(x.producer.node, x.consumer.node) for x in pairs if x.producer.layer == 0}


def test_what_is_read_beyond_the_end_is_padding(tmp_path: Path) -> None:
    rows = HintLoop(dimension="OY")
    found = feeds(split(tmp_path, CONV + POOL, rows))
    assert found == {(row, out) for out in range(3) for row in range(2 * out, min(2 * out + 3, 6))}
    assert found == feeds(split(tmp_path, CONV + POOL + PADDING, rows))


def test_a_tensor_with_other_axes_has_the_same_elements_in_order(tmp_path: Path) -> None:
    hints = HintLoop(dimension="K", tiles=2), HintLoop(dimension="C", tiles=4)
    made = split(tmp_path, CONV + DENSE.format(channels=4 * 6 * 6), *hints)
    consumers = range(made.layers[1].tiling.count)
    places = made.layers[1].tiling.tile_numbers(["C"])
    half = made.layers[0].tiling.tile_numbers(["K"])
    producers = range(made.layers[0].tiling.count)
    assert len(set(half.tolist())) == 2
    final = made.layers[0].is_final
    assert feeds(made) == {
        (a, b) for a in producers for b in consumers if final[a] and half[a] == places[b] // 2
    }


@pytest.mark.parametrize("channels", [100, 200])
def test_with_other_elements_nothing_is_read(tmp_path: Path, channels: int) -> None:
    with pytest.warns(InputWarning, match="from O\\[b\\]"):
        split(tmp_path, CONV + DENSE.format(channels=channels), HintLoop(dimension="OY"))

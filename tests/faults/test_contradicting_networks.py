"""Networks whose layers contradict each other: an error or a warning with both layers and sizes."""

import warnings
from pathlib import Path

import pytest

from nestmap.model import InputWarning
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml
from tests.pipeline.cli.inputs import Inputs, run, written

CONV = """\
- id: {id}
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix={stride}*ox+1*fx, iy={stride}*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, {k}, {c}, {out}, {out}, {window}, {window}]
  operand_precision: {{W: 8, I: 8, O: 16, O_final: 8}}
  operand_source: {{I: 0}}
"""
DENSE = """\
- id: 1
  operator_type: Gemm
  equation: O[b][k]+=W[k][c]*I[b][c]
  loop_dims: [B, K, C]
  loop_sizes: [1, 10, %d]
  operand_precision: {W: 8, I: 8, O: 8}
  operand_source: {I: 0}
"""
AXES = "  pr_loop_dims: [IX, IY]\n  pr_loop_sizes: [%d, %d]\n  padding: [[%d, %d], [%d, %d]]\n"


def conv(number: int, k: int, c: int, out: int, window: int, stride: int = 1) -> str:
    """A convolution, as YAML."""
    return CONV.format(id=number, k=k, c=c, out=out, window=window, stride=stride)


FIRST = conv(0, 4, 3, 8, 3)

CONTRADICTIONS = {
    "channels": conv(1, 4, 5, 8, 3),
    "stated size": conv(1, 4, 4, 8, 3) + AXES % (9, 9, 0, 1, 0, 1),
    "reads beyond the padding": conv(1, 4, 4, 9, 1),
    "reads too few": conv(1, 4, 4, 3, 3),
    "padding": conv(1, 4, 4, 8, 3) + AXES.replace("  pr_loop_sizes: [%d, %d]\n", "") % (0, 1, 0, 1),
    "flattened": DENSE % 100,
}
AGREEMENTS = {
    "unstated padding": conv(1, 4, 4, 8, 3),
    "no padding": conv(1, 4, 4, 6, 3),
    "stated": conv(1, 4, 4, 8, 3) + AXES % (8, 8, 1, 1, 1, 1),
    "a stride skips the border": conv(1, 4, 4, 4, 1, 2),
    "flattened": DENSE % (4 * 8 * 8),
}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return tmp_path / "net.yaml"


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_layer_that_reads_another_shape_is_a_warning(network: Path, case: str) -> None:
    network.write_text(FIRST + CONTRADICTIONS[case])
    with pytest.warns(InputWarning) as caught:
        _, second = parse_workload_yaml(network).layers
    assert (second.operand("I").name, second.inputs[1].source) == ("I", None)
    line = 8 + CONTRADICTIONS[case].split("operand_source")[0].count("\n") + 1
    (told,) = [str(x.message) for x in caught]
    assert told.startswith(f"{network}:{line}: [1].operand_source.I: ")
    for part in ("of 'Layer1', which reads", "O[b][k][oy][ox] of 'Layer0'", "1 x 4 x 8 x 8"):
        assert part in told


@pytest.mark.parametrize("case", AGREEMENTS)
def test_a_layer_that_reads_what_its_source_writes_is_accepted(network: Path, case: str) -> None:
    network.write_text(FIRST + AGREEMENTS[case])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(parse_workload_yaml(network).layers) == 2


def test_another_precision_is_a_warning(network: Path) -> None:
    network.write_text(FIRST + conv(1, 4, 4, 8, 3).replace("I: 8", "I: 4"))
    found = "I of 'Layer1' with 4 bits an element, from O of 'Layer0' with 8"
    with pytest.warns(InputWarning, match=found):
        parse_workload_yaml(network)


def test_only_commands_that_need_the_edge_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inputs: Inputs = written(tmp_path)
    Path(inputs.network).write_text(FIRST + CONTRADICTIONS["stated size"])
    ended = run("stream", inputs.network, "-c", "quad_tpu", "--no-store")
    assert ended.code == 2
    assert "error: layer Layer1: found I from Layer0, which has another shape" in ended.err
    ended = run(*inputs.explore)
    assert ended.code == 0
    assert ended.err.startswith("warning: ")

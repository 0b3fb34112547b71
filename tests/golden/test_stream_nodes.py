"""Computation nodes: nestmap makes those, and the edges, that Stream of February 2024 made."""

import json
import lzma
from pathlib import Path

import pytest

from nestmap.model import Counting, Frozen, Layer, VectorNode, Workload, layer_from_equation
from nestmap.model.multicore.cn_workload import CnWorkload, ComputationNode
from nestmap.model.multicore.split_options import HintLoop, SplitMode, SplitOptions
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.search.multicore.split.split_workload import split_workload

RECORDED = Path(__file__).parent / "stream"
NAMES = sorted(path.name.removesuffix(".json.xz") for path in RECORDED.glob("*.json.xz"))
COMPUTED = {"MaxPool", "AveragePool", "GlobalAveragePool", "Add"}
GEMM = {"D": "B", "K": "K", "C": "C"}
"""The rows of a matrix are called B there."""


class RecordedNode(Frozen, frozen=True):
    id: tuple[int, int]
    group: int
    final: bool
    ranges: dict[str, tuple[int, int]]
    tensors: dict[str, int]


class RecordedSplit(Frozen, frozen=True):
    workload: str
    mode: int
    hints: tuple[tuple[str, int | str], ...]
    nodes: tuple[RecordedNode, ...]
    edges: tuple[tuple[tuple[int, int], tuple[int, int], str | None, int], ...]


def recorded(name: str) -> RecordedSplit:
    with lzma.open(RECORDED / f"{name}.json.xz", "rt") as file:
        return RecordedSplit.model_validate_json(json.dumps(json.load(file)))


def network(split: RecordedSplit) -> Workload:
    """The network: an ONNX model, or one of Stream's test networks, whose layers are in a row."""
    if split.workload.endswith(".onnx"):
        return parse_onnx(RECORDED / split.workload)
    whole: dict[int, dict[str, tuple[int, int]]] = {}
    for node in split.nodes:
        ranges = whole.setdefault(node.id[0], dict(node.ranges))
        for dimension, (first, end) in node.ranges.items():
            low, high = ranges[dimension]
            ranges[dimension] = (min(low, first), max(high, end))
    return Workload.of(*(convolution(number, ranges) for number, ranges in whole.items()))


def convolution(number: int, ranges: dict[str, tuple[int, int]]) -> Layer:
    """A convolution over these ranges, which reads the one before it."""
    return layer_from_equation(
        "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        {d: end for d, (_, end) in ranges.items() if d not in ("IX", "IY")},
        name=str(number),
        relations=["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
        sources={"I": str(number - 1)} if number else {},
        constants=["W"] if number else ["W", "I"],
        axes={d: (None, (-ranges[d][0], -ranges[d][0])) for d in ("IX", "IY")},
    )


def computed(node: VectorNode) -> bool:
    """Whether Stream has nodes for the operator; what it does not know lets data pass."""
    return node.operator in COMPUTED


def split_as(split: RecordedSplit) -> CnWorkload:
    hints = tuple(
        HintLoop(dimension=d, tiles=n if isinstance(n, int) else None) for d, n in split.hints
    )
    options = SplitOptions(mode=SplitMode(split.mode), hints=(hints,), counting=Counting.REFERENCE)
    return split_workload(network(split), options, computed, lambda nest: None)


@pytest.mark.parametrize("name", NAMES)
def test_the_nodes_are_those_of_stream(name: str) -> None:
    split = recorded(name)
    made = {(node.id.layer, node.id.node): node for node in split_as(split).nodes()}
    assert list(made) == [node.id for node in split.nodes]
    for node in split.nodes:
        same_node(made[node.id], node)


def same_node(made: ComputationNode, expected: RecordedNode) -> None:
    names = GEMM if made.operator == "Gemm" else {}
    for part in made.ranges:
        dimension = names.get(part.dimension, part.dimension)
        assert (part.first, part.end) == expected.ranges[dimension], dimension
    assert (made.group, made.final) == (expected.group, expected.final)
    tensors = sorted(bits for bits in expected.tensors.values() if bits)  # poolings have a W of 0
    assert sorted(x.bits for x in (made.output, *made.inputs)) == tensors


@pytest.mark.parametrize("name", NAMES)
def test_the_edges_are_those_of_stream(name: str) -> None:
    split = recorded(name)
    made = split_as(split)
    found = [made.edge(row) for row in range(len(made.edges))]
    assert sorted(
        ((e.producer.layer, e.producer.node), (e.consumer.layer, e.consumer.node), e.bits)
        for e in found
    ) == sorted((producer, consumer, bits) for producer, consumer, _, bits in split.edges)
    assert sum(e.operand is None for e in found) == sum(x is None for _, _, x, _ in split.edges)

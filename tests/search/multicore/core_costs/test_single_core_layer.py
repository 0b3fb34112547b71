"""Vector operators as layers of a core: what is counted of them."""

import pytest

from nestmap.model import Counting, Layer, Loop, Tensor, VectorNode, Workload
from nestmap.model.multicore.cn_costs import CnKind
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.model.workload.access import AxisIndex, InputAccess, VectorNest
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.loop_nests import Axis
from nestmap.search.multicore.core_costs.cn_kinds import cn_kinds
from nestmap.search.multicore.core_costs.cost_table import (
    held_by_memory,
    layer_of,
    streamed_operands,
)
from nestmap.search.multicore.split.split_workload import split_workload
from tests.search.multicore.split.networks import plain

TWO = ("O", "I1", "I2", "I2", "I2")
"""The memory operands of an output and up to four inputs, as most cores have them."""


def tensor(*sizes: int, name: str = "t", precision: int = 8, constant: bool = False) -> Tensor:
    return Tensor(name=name, sizes=sizes, precision=precision, constant=constant)


def node(
    loops: dict[str, int],
    output: tuple[AffineIndex, ...],
    reads: list[tuple[Tensor, tuple[AxisIndex, ...] | None]],
    made: Tensor,
    operations: int = 1,
) -> VectorNode:
    inputs = (InputAccess(axes=axes) if axes is not None else None for _, axes in reads)
    sizes = tuple(Loop(dimension=d, size=n) for d, n in loops.items())
    return VectorNode(
        name="node",
        operator="Vector",
        iterations=tuple(loops.values()),
        operations=operations,
        inputs=tuple(tensor for tensor, _ in reads),
        outputs=(made,),
        nest=VectorNest(loops=sizes, output=output, inputs=tuple(inputs)),
    )


def kinds(made: VectorNode, *hints: HintLoop, stream: bool = False) -> list[CnKind]:
    """The kind of each part of the node."""
    workload = Workload.of(made)
    counting = Counting.REFERENCE if stream else Counting.EXACT
    options = SplitOptions(hints=(hints,), counting=counting)
    nodes: CnWorkload = split_workload(workload, options, lambda _: True, lambda _: None)
    found = cn_kinds(workload, nodes, CoreMapping())
    return [found.kinds[kind] for kind in found.kind]


def layer(kind: CnKind) -> Layer:
    return layer_of(kind, TWO[: len(kind.held)], "node")


def pooling() -> VectorNode:
    """Windows of 3 x 3 that overlap, with a row and a column of padding before the image."""
    axes = (
        *plain("B", "K"),
        *(Axis(letter=x, input=8, kernel=3, stride=2, padding=(1, 0)).index for x in "YX"),
    )
    return node(
        {"B": 1, "K": 4, "OX": 4, "OY": 4, "FX": 3, "FY": 3},
        plain("B", "K", "OY", "OX"),
        [(tensor(1, 4, 8, 8, name="x"), axes)],
        tensor(1, 4, 4, 4, name="y"),
    )


def test_a_pooling_reads_windows_and_nothing_else() -> None:
    first, *others = (layer(kind) for kind in kinds(pooling(), HintLoop(dimension="OY")))
    assert first.macs == 4 * 4 * 9
    assert first.elements("O") == 4 * 4
    assert first.elements("I") == 4 * 2 * 8  # one of its three rows is padding
    assert {each.elements("I") for each in others} == {4 * 3 * 8}
    assert len(first.inputs) == 1


def test_an_addition_has_two_inputs() -> None:
    names = plain("B", "D")
    reads = [(tensor(2, 6, name=name), names) for name in ("a", "b")]
    (kind,) = kinds(node({"B": 2, "D": 6}, names, list(reads), tensor(2, 6, name="c")))
    added = layer(kind)
    assert added.equation == "O[b][d] += I[b][d] * I1[b][d]"
    assert [added.elements(x) for x in ("O", "I", "I1")] == [12, 12, 12]
    assert held_by_memory(kind, TWO[:3]) == {"O": 96, "I1": 96, "I2": 96}


def normalization(operations: int = 1) -> VectorNode:
    """Rows of six numbers, each times a scale, plus a bias, and a number for all of them."""
    reads: list[tuple[Tensor, tuple[AxisIndex, ...] | None]] = [
        (tensor(4, 6, name="x"), (*plain("D"), None)),
        (tensor(6, name="scale", constant=True), plain("K")),
        (tensor(6, name="bias", constant=True), plain("K")),
        (tensor(1, name="epsilon", constant=True), (None,)),
    ]
    made = tensor(4, 6, name="y")
    return node({"D": 4, "K": 6}, plain("D", "K"), reads, made, operations)


def test_a_row_is_read_once_and_further_inputs_are_one() -> None:
    (kind,) = kinds(normalization())
    made = layer(kind)
    assert made.elements("I") == 24
    assert made.elements("I1") == 6
    assert [x.name for x in made.inputs] == ["I", "I1"]
    precision = {x.name: x.precision for x in made.inputs}
    assert precision == {"I": 8, "I1": 18}  # 6 * 8 + 6 * 8 + 8 bits for six elements, rounded up
    assert held_by_memory(kind, TWO) == {"O": 192, "I1": 192, "I2": 104}
    assert streamed_operands(kind, TWO, ("I2",)) == ("I1", "I2", "I3")
    assert streamed_operands(kind, TWO, ("O", "I1")) == ("O", "I")


def test_a_part_of_a_row_is_counted_once_though_the_core_holds_all_of_it() -> None:
    parts = kinds(normalization(), HintLoop(dimension="K", tiles=3))
    assert {layer(kind).elements("I") for kind in parts} == {4 * 2}
    assert {kind.held[1] for kind in parts} == {192}


@pytest.mark.parametrize(("stream", "operations"), [(False, 5), (True, 1)])
def test_operations_of_an_iteration_are_those_of_the_node(stream: bool, operations: int) -> None:
    (kind,) = kinds(normalization(5), stream=stream)
    assert kind.operations == operations


def test_an_output_that_two_loops_count_is_indexed_by_each() -> None:
    """Each row is written twice: resampling."""
    digits = AffineIndex(terms=(Term(dimension="D", coefficient=2), Term(dimension="P")))
    resampled = node(
        {"D": 3, "P": 2}, (digits,), [(tensor(3, name="x"), plain("D"))], tensor(6, name="y")
    )
    (kind,) = kinds(resampled)
    assert layer(kind).equation == "O[d][p] += I[d]"
    assert layer(kind).elements("O") == 6


def test_what_nobody_knows_about_is_spread_over_all_iterations() -> None:
    unknown = VectorNode(
        name="node",
        operator="Vector",
        iterations=(4, 5),
        inputs=(tensor(3, 10, name="x"),),
        outputs=(tensor(4, 5, name="y"),),
    )
    (kind,) = kinds(unknown)
    made = layer(kind)
    assert made.macs == 20
    assert made.elements("I") == 20
    assert made.inputs[0].precision == 12  # 30 * 8 bits over 20 iterations
    assert kind.held == (160, 240)

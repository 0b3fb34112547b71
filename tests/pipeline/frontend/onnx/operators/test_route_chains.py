"""Routes through several nodes: what comes out is what numpy says, whatever is put together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import numpy.typing as npt
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from nestmap.model import NoCostNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.operators.regions import Index, is_exact, origins

Numbers = npt.NDArray[np.int64]

Mode = Literal["constant", "edge", "reflect", "wrap"]
MODES: tuple[Mode, ...] = ("constant", "edge", "reflect", "wrap")

PADDING = -1
"""What stands where no element is."""


@final
@dataclass(frozen=True)
class Move:
    """A node that moves data, what it is told by stored vectors of integers, and its result."""

    operator: str
    stored: tuple[tuple[int, ...], ...]
    made: Numbers
    attributes: tuple[tuple[str, Sequence[int] | int | str], ...] = ()


def _slice(draw: st.DrawFn, x: Numbers) -> Move:
    rank = x.ndim
    axes = draw(st.permutations(range(rank)))[: draw(st.integers(1, rank))]
    steps = [draw(st.sampled_from((1, 2, 3, -1, -2))) for _ in axes]
    ends = [draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9))) for _ in axes]
    cut = [slice(None)] * rank
    for axis, step, (start, end) in zip(axes, steps, ends, strict=True):
        first = draw(st.integers(0, x.shape[axis] - 1))
        cut[axis] = slice(start, end, step)
        if not x[tuple(cut)].size:  # rather one element than none
            cut[axis] = slice(first, first + 1 if step > 0 else -x.shape[axis] - 1, step)
    chosen = [cut[axis] for axis in axes]
    stored = ([int(c.start) for c in chosen], [int(c.stop) for c in chosen], axes, steps)
    return Move("Slice", tuple(map(tuple, stored)), x[tuple(cut)])


def _pad(draw: st.DrawFn, x: Numbers) -> Move:
    mode = draw(st.sampled_from(MODES))
    least = min(x.shape) - 1 if mode == "reflect" else 2
    pads = [(draw(st.integers(0, least)), draw(st.integers(0, least))) for _ in x.shape]
    flat = (*(pad[0] for pad in pads), *(pad[1] for pad in pads))
    if mode == "constant":
        return Move("Pad", (flat,), np.pad(x, pads, constant_values=PADDING))
    return Move("Pad", (flat,), np.pad(x, pads, mode), (("mode", mode),))


def _crop(draw: st.DrawFn, x: Numbers) -> Move:
    """A Pad by less than nothing."""
    cuts = [draw(st.integers(0, size - 1)) for size in x.shape]
    made = x[tuple(slice(cut, None) for cut in cuts)]
    return Move("Pad", ((*(-cut for cut in cuts), *(0 for _ in cuts)),), made)


def _transpose(draw: st.DrawFn, x: Numbers) -> Move:
    order = draw(st.permutations(range(x.ndim)))
    return Move("Transpose", (), x.transpose(order), (("perm", order),))


def _reshape(draw: st.DrawFn, x: Numbers) -> Move:
    left, sizes = x.size, list[int]()
    while left > 1:
        sizes.append(draw(st.sampled_from([n for n in range(2, left + 1) if left % n == 0])))
        left //= sizes[-1]
    sizes = sizes or [1]
    return Move("Reshape", (tuple(sizes),), x.reshape(sizes))


def _unsqueeze(draw: st.DrawFn, x: Numbers) -> Move:
    axis = draw(st.integers(0, x.ndim))
    return Move("Unsqueeze", ((axis,),), np.expand_dims(x, axis))


def _tile(draw: st.DrawFn, x: Numbers) -> Move:
    counts = tuple(draw(st.integers(1, 2)) for _ in x.shape)
    return Move("Tile", (counts,), np.tile(x, counts))


def _gather(draw: st.DrawFn, x: Numbers) -> Move:
    axis = draw(st.integers(0, x.ndim - 1))
    size = x.shape[axis]
    indices = draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=4))
    return Move("Gather", (tuple(indices),), x.take(indices, axis), (("axis", axis),))


MOVES = (_slice, _pad, _crop, _transpose, _reshape, _unsqueeze, _tile, _gather)
LARGEST = 400


@st.composite
def chains(draw: st.DrawFn) -> tuple[Index, list[Move]]:
    """The sizes of an input, and what is done with it, on numbered elements."""
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    x: Numbers = np.arange(np.prod(sizes), dtype=np.int64).reshape(sizes)
    moves = list[Move]()
    for move in draw(st.lists(st.sampled_from(MOVES), min_size=1, max_size=5)):
        made = move(draw, x)
        if made.made.size <= LARGEST and made.made.ndim <= 5:
            moves.append(made)
            x = made.made
    return sizes, moves


def _model(sizes: Index, moves: Sequence[Move]) -> onnx.ModelProto:
    nodes, stored = list[onnx.NodeProto](), list[onnx.TensorProto]()
    for i, move in enumerate(moves):
        names = [f"s{i}_{k}" for k in range(len(move.stored))]
        for name, values in zip(names, move.stored, strict=True):
            stored.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        attributes = [helper.make_attribute(*pair) for pair in move.attributes]
        node = helper.make_node(move.operator, [f"x{i}", *names], [f"x{i + 1}"])
        node.attribute.extend(attributes)
        nodes.append(node)
    x = helper.make_tensor_value_info("x0", TensorProto.INT64, sizes)
    y = helper.make_tensor_value_info(f"x{len(moves)}", TensorProto.INT64, None)
    graph = helper.make_graph(nodes, "net", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


@given(chains())
def test_elements_come_the_whole_way(chain: tuple[Index, list[Move]]) -> None:
    sizes, moves = chain
    if not moves:
        return
    nodes = [x for x in parse_onnx(_model(sizes, moves)).nodes if isinstance(x, NoCostNode)]
    assert len(nodes) == len(moves)
    for index, value in np.ndenumerate(moves[-1].made):
        places = {index}
        for move, node in zip(reversed(moves), reversed(nodes), strict=True):
            assert node.routes is not None
            (route,) = node.routes
            assert is_exact(route)
            places = {old for new in places for old in origins(route, move.made.shape, new)}
        flat = {int(np.ravel_multi_index(place, sizes)) for place in places}
        assert flat == ({int(value)} if value != PADDING else set())

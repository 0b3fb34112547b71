"""Tensor sizes and precisions through operators that only move data, compared with NumPy's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import NoCostNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import written
from tests.properties.variants import examples

Array = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Shape = tuple[int, ...]

BITS = {"float16": 16, "bfloat16": 16, "float": 8, "double": 8, "int32": 32, "int64": 64}
"""Types of products: what is exported in float32 or float64 counts as 8 bit."""


@final
@dataclass(frozen=True)
class Move:
    """An operator, the numbers that it reads, and NumPy's word for it."""

    operator: str
    function: Callable[[Array], Array]
    attributes: str = ""
    numbers: tuple[Sequence[int], ...] = ()
    moves_only: bool = True


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


@st.composite
def transpositions(draw: st.DrawFn, shape: Shape) -> Move:
    order = draw(st.permutations(range(len(shape))))
    return Move("Transpose", lambda a: np.transpose(a, order), f"perm = [{_listed(order)}]")


@st.composite
def reshapes(draw: st.DrawFn, shape: Shape) -> Move:
    """Joins neighbours; one of the new sizes may be left to find out."""
    cut = draw(st.integers(0, len(shape)))
    target = [prod(shape[:cut]), *shape[cut:]]
    stated = list(target)
    if draw(st.booleans()):
        stated[draw(st.integers(0, len(target) - 1))] = -1
    return Move("Reshape", lambda a: a.reshape(target), numbers=(stated,))


@st.composite
def new_axes(draw: st.DrawFn, shape: Shape) -> Move:
    axis = draw(st.integers(0, len(shape)))
    return Move("Unsqueeze", lambda a: np.expand_dims(a, axis), numbers=([axis],))


@st.composite
def flattenings(draw: st.DrawFn, shape: Shape) -> Move:
    axis = draw(st.integers(0, len(shape)))
    rows = prod(shape[:axis])
    return Move("Flatten", lambda a: a.reshape(rows, -1), f"axis = {axis}")


@st.composite
def slices(draw: st.DrawFn, shape: Shape) -> Move:
    axis = draw(st.integers(0, len(shape) - 1))
    start = draw(st.integers(0, shape[axis] - 1))
    end = draw(st.integers(start + 1, shape[axis] + 2))
    step = draw(st.integers(1, 2))
    index = (*(slice(None) for _ in range(axis)), slice(start, end, step))
    numbers = ([start], [end], [axis], [step])
    return Move("Slice", lambda a: a[index], numbers=numbers, moves_only=False)


@st.composite
def gathers(draw: st.DrawFn, shape: Shape) -> Move:
    axis = draw(st.integers(0, len(shape) - 1))
    which = draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=4))
    taken = f"axis = {axis}"
    return Move("Gather", lambda a: np.take(a, which, axis), taken, (which,), moves_only=False)


@st.composite
def paddings(draw: st.DrawFn, shape: Shape) -> Move:
    before, after = (draw(st.tuples(*(st.integers(0, 1) for _ in shape))) for _ in range(2))
    pairs = list(zip(before, after, strict=True))
    both = (*before, *after)
    return Move("Pad", lambda a: np.pad(a, pairs), numbers=(both,), moves_only=False)


@st.composite
def tilings(draw: st.DrawFn, shape: Shape) -> Move:
    times = draw(st.tuples(*(st.integers(1, 2) for _ in shape)))
    return Move("Tile", lambda a: np.tile(a, times), numbers=(times,), moves_only=False)


@st.composite
def expansions(draw: st.DrawFn, shape: Shape) -> Move:
    target = (draw(st.integers(1, 3)), *shape)
    return Move("Expand", lambda a: np.broadcast_to(a, target), numbers=(target,), moves_only=False)


def copies(_: Shape) -> st.SearchStrategy[Move]:
    return st.sampled_from([Move("Identity", np.copy), Move("Dropout", np.copy)])


MOVES = (transpositions, reshapes, new_axes, flattenings, copies)
CHANGES = (slices, gathers, paddings, tilings, expansions)
MOST_ELEMENTS, MOST_AXES = 4000, 6


@st.composite
def chains(draw: st.DrawFn) -> tuple[Shape, list[Move]]:
    """A shape of rows and columns, and moves from there."""
    start = (draw(st.integers(1, 6)), draw(st.integers(1, 8)))
    shape, moves = start, list[Move]()
    for _ in range(draw(st.integers(1, 7))):
        small = prod(shape) <= MOST_ELEMENTS and len(shape) < MOST_AXES
        move = draw(draw(st.sampled_from((*MOVES, *CHANGES) if small else MOVES[:2]))(shape))
        shape = move.function(np.zeros(shape, np.bool_)).shape
        moves.append(move)
    return start, moves


@examples
@given(chains(), st.sampled_from(sorted(BITS)))
def test_layers_meet_through_any_chain(chain: tuple[Shape, list[Move]], kind: str) -> None:
    (rows, columns), moves = chain
    nodes, stored = ["t0 = MatMul (x, w)"], list[str]()
    for i, move in enumerate(moves):
        names = [f"t{i}", *(f"n{i}_{k}" for k in range(len(move.numbers)))]
        attributes = f"<{move.attributes}>" if move.attributes else ""
        nodes.append(f"t{i + 1} = {move.operator} {attributes} ({', '.join(names)})")
        for name, numbers in zip(names[1:], move.numbers, strict=True):
            stored.append(f"int64[{len(numbers)}] {name} = {{{_listed(numbers)}}}")
    arrays: list[Array] = [np.zeros((rows, columns), np.bool_)]
    for move in moves:
        arrays.append(move.function(arrays[-1]))
    total = arrays[-1].size
    nodes.append(f"flat = Reshape (t{len(moves)}, one_row) y = MatMul (flat, v)")
    stored.append("int64[2] one_row = {1, -1}")
    inputs = f"{kind}[{rows},5] x, {kind}[5,{columns}] w, {kind}[{total},3] v"
    network = parse_onnx(written(inputs, " ".join(nodes), stored=", ".join(stored)))

    first, last = network.layers
    assert network.readers == {first.name: (last.name,), last.name: ()}
    assert last.sizes == {"C": total, "D": 1, "K": 3}
    assert {operand.precision for operand in last.inputs} == {BITS[kind]}
    moved = [node for node in network.nodes if isinstance(node, NoCostNode)]
    assert len(moved) == len(moves) + 1
    for node, move, before, after in zip(moved, moves, arrays, arrays[1:], strict=False):
        read, (written_, *_) = node.inputs[0], node.outputs
        assert node.known
        assert (read.sizes, written_.sizes) == (before.shape, after.shape)
        assert read.precision == written_.precision == BITS[kind]
        if move.moves_only:
            assert written_.bits == read.bits


lengths = st.lists(st.integers(1, 9), min_size=1, max_size=5)


@examples
@given(lengths, st.integers(0, 2), st.sampled_from(sorted(BITS)))
def test_the_parts_of_a_split_are_all_of_it(parts: list[int], axis: int, kind: str) -> None:
    shape = [2, 3, 4]
    shape[axis] = sum(parts)
    names = [f"p{i}" for i in range(len(parts))]
    cut = f"{', '.join(names)} = Split <axis = {axis}> (x, n)"
    join = f"y = Concat <axis = {axis}> ({', '.join(names)})"
    stored = f"int64[{len(parts)}] n = {{{_listed(parts)}}}"
    source = written(f"{kind}[{_listed(shape)}] x", f"{cut} {join}", stored=stored)
    split, concat = parse_onnx(source).nodes
    assert [tensor.sizes for tensor in split.outputs] == [
        (*shape[:axis], part, *shape[axis + 1 :]) for part in parts
    ]
    assert sum(tensor.bits for tensor in split.outputs) == split.inputs[0].bits
    assert split.inputs[0].bits == prod(shape) * BITS[kind]
    assert concat.outputs[0].sizes == tuple(shape)
    assert concat.outputs[0].bits == sum(tensor.bits for tensor in concat.inputs)


@examples
@given(st.sampled_from(["DepthToSpace", "SpaceToDepth"]), st.integers(1, 3), st.integers(1, 4))
def test_blocks_keep_their_bits(operator: str, block: int, size: int) -> None:
    shape = (2, 3 * block**2, size * block, 2 * block)
    node = f"y = {operator} <blocksize = {block}> (x)"
    (made,) = parse_onnx(written(f"int8[{_listed(shape)}] x", node)).nodes
    assert made.outputs[0].bits == made.inputs[0].bits == prod(shape) * 8

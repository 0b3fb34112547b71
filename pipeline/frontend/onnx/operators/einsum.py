"""Converts Einsum nodes to layers, each a contraction of two tensors.

The vector unit sums up a single tensor, unless it is only moved. Three or more tensors are
multiplied pair by pair, starting with the pair with the fewest products. If one tensor has a letter
twice (``ii``), only the diagonal is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Final, final

from nestmap.model.workload.contraction import contraction
from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.onnx.load.shapes import shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.axis_reads import sum_nest
from nestmap.pipeline.frontend.onnx.operators.operand_routes import transpose_routes
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator

DOTS: Final = "..."
EQUATION: Final = "letters and dots, such as bij,bjk->bik"


def terms_of(equation: str) -> tuple[tuple[str, ...], str | None] | None:
    """The terms of inputs and output (``None``: not stated); ``None`` if invalid."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = (*left.split(","), right)
    letters = (term.replace(DOTS, "", 1) for term in terms)
    if any(x and not (x.isascii() and x.isalpha()) for x in letters):
        return None
    return terms[:-1], right if arrow else None


_FEW: Final = 8  # tensors up to which pairs are compared; of more, the first two are multiplied


@final
@dataclass(frozen=True)
class Factor:
    """A tensor with its axes by letter (``.0``, ``.1``: axes of the dots, from the end)."""

    axes: Mapping[str, int]
    value: expansion.Value


def _einsum(node: NodeReader) -> tuple[Node, ...]:
    """Converts an Einsum node."""
    inputs, result = _equation(node)
    if len(inputs) != len(node.node.proto.input):
        raise node.error(
            f"{len(node.node.proto.input)} inputs", f"{len(inputs)}, as in the equation"
        )
    factors = [_factor(node, position, term) for position, term in enumerate(inputs)]
    sizes = _sizes(node, factors)
    output = _output(node, result, inputs, sizes)
    node.check_output(tuple(sizes[label] for label in output))
    if len(factors) == 1:
        return _alone(node, factors[0], output)
    made: list[Node] = []
    while len(factors) > 2:
        i, j = _cheapest(factors, sizes)
        b, a = factors.pop(j), factors.pop(i)
        needed = {*output, *(label for factor in factors for label in factor.axes)}
        kept = [label for label in {**a.axes, **b.axes} if label in needed]
        whole = {label: sizes[label] for label in kept}
        bits = a.value.tensor.precision
        product = Factor(
            whole, expansion.intermediate(node, f"product{len(made)}", (*whole.values(),), bits)
        )
        made.append(_product(node, a, b, kept, product.value))
        factors.insert(0, product)
    if not made:
        left, right = factors
        nest = contraction(left.axes, right.axes, output)
        return expansion.single_layer(node, nest, {"I": left.value, "W": right.value})
    return (*made, _product(node, factors[0], factors[1], output))


def _product(
    node: NodeReader,
    left: Factor,
    right: Factor,
    output: Sequence[str],
    made: expansion.Value | None = None,
) -> Node:
    nest = contraction(left.axes, right.axes, output)
    return expansion.layer_node(node, nest, {"I": left.value, "W": right.value}, made)


def _alone(node: NodeReader, factor: Factor, output: Sequence[str]) -> tuple[Node, ...]:
    axes, operator = tuple(factor.axes), node.node.operator
    plain = len(node.sizes(0)) == len(axes)  # else the input has a letter twice (a diagonal)
    if len(output) == len(axes):
        routes = transpose_routes(axes, output) if plain else None
        return (expansion.movement_part(node, operator, [factor.value], routes=routes),)
    sizes = tuple(factor.axes[label] for label in output)
    nest = sum_nest(axes, output, sizes) if plain else None
    work = (tuple(factor.axes.values()), 1)
    return (expansion.vector_part(node, operator, work, [factor.value], nest=nest),)


def _cheapest(factors: Sequence[Factor], sizes: Mapping[str, int]) -> tuple[int, int]:
    """The positions of the two factors whose contraction has the fewest products."""
    if len(factors) > _FEW:
        return 0, 1

    def products(pair: tuple[int, int]) -> int:
        return prod(sizes[label] for label in {**factors[pair[0]].axes, **factors[pair[1]].axes})

    return min(combinations(range(len(factors)), 2), key=products)


def _equation(node: NodeReader) -> tuple[tuple[str, ...], str | None]:
    """The terms of the inputs and of the output (``None``: not stated)."""
    equation = node.text("equation", "")
    terms = terms_of(equation)
    if terms is None:
        raise node.error(f"equation {equation!r}", EQUATION)
    return terms


def _factor(node: NodeReader, position: int, term: str) -> Factor:
    sizes = node.sizes(position)
    labels = _labels(term, len(sizes) - len(term.replace(DOTS, "")))
    if len(labels) != len(sizes):
        raise node.error(
            f"term {term!r} for an input of shape {shape_text(sizes)}", "one letter for each axis"
        )
    axes: dict[str, int] = {}
    for label, size in zip(labels, sizes, strict=True):
        if axes.setdefault(label, size) != size:
            raise node.error(f"{size} and {axes[label]} elements along {label!r}", "equal sizes")
    return Factor(axes, expansion.value(node, position))


def _labels(term: str, dotted: int) -> tuple[str, ...]:
    """The axes of a term whose dots represent ``dotted`` axes."""
    before, dots, after = term.partition(DOTS)
    return (*before, *(f".{i}" for i in reversed(range(dotted)) if dots), *after)


def _sizes(node: NodeReader, factors: Sequence[Factor]) -> Mapping[str, int]:
    """The sizes of all axes; axes of size 1 are broadcast."""
    sizes: dict[str, int] = {}
    for factor in factors:
        for label, size in factor.axes.items():
            known = sizes.get(label, 1)
            if 1 not in (size, known) and size != known:
                raise node.error(f"{known} and {size} elements along {label!r}", "equal sizes")
            sizes[label] = max(size, known)
    return sizes


def _output(
    node: NodeReader, result: str | None, inputs: Sequence[str], sizes: Mapping[str, int]
) -> tuple[str, ...]:
    """The axes of the output: as stated, or the dots and the letters that occur once, sorted."""
    dotted = sum(label.startswith(".") for label in sizes)
    letters = "".join(inputs).replace(".", "")
    if result is None:
        once = sorted(letter for letter in letters if letters.count(letter) == 1)
        return (*_labels(DOTS, dotted), *once)
    output = _labels(result, dotted)
    if len(set(output)) != len(output) or not sizes.keys() >= set(output):
        raise node.error(f"output {result!r}", "letters of the inputs, each once")
    return output


EINSUM: Final[Mapping[str, Operator]] = {"Einsum": Operator(Layers(_einsum), is_lenient=True)}
"""The contraction of any tensors."""

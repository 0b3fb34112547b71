"""Layers as text: an equation over operands, and relations between dimensions."""

import re
from collections.abc import Collection, Mapping, Sequence

from nestmap.model.dims import Dimension, LayerOperand, Loop
from nestmap.model.errors import InputError, shortened
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.layer import InputOperand, Layer, OutputOperand

_ACCESS = re.compile(r"\s*([A-Za-z]\w*)((?:\s*\[\s*(?:\w+\s*)?\])+)\s*")
_RELATION = re.compile(
    r"^\s*(\w+)\s*=\s*(?:(\d{1,9})\s*\*\s*)?([A-Za-z]\w*)"
    r"\s*\+\s*(?:(\d{1,9})\s*\*\s*)?([A-Za-z]\w*)\s*$"
)

EXPECTED_EQUATION = "an equation such as O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]"
EXPECTED_RELATION = "a relation such as ix=2*ox+1*fx"

Accesses = tuple[tuple[LayerOperand, tuple[Dimension, ...]], ...]
"""The operands of an equation, output first, each with the names of its indices in capitals."""

AxisExtent = tuple[int | None, tuple[int, int]]
"""The length of a derived axis, if known, and its padding (before, after)."""


def parse_equation(text: str, where: str = "equation") -> Accesses:
    """The operands and index names of an equation.

    >>> parse_equation("O[b][k]+=W[k][c]*I[b][c]")
    (('O', ('B', 'K')), ('W', ('K', 'C')), ('I', ('B', 'C')))

    Raises:
        InputError: if the text is not an equation with one output and one or two inputs.
    """
    left, assign, right = text.partition("=")
    if not assign:
        raise InputError(where, repr(text), EXPECTED_EQUATION)
    factors = re.split(r"[*+]", right)
    accesses: list[tuple[LayerOperand, tuple[Dimension, ...]]] = []
    for part in (left.rstrip().removesuffix("+"), *factors):
        match = _ACCESS.fullmatch(part)
        if match is None:
            raise InputError(where, repr(text), EXPECTED_EQUATION)
        names = re.findall(r"\w+", match.group(2))
        accesses.append((match.group(1), tuple(name.upper() for name in names)))
    if len(accesses) not in (2, 3):
        raise InputError(where, f"{len(accesses) - 1} inputs in {text!r}", "one or two inputs")
    return tuple(accesses)


def parse_relation(text: str, where: str = "dimension_relations") -> tuple[Dimension, AffineIndex]:
    """The derived dimension and its affine index.

    >>> name, index = parse_relation("ix=2*ox+1*fx")
    >>> name, str(index)
    ('IX', '2*ox+fx')

    Raises:
        InputError: if the text is not a sum of two scaled dimensions.
    """
    match = _RELATION.match(text)
    if match is None:
        raise InputError(where, repr(text), EXPECTED_RELATION)
    name, scale_a, a, scale_b, b = match.groups()
    coefficients = (int(scale_a or 1), int(scale_b or 1))
    if 0 in coefficients or a.upper() == b.upper():
        raise InputError(where, repr(text), EXPECTED_RELATION)
    terms = (
        Term(dimension=a.upper(), coefficient=coefficients[0]),
        Term(dimension=b.upper(), coefficient=coefficients[1]),
    )
    return name.upper(), AffineIndex(name=name.upper(), terms=terms)


def layer_from_equation(  # noqa: PLR0913 (a layer has this many parts; all but two have defaults)
    equation: str,
    sizes: Mapping[Dimension, int],
    *,
    name: str,
    operator: str = "custom",
    relations: Sequence[str] = (),
    precision: Mapping[LayerOperand, int] | None = None,
    partial_precision: int | None = None,
    sources: Mapping[LayerOperand, str] | None = None,
    constants: Sequence[LayerOperand] = (),
    axes: Mapping[Dimension, AxisExtent] | None = None,
) -> Layer:
    """A layer from an equation, as ZigZag users write it.

    Args:
        equation: ``O[b][k]+=W[k][c]*I[b][c]``; the first operand is the output.
        sizes: the size of each loop dimension.
        name: how the layer is called in the workload and in results.
        operator: its operator type (mapping files match on it).
        relations: affine relations of derived dimensions: ``ix=2*ox+1*fx``.
        precision: bits an element by operand (default 8).
        partial_precision: bits of a partial sum (default 16, never less than the output's).
        sources: the node that produces an input.
        constants: the inputs that are known before the network runs.
        axes: length and padding of derived dimensions, where known.

    Raises:
        InputError: where the equation or a relation cannot be read, or contradicts the loops.
        pydantic.ValidationError: where the parts do not make a layer.
    """
    derived = dict(parse_relation(text) for text in relations)
    bits, come_from, facts = precision or {}, sources or {}, axes or {}

    def indices(names: tuple[Dimension, ...]) -> tuple[AffineIndex, ...]:
        return tuple(_index(name, derived, facts) for name in names)

    (output, output_names), *inputs = parse_equation(equation)
    final = bits.get(output, 8)
    layer = Layer(
        name=name,
        operator=operator,
        loops=tuple(Loop(dimension=d, size=n) for d, n in sizes.items()),
        output=OutputOperand(
            name=output,
            indices=indices(output_names),
            precision=final,
            partial_precision=max(16, final) if partial_precision is None else partial_precision,
        ),
        inputs=tuple(
            InputOperand(
                name=operand,
                indices=indices(names),
                precision=bits.get(operand, 8),
                source=come_from.get(operand),
                constant=operand in constants,
            )
            for operand, names in inputs
        ),
    )
    used = [{d for index in x.indices for d in index.dimensions} for x in layer.operands]
    check_equation(equation, sizes, used, f"layer {name!r}: equation")
    return layer


def check_equation(
    text: str, sizes: Mapping[Dimension, int], used: Sequence[Collection[Dimension]], where: str
) -> None:
    """Checks that the operators of an equation suit its loops.

    A sum over dimensions that the output lacks takes ``+=`` and a product; a loop that indexes no
    operand would only repeat the work.

    Args:
        text: the equation.
        sizes: the size of each loop dimension.
        used: the loop dimensions of each operand, the output first.
        where: its place, for errors.

    Raises:
        InputError: where they do not suit each other.
    """
    loops = [d for d, size in sizes.items() if size > 1]
    for dimension in loops:
        if not any(dimension in operand for operand in used):
            found = f"{shortened(repr(text))} for a loop over {dimension}, which indexes no operand"
            raise InputError(where, found, f"{dimension} as an index, or no such loop")
    summed = [d for d in loops if d not in used[0]]
    left, _, right = text.partition("=")
    if summed and not (left.rstrip().endswith("+") and "+" not in right):
        found = f"{shortened(repr(text))}, which is no sum of products over {', '.join(summed)}"
        raise InputError(where, found, EXPECTED_EQUATION)


def _index(
    name: Dimension, derived: Mapping[Dimension, AffineIndex], facts: Mapping[Dimension, AxisExtent]
) -> AffineIndex:
    if name not in derived:
        return AffineIndex(terms=(Term(dimension=name),))
    size, padding = facts.get(name, (None, (0, 0)))
    return AffineIndex(name=name, terms=derived[name].terms, size=size, padding=padding)

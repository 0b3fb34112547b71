"""The kinds of expressions' values: what is no number is found before anything is computed."""

import ast
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from nestmap.model.design_space.expression import FLOAT_RANGE, Known, node_value
from nestmap.model.design_space.expression_syntax import (
    ExpressionError,
    Kind,
    dotted_name,
    expression_tree,
    kind_of_value,
    names_in,
    operands,
)
from nestmap.model.errors import shortened

_ANY_NUMBER: Final = ast.Constant(1)
_OF_CONSTANTS: Final = Known({}, FLOAT_RANGE)


def kind_of_expression(text: str, kinds: Mapping[str, Kind]) -> Kind:
    """The kind of an expression's values, given those of all names in it.

    Raises:
        ExpressionError: where it has no value whatever the values of the names: kinds are mixed,
            a divisor is always zero, an exponent is too large, a part without names has no value.
        KeyError: where the kind of a name is missing.
    """
    return _kind(expression_tree(text), kinds)


def _kind(node: ast.expr, kinds: Mapping[str, Kind]) -> Kind:
    if _is_constant(node):
        return kind_of_value(node_value(node, _OF_CONSTANTS))
    match node:
        case ast.Name() | ast.Attribute():
            return kinds[dotted_name(node) or ""]
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            _check_kinds(node, kinds, Kind.TRUTH)
            return Kind.TRUTH
        case ast.Compare():
            _check_comparison(node, kinds)
            return Kind.TRUTH
        case ast.BinOp(op=op, right=right) if _is_constant(right):
            _check_kinds(node, kinds, Kind.NUMBER)
            node_value(ast.BinOp(_ANY_NUMBER, op, right), _OF_CONSTANTS)
            return Kind.NUMBER
        case _:
            _check_kinds(node, kinds, Kind.NUMBER)
            return Kind.NUMBER


def _is_constant(node: ast.expr) -> bool:
    return not any(names_in(node))


def _check_kinds(node: ast.expr, kinds: Mapping[str, Kind], expected: Kind) -> None:
    """Checks that all operands are of one kind."""
    for operand in operands(node):
        found = _kind(operand, kinds)
        if found is not expected:
            example = "a condition such as rows <= 8" if expected is Kind.TRUTH else expected
            raise ExpressionError(f"{_text(operand)}, which is {found}", example)


def _check_comparison(node: ast.Compare, kinds: Mapping[str, Kind]) -> None:
    """Checks that only numbers are ordered, and that what is equal or not is of one kind."""
    found = [_kind(x, kinds) for x in operands(node)]
    for op, (left, right) in zip(node.ops, pairwise(found), strict=True):
        is_ordered = not isinstance(op, ast.Eq | ast.NotEq)
        if left is not right or (is_ordered and left is not Kind.NUMBER):
            told = f"{_text(node)}, which compares {left} with {right}"
            others = "" if is_ordered else ", two texts or two truth values"
            raise ExpressionError(told, f"two numbers{others}")


def _text(node: ast.expr) -> str:
    return shortened(ast.unparse(node))

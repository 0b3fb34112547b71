"""Expressions of names and their values: a small part of Python's syntax, never executed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from math import ceil, floor
from sys import float_info
from typing import Final, NamedTuple, cast

from pydantic import model_validator

from nestmap.model.base import Frozen
from nestmap.model.design_space.expression_syntax import (
    LARGEST,
    ExpressionError,
    Number,
    Value,
    dotted_name,
    expression_tree,
    kind_of_value,
    names_in,
)
from nestmap.model.errors import shortened

LARGEST_EXPONENT: Final = 64

FLOAT_RANGE: Final = float_info.max
"""The largest magnitude of an objective: that of a ``float``."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Number, Number], Number | complex]]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
    ast.Mult: lambda x, y: x * y,
    ast.Div: lambda x, y: x / y,
    ast.FloorDiv: lambda x, y: x // y,
    ast.Mod: lambda x, y: x % y,
    ast.Pow: lambda x, y: cast("Number | complex", x**y),
}
_EQUALITY: Final[dict[type[ast.cmpop], Callable[[object, object], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ORDER: Final[dict[type[ast.cmpop], Callable[[Number, Number], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Expression(Frozen, frozen=True):
    """An expression of names, in a part of Python's syntax and with Python's meaning.

    It has numbers, texts, truth values, arithmetic, comparisons, ``and``, ``or``, ``not``, ``min``,
    ``max``, ``ceil`` and ``floor``. Names may have dots: ``memories.sram.size``. Numbers stay
    within 2^62, exponents within 64.

    >>> Expression(text="2 ** bits * min(rows, 3)").value({"bits": 4, "rows": 8})
    48
    """

    text: str

    @model_validator(mode="after")
    def _check_syntax(self) -> Expression:
        _ = self._tree
        return self

    def __str__(self) -> str:
        return self.text

    @cached_property
    def _tree(self) -> ast.expr:
        return expression_tree(self.text)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in order of appearance."""
        return tuple(dict.fromkeys(names_in(self._tree)))

    @cached_property
    def limit(self) -> tuple[str, float] | None:
        """The name and the number that ``<``, ``<=``, ``>`` or ``>=`` compares; else ``None``.

        >>> Expression(text="20 >= area").limit
        ('area', 20.0)
        """
        tree = self._tree
        if not (
            isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _ORDER
        ):
            return None
        sides = (tree.left, tree.comparators[0])
        for name, other in (sides, sides[::-1]):
            text = dotted_name(name)
            if text is not None and not any(names_in(other)):
                with suppress(ExpressionError):  # a text, or no value
                    return text, float(_number(node_value(other, Known({}, LARGEST))))
        return None

    def value(self, names: Mapping[str, Value]) -> Value:
        """The value, given those of the names; a whole number is an ``int``.

        Raises:
            ExpressionError: where there is none: a division by zero, a number beyond 2^62, a text
                among numbers.
            KeyError: where a name has no value.
        """
        return _whole(node_value(self._tree, Known(names, LARGEST)))

    def number(self, names: Mapping[str, Value]) -> float:
        """The value as a ``float``, whose range is the only bound of numbers.

        Raises:
            ExpressionError: where there is none: as of :meth:`value`, or another thing than a
                number.
            KeyError: where a name has no value.
        """
        known = {name: _finite(names[name]) for name in self.names}
        return float(_number(node_value(self._tree, Known(known, FLOAT_RANGE))))

    def holds(self, names: Mapping[str, Value]) -> bool:
        """Whether a condition holds.

        Raises:
            ExpressionError: where it has no value, or one other than true or false.
            KeyError: where a name has no value.
        """
        return _truth(self.value(names))


class Known(NamedTuple):
    """The values of names, and the largest magnitude of a number that is computed."""

    names: Mapping[str, Value]
    largest: float


def node_value(node: ast.expr, known: Known) -> Value:
    """The value of a part of an expression.

    Raises:
        ExpressionError: where there is none.
        KeyError: where a name has no value.
    """
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name() | ast.Attribute():
            return known.names[dotted_name(node) or ""]
        case ast.BoolOp(op=op, values=values):
            truths = (_truth(node_value(x, known)) for x in values)
            return all(truths) if isinstance(op, ast.And) else any(truths)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compared(node_value(left, known), ops, (node_value(x, known) for x in others))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(node_value(operand, known))
        case _:
            return _number_of(node, known)


def _number_of(node: ast.expr, known: Known) -> Number:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            numbers = _number(node_value(left, known)), _number(node_value(right, known))
            return _computed(op, *numbers, known.largest)
        case ast.UnaryOp(op=op, operand=operand):
            number = _number(node_value(operand, known))
            return -number if isinstance(op, ast.USub) else number
        case ast.Call(func=ast.Name(id=name), args=args):
            return _called(name, [_number(node_value(x, known)) for x in args])
        case _:
            raise AssertionError(ast.dump(node))  # refused when the expression was made


def _computed(op: ast.operator, left: Number, right: Number, largest: float) -> Number:
    if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod) and right == 0:
        raise ExpressionError("a division by zero", "another divisor")
    if isinstance(op, ast.Pow) and abs(right) > LARGEST_EXPONENT:
        found = f"the exponent {right:g}"
        raise ExpressionError(found, f"-{LARGEST_EXPONENT} to {LARGEST_EXPONENT}")
    try:
        result = _ARITHMETIC[type(op)](left, right)
    except ZeroDivisionError:
        raise ExpressionError("a negative power of zero", "another base") from None
    except OverflowError:
        raise _too_large(largest) from None
    if isinstance(result, complex):
        raise ExpressionError("a fractional power of a negative number", "a positive base")
    return _bounded(result, largest)


def _finite(value: Value) -> Value:
    """A value that is no infinite number."""
    return value if isinstance(value, bool | str) else _bounded(value, FLOAT_RANGE)


def _bounded(number: Number, largest: float) -> Number:
    if not abs(number) <= largest:  # NaN compares false
        raise _too_large(largest)
    return number


def _too_large(largest: float) -> ExpressionError:
    bound = "2^62" if largest == LARGEST else f"{largest:.1e}"
    return ExpressionError(f"a number above {bound}", "a smaller one")


def _compared(left: Value, ops: list[ast.cmpop], others: Iterator[Value]) -> bool:
    """A chain of comparisons, as in ``1 < rows <= 8``; what follows a false one does not count."""
    for op, right in zip(ops, others, strict=False):
        if not _is_true(op, left, right):
            return False
        left = right
    return True


def _is_true(op: ast.cmpop, left: Value, right: Value) -> bool:
    if type(op) in _ORDER:
        return _ORDER[type(op)](_number(left), _number(right))
    if kind_of_value(left) is not kind_of_value(right):
        found = f"a comparison of {left!r} with {right!r}"
        raise ExpressionError(found, "two numbers, two texts or two truth values")
    return _EQUALITY[type(op)](left, right)


def _called(name: str, numbers: list[Number]) -> Number:
    match name:
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "ceil":
            return ceil(numbers[0])
        case _:
            return floor(numbers[0])


def _number(value: Value) -> Number:
    if isinstance(value, bool | str):
        raise ExpressionError(shortened(repr(value)), "a number")
    return value


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(shortened(repr(value)), "a condition such as rows <= 8")
    return value


def _whole(value: Value) -> Value:
    """The value, as an ``int`` where it is whole: fields that count take no ``float``."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

"""Expressions of parameters: a small part of Python's syntax, parsed once, never executed."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from math import ceil, floor
from typing import Final, TypeAlias, cast

from pydantic import model_validator

from nestmap.model.base import Frozen
from nestmap.model.errors import shortened

Value: TypeAlias = bool | int | float | str
"""A value of a parameter or a field."""

Number: TypeAlias = int | float

LARGEST: Final = 2**62
"""The largest magnitude of a number: it fits the cost model's 64-bit counters."""

LONGEST: Final = 1000
"""The largest number of characters of an expression."""

DEEPEST: Final = 40
"""The deepest nesting of an expression."""

LARGEST_EXPONENT: Final = 64

SYNTAX: Final = (
    "numbers, 'texts', True, False, names, + - * / // % **, comparisons, and, or, not, min, max, "
    "ceil, floor"
)
"""What an expression consists of."""

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
_FUNCTIONS: Final = ("min", "max", "ceil", "floor")

RESERVED: Final = frozenset(_FUNCTIONS)
"""Names that parameters cannot have."""


class ExpressionError(ValueError):
    """An expression has no value; the text says what was found and what is expected."""

    def __init__(self, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(f"{found}; expected {expected}")


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
        tree = _parsed(self.text)
        _check(tree, 1)
        return tree

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in order of appearance."""
        return tuple(dict.fromkeys(_names(self._tree)))

    def value(self, names: Mapping[str, Value]) -> Value:
        """The value, given those of the names; a whole number is an ``int``.

        Raises:
            ExpressionError: where there is none: a division by zero, a number beyond 2^62, a text
                among numbers.
            KeyError: where a name has no value.
        """
        return _whole(_value(self._tree, names))

    def holds(self, names: Mapping[str, Value]) -> bool:
        """Whether a condition holds.

        Raises:
            ExpressionError: where it has no value, or one other than true or false.
            KeyError: where a name has no value.
        """
        return _truth(self.value(names))


def _parsed(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ExpressionError(f"{len(text):,} characters", f"at most {LONGEST:,}")
    if not text.strip():
        raise ExpressionError(repr(text), f"an expression of {SYNTAX}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Python warns of what is probably no expression: 1is 2
        try:
            return ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError, Warning):
            expected = f"an expression of {SYNTAX}"
            raise ExpressionError(shortened(repr(text)), expected) from None


def _check(node: ast.expr, depth: int) -> None:
    """Checks that a tree consists of what expressions may have."""
    if depth > DEEPEST:
        raise ExpressionError("a deeply nested expression", f"at most {DEEPEST} levels")
    match node:
        case ast.Constant(value=bool() | str()):
            pass
        case ast.Constant(value=int() | float() as number):
            _bounded(number)
        case ast.Name(id=name) if name in _FUNCTIONS:
            raise ExpressionError(f"the function {name} without arguments", f"{name}(...)")
        case ast.Name():
            pass
        case ast.Attribute() if _dotted(node) is not None:
            pass
        case _:
            for child in _operands(node):
                _check(child, depth + 1)


def _operands(node: ast.expr) -> tuple[ast.expr, ...]:
    """The parts of an operation or a call of a function."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return left, right
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            return (operand,)
        case ast.BoolOp(values=values):
            return tuple(values)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(map(_is_known, ops)):
            return left, *others
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            wanted = "one argument" if name in ("ceil", "floor") else "one argument or more"
            if not args or (len(args) > 1 and wanted == "one argument"):
                raise ExpressionError(f"{name} of {len(args)} arguments", wanted)
            return tuple(args)
        case _:
            raise ExpressionError(shortened(repr(ast.unparse(node))), f"only {SYNTAX}")


def _is_known(op: ast.cmpop) -> bool:
    return type(op) in _EQUALITY or type(op) in _ORDER


def _dotted(node: ast.expr) -> str | None:
    """The text of a name with dots; ``None`` if the node is another thing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            head = _dotted(value)
            return None if head is None else f"{head}.{attribute}"
        case _:
            return None


def _names(node: ast.expr) -> Iterator[str]:
    dotted = _dotted(node)
    if dotted is not None:
        yield dotted
    elif not isinstance(node, ast.Constant):
        for child in _operands(node):
            yield from _names(child)


def _value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name() | ast.Attribute():
            return names[_dotted(node) or ""]
        case ast.BoolOp(op=op, values=values):
            truths = (_truth(_value(x, names)) for x in values)
            return all(truths) if isinstance(op, ast.And) else any(truths)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compared(_value(left, names), ops, (_value(x, names) for x in others))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(_value(operand, names))
        case _:
            return _number_of(node, names)


def _number_of(node: ast.expr, names: Mapping[str, Value]) -> Number:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return _computed(op, _number(_value(left, names)), _number(_value(right, names)))
        case ast.UnaryOp(op=op, operand=operand):
            number = _number(_value(operand, names))
            return -number if isinstance(op, ast.USub) else number
        case ast.Call(func=ast.Name(id=name), args=args):
            return _called(name, [_number(_value(x, names)) for x in args])
        case _:
            raise AssertionError(ast.dump(node))  # refused when the expression was made


def _computed(op: ast.operator, left: Number, right: Number) -> Number:
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
        raise ExpressionError("a number above 2^62", "a smaller one") from None
    if isinstance(result, complex):
        raise ExpressionError("a fractional power of a negative number", "a positive base")
    return _bounded(result)


def _bounded(number: Number) -> Number:
    if not abs(number) <= LARGEST:  # NaN compares false
        raise ExpressionError("a number above 2^62", "a smaller one")
    return number


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
    if _kind(left) != _kind(right):
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


def _kind(value: Value) -> str:
    if isinstance(value, bool | str):
        return type(value).__name__
    return "number"


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

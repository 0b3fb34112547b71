"""The syntax of expressions: a small part of Python's, checked and never executed."""

import ast
import warnings
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, TypeAlias

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

SYNTAX: Final = (
    "numbers, 'texts', True, False, names, + - * / // % **, comparisons, and, or, not, min, max, "
    "ceil, floor"
)
"""What an expression consists of."""

_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_COMPARISONS: Final = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_FUNCTIONS: Final = ("min", "max", "ceil", "floor")

RESERVED: Final = frozenset(_FUNCTIONS)
"""Names that parameters cannot have."""


class Kind(StrEnum):
    """What a value is; values of different kinds cannot be compared."""

    NUMBER = "a number"
    TEXT = "a text"
    TRUTH = "true or false"


def kind_of_value(value: Value) -> Kind:
    """The kind of a value."""
    if isinstance(value, bool):
        return Kind.TRUTH
    return Kind.TEXT if isinstance(value, str) else Kind.NUMBER


class ExpressionError(ValueError):
    """An expression has no value; the text says what was found and what is expected."""

    def __init__(self, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(f"{found}; expected {expected}")


def expression_tree(text: str) -> ast.expr:
    """The tree of an expression.

    Raises:
        ExpressionError: where the text is none.
    """
    tree = _parsed(text)
    _check(tree, 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node.value.encode()
            except UnicodeEncodeError:  # no file and no store could have it
                found = f"{node.value!a}, half of a pair of surrogates"
                raise ExpressionError(found, "characters of Unicode") from None
    return tree


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
            if not abs(number) <= LARGEST:  # infinity is one, too
                raise ExpressionError("a number above 2^62", "a smaller one")
        case ast.Name(id=name) if name in _FUNCTIONS:
            raise ExpressionError(f"the function {name} without arguments", f"{name}(...)")
        case ast.Name():
            pass
        case ast.Attribute() if dotted_name(node) is not None:
            pass
        case _:
            for child in operands(node):
                _check(child, depth + 1)


def operands(node: ast.expr) -> tuple[ast.expr, ...]:
    """The parts of an operation or a call of a function."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
            return left, right
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            return (operand,)
        case ast.BoolOp(values=values):
            return tuple(values)
        case ast.Compare(left=left, ops=ops, comparators=others) if _are_known(ops):
            return left, *others
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            wanted = "one argument" if name in ("ceil", "floor") else "one argument or more"
            if not args or (len(args) > 1 and wanted == "one argument"):
                raise ExpressionError(f"{name} of {len(args)} arguments", wanted)
            return tuple(args)
        case _:
            raise ExpressionError(shortened(repr(ast.unparse(node))), f"only {SYNTAX}")


def _are_known(ops: list[ast.cmpop]) -> bool:
    return all(isinstance(x, _COMPARISONS) for x in ops)


def dotted_name(node: ast.expr) -> str | None:
    """The text of a name with dots; ``None`` if the node is another thing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            head = dotted_name(value)
            return None if head is None else f"{head}.{attribute}"
        case _:
            return None


def names_in(node: ast.expr) -> Iterator[str]:
    """The names in order, each as often as it appears."""
    dotted = dotted_name(node)
    if dotted is not None:
        yield dotted
    elif not isinstance(node, ast.Constant):
        for child in operands(node):
            yield from names_in(child)

"""The values of the expressions in the parts of a space, and the errors about parts."""

from collections.abc import Mapping

from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import ExpressionError, Value


class SpaceError(ValueError):
    """A part of a design space is wrong; ``part`` is its path, as in a file."""

    def __init__(self, part: str, found: str, expected: str) -> None:
        self.part = part
        self.found = found
        self.expected = expected
        super().__init__(f"{part}: {found}; expected {expected}")


def value_of(part: str, expression: Expression, values: Mapping[str, Value]) -> Value:
    """The value of an expression in a part of a space.

    Raises:
        SpaceError: where it has none.
    """
    try:
        return expression.value(values)
    except ExpressionError as error:
        raise _without_value(part, expression, values, error) from None


def number_of(part: str, expression: Expression, values: Mapping[str, Value]) -> float:
    """The value of an expression, which may be as large as a ``float``.

    Raises:
        SpaceError: where it has none, or another thing than a number.
    """
    try:
        return expression.number(values)
    except ExpressionError as error:
        raise _without_value(part, expression, values, error) from None


def _without_value(
    part: str, expression: Expression, values: Mapping[str, Value], error: ExpressionError
) -> SpaceError:
    used = ", ".join(f"{x}={values[x]}" for x in expression.names)
    where = f" with {used}" if used else ""
    return SpaceError(part, f"{expression}, which is {error.found}{where}", error.expected)


def condition_of(part: str, expression: Expression, values: Mapping[str, Value]) -> bool:
    """Whether a condition in a part of a space holds.

    Raises:
        SpaceError: where it has no value, or one other than true or false.
    """
    value = value_of(part, expression, values)
    if not isinstance(value, bool):
        raise SpaceError(part, f"{expression}, which is {value!r}", "a condition such as rows <= 8")
    return value

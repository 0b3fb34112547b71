"""The kind of an expression is that of its values, and is known without them."""

from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_kinds import kind_of_expression
from nestmap.model.design_space.expression_syntax import ExpressionError, Kind, Value, kind_of_value

NAMES: Final[dict[str, Value]] = {"n": 3, "x": 0.5, "t": "sram", "b": True}
KINDS: Final = {name: kind_of_value(value) for name, value in NAMES.items()}
MIXED: Final = "is a number|is a text|is true or false|which compares"

leaves = st.sampled_from([*NAMES, "2", "0", "'a'", "False"])
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            "({} {} {})".format,
            inner,
            st.sampled_from(["+", "*", "/", "**", "<", "==", "!=", "and", "or"]),
            inner,
        ),
        st.builds("(not {})".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("({} < {} == {})".format, inner, inner, inner),
    ),
    max_leaves=6,
)


@given(expressions)
@example("n + x * 2")
@example("n < 2 and b")
@example("t == 'a' or not b")
def test_the_kind_is_that_of_the_value(text: str) -> None:
    try:
        kind = kind_of_expression(text, KINDS)
    except ExpressionError:
        return  # test_what_has_no_kind_has_no_value
    try:
        value = Expression(text=text).value(NAMES)
    except ExpressionError as error:
        told = error.found
    else:
        told = ""
        assert kind_of_value(value) is kind
    assert told not in {"'sram'", "'a'", "True", "False"}  # kinds are not mixed


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("n * (x < 2)", "x < 2, which is true or false", "a number"),
        ("n + t", "t, which is a text", "a number"),
        ("-b", "b, which is true or false", "a number"),
        ("max(n, b)", "b, which is true or false", "a number"),
        ("n and b", "n, which is a number", "a condition such as rows <= 8"),
        ("not x", "x, which is a number", "a condition such as rows <= 8"),
        ("t == n", "t == n, which compares a text with a number", "two numbers, two texts or two"),
        ("t < t", "t < t, which compares a text with a text", "two numbers"),
        ("1 < n < b", "1 < n < b, which compares a number with true or false", "two numbers"),
        ("n / 0", "a division by zero", "another divisor"),
        ("n % (3 - 3)", "a division by zero", "another divisor"),
        ("x ** 65", "the exponent 65", "-64 to 64"),
        ("x + 1 / 0", "a division by zero", "another divisor"),
        ("x * (-8) ** 0.5", "a fractional power of a negative number", "a positive base"),
        ("x * (1 + 'a')", "'a'", "a number"),
    ],
)
def test_what_has_no_kind_has_no_value(text: str, found: str, expected: str) -> None:
    with pytest.raises(ExpressionError) as error:
        kind_of_expression(text, KINDS)
    assert error.value.found == found
    assert error.value.expected.startswith(expected)
    with pytest.raises(ExpressionError):
        Expression(text=text).number(NAMES)


@pytest.mark.parametrize("text", ["n / (x - 1)", "n ** x", "(n - 5) ** x", "0 ** n", "2 / x"])
def test_what_depends_on_values_has_a_kind(text: str) -> None:
    assert kind_of_expression(text, KINDS) is Kind.NUMBER


def test_nested_comparisons_take_no_time() -> None:
    text = "b"
    for _ in range(30):
        text = f"(b == {text} != b)"
    assert kind_of_expression(text, KINDS) is Kind.TRUTH

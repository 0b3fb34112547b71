"""Expressions have the values of Python's own, within bounds, and nothing else is one."""

from __future__ import annotations

import ast
from math import ceil, floor, isfinite
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from nestmap.model.design_space.expression import LARGEST_EXPONENT, Expression
from nestmap.model.design_space.expression_syntax import LARGEST, ExpressionError, Value
from nestmap.model.errors import violation

NAMES: Final[dict[str, Value]] = {"a": 3, "b": 0.5, "c": -7, "memories.sram.size": 64}

numbers = st.one_of(
    st.integers(0, 100).map(str),
    st.floats(0, 100, allow_nan=False).map(repr),
    st.sampled_from(sorted(NAMES)),
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Arithmetic on expressions."""
    operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, operators, inner),
        st.builds("(-{})".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["ceil", "floor"]), inner),
    )


arithmetic = st.recursive(numbers, combined, max_leaves=6)
comparisons = st.builds(
    "{} {} {}".format, arithmetic, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), arithmetic
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) or ({})".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=3,
)


class Parts:
    """Stands for what a name with dots is part of."""

    size = 64
    sram: Parts


Parts.sram = Parts()


def of_python(text: str) -> object:
    """The value that Python itself computes; ``None`` where it cannot."""
    names = {**NAMES, "memories": Parts, "ceil": ceil, "floor": floor, "min": min, "max": max}
    try:
        return eval(text, {"__builtins__": {}}, names)
    except (ArithmeticError, TypeError, ValueError):
        return None


@given(st.one_of(arithmetic, conditions))
@example("2 ** 64 / 2 ** 10")
@example("1 < a <= 3 != c")
def test_values_are_those_of_python(text: str) -> None:
    try:
        found = Expression(text=text).value(NAMES)
    except ExpressionError:
        return  # test_what_has_no_value_is_an_error
    expected = of_python(text)
    assert found == expected
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        assert isinstance(found, int) == float(expected).is_integer()


@given(arithmetic)
@example("1 / 0")
@example("0 ** -1")
@example("(-8) ** 0.5")
@example("9.0 ** 64 ** 2")
@example("(2 ** 62) ** 64")
def test_what_has_no_value_is_an_error(text: str) -> None:
    try:
        found = Expression(text=text).value(NAMES)
    except ExpressionError:
        assert not is_bounded(text)
    else:
        assert isinstance(found, int | float)
        assert isfinite(found)
        assert abs(found) <= LARGEST


def is_bounded(text: str) -> bool:
    """Whether Python computes a value whose parts are all within the bounds."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call | ast.Constant):
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            exponent = of_python(ast.unparse(node.right))
            if not isinstance(exponent, int | float) or abs(exponent) > LARGEST_EXPONENT:
                return False
        value = of_python(ast.unparse(node))
        if not isinstance(value, int | float) or not abs(value) <= LARGEST:
            return False
    return True


@given(st.text(max_size=40))
@example("__import__('os').system('true')")
@example("(lambda: 1)()")
@example("a if b else c")
@example("[a][0]")
@example("a.b()")
@example("f'{a}'")
@example("a := 3")
@example("min")
@example("min()")
@example("ceil(1, 2)")
@example("max(*a)")
@example("min(a, key=b)")
@example("a in b")
@example("a is b")
@example("a @ b")
@example("a & b")
@example("~a")
@example("1j")
@example("...")
@example("1e999")
@example(str(LARGEST + 1))
@example("1is 2")
@example("'\\d'")
@example("")
@example("a b")
@example("(" * 300 + "a" + ")" * 300)
@example("-" * 500 + "a")
@example("-" * 5000 + "a")
@example("None")
@example("\0")
def test_no_text_does_anything_but_arithmetic(text: str) -> None:
    """Texts are expressions of the few kinds, or errors; none crashes."""
    try:
        made = Expression(text=text)
    except ValidationError as error:
        told = violation(error)
    else:
        told = ("", "no error")
        check_parts(text, made)
    assert told[1]


def check_parts(text: str, made: Expression) -> None:
    """Checks that a text consists of what expressions may have."""
    allowed = (
        *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Constant),
        *(ast.Name, ast.Attribute, ast.Call, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
        ast.expr_context,
    )
    assert all(isinstance(x, allowed) for x in ast.walk(ast.parse(text.strip(), mode="eval")))
    assert "(" not in "".join(made.names)


def test_names_are_told_in_order() -> None:
    assert Expression(text="b * max(a, memories.sram.size) + b").names == (
        *("b", "a"),
        "memories.sram.size",
    )


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        Expression(text="rows").value({})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1 + True", "True"),
        ("'a' + 1", "'a'"),
        ("not 1", "1"),
        ("1 and True", "1"),
        ("'a' == 1", "a comparison of 'a' with 1"),
        ("'a' < 'b'", "'a'"),
    ],
)
def test_kinds_are_not_mixed(text: str, found: str) -> None:
    with pytest.raises(ExpressionError) as error:
        Expression(text=text).value({})
    assert error.value.found == found


def test_texts_are_compared() -> None:
    assert Expression(text="kind == 'sram' or kind == 'rf'").holds({"kind": "rf"})


@given(arithmetic)
@example("2.0 ** 63 * 2.0 ** 63")
@example("9.0 ** 60 ** 2")
@example("9.0 ** 60 * 9.0 ** 60 * 9.0 ** 60 * 9.0 ** 60 * 9.0 ** 60 * 9.0 ** 60")
@example("(2 ** 62) ** 64")
def test_numbers_are_values_whose_bound_is_that_of_floats(text: str) -> None:
    made = Expression(text=text)
    try:
        value = made.value(NAMES)
    except ExpressionError:
        value = None
    try:
        number = made.number(NAMES)
    except ExpressionError:
        assert value is None
    else:
        assert isfinite(number)
        assert number == (of_python(text) if value is None else value)


@pytest.mark.parametrize("infinite", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("text", ["x", "ceil(x)", "min(x, 3)", "3 / x", "(x == x) and 1"])
def test_no_number_is_made_of_infinite_ones(text: str, infinite: float) -> None:
    with pytest.raises(ExpressionError):
        Expression(text=text).number({"x": infinite})


@pytest.mark.parametrize("text", ["x < 2", "x == 2", "'a'", "True"])
def test_other_values_are_no_numbers(text: str) -> None:
    with pytest.raises(ExpressionError, match="expected a number"):
        Expression(text=text).number({"x": 2})

"""The parameters of a design space: lists of values, ranges, powers, and expressions of others."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from keyword import iskeyword
from re import compile as pattern
from typing import Annotated, Final, TypeAlias

from pydantic import Field, field_validator, model_validator

from nestmap.model.base import Frozen
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import LARGEST, RESERVED, Number, Value

MOST_VALUES: Final = 10_000
"""The largest number of values of a parameter."""

DERIVED: Final = ("area", "units", "memories")
"""What constraints may name besides parameters: quantities of the accelerator of a design."""

COLUMNS: Final = (
    *("design", "mapped_for", "energy", "latency", "edp", "area", "gap"),
    *("on_front", "reason", "networks"),
)
"""The columns of results besides the parameters and expressions that are objectives."""

_DIGITS: Final = 60
_NAME: Final = pattern(r"[A-Za-z][A-Za-z0-9_]{0,31}")

Bounded = Annotated[int | float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
"""A number within 2^62."""


class ValueList(Frozen, frozen=True):
    """Different values, all numbers, all texts or all truth values."""

    values: tuple[Bounded | bool | str, ...]

    @model_validator(mode="after")
    def _check_values(self) -> ValueList:
        if not self.values:
            raise ValueError("no value; expected at least one")
        if len({isinstance(x, str) + 2 * isinstance(x, bool) for x in self.values}) > 1:
            raise ValueError(
                "values of several kinds; expected only numbers, texts or truth values"
            )
        for n, value in enumerate(self.values):
            if value in self.values[:n]:
                raise ValueError(f"a second {value!r}; expected different values")
        return self


class LinearRange(Frozen, frozen=True):
    """The numbers ``first``, ``first + step``, ... up to and including ``last``.

    Decimal steps are exact: 0.1 to 0.3 in steps of 0.1 are three numbers.
    """

    first: Bounded
    last: Bounded
    step: Annotated[int | float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _check_range(self) -> LinearRange:
        _check_order(self.first, self.last)
        _check_count(1 + (_exact(self.last) - _exact(self.first)) // _exact(self.step))
        return self

    @cached_property
    def values(self) -> tuple[Number, ...]:
        """The numbers, ascending."""
        first, step = _exact(self.first), _exact(self.step)
        count = 1 + int((_exact(self.last) - first) // step)
        return tuple(_number(first + n * step) for n in range(count))


class PowerRange(Frozen, frozen=True):
    """The numbers ``first``, ``first * factor``, ``first * factor**2``, ... up to ``last``."""

    first: Annotated[int | float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
    last: Bounded
    factor: Annotated[int | float, Field(gt=1, le=LARGEST, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _check_range(self) -> PowerRange:
        _check_order(self.first, self.last)
        _check_count(sum(1 for _ in self._powers()))
        return self

    @cached_property
    def values(self) -> tuple[Number, ...]:
        """The numbers, ascending."""
        return tuple(self._powers())

    def _powers(self) -> Iterator[Number]:
        """Whole numbers exactly; others with more digits than a ``float`` has."""
        with localcontext(prec=_DIGITS):
            value, factor = Decimal(str(self.first)), Decimal(str(self.factor))
            numbers: list[Number] = []
            while value <= Decimal(str(self.last)) and len(numbers) <= MOST_VALUES:
                numbers.append(int(value) if value == int(value) else float(value))
                value *= factor
        yield from numbers


Choices: TypeAlias = ValueList | LinearRange | PowerRange | Expression
"""The values of a parameter; an expression has one value in each design."""


class Parameter(Frozen, frozen=True):
    """A named parameter of a design space.

    The name is a letter, then letters, digits or ``_``, at most 32 characters.
    """

    name: str
    choices: Choices

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        check_name(name)
        return name

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that a search chooses from; none of an expression."""
        return () if isinstance(self.choices, Expression) else self.choices.values


def is_parameter_name(text: str) -> bool:
    """Whether a text has the form of a name."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str) -> None:
    """Checks the name of a parameter or an objective.

    Raises:
        ValueError: where it has another form, or is taken.
    """
    if not is_parameter_name(name):
        raise ValueError(
            f"the name {name!r}; expected a letter, then letters, digits or _, at most 32"
        )
    reserved = dict.fromkeys((*sorted(RESERVED), *DERIVED, *COLUMNS))
    if name in reserved or iskeyword(name):
        taken = ", ".join(reserved)
        raise ValueError(f"the name {name!r}; expected none of {taken} or Python's keywords")


def _exact(number: Number) -> Fraction:
    """The number as it is written in decimals, which a binary fraction only approximates."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _number(exact: Fraction) -> Number:
    return int(exact) if exact.denominator == 1 else float(exact)


def _check_order(first: Number, last: Number) -> None:
    if first > last:
        raise ValueError(f"the empty range from {first} to {last}; expected one that ascends")


def _check_count(count: Number | Fraction) -> None:
    if count > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values; expected a larger step or factor")

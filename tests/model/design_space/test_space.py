"""Design spaces number their designs, compute expressions in order, and refuse what is wrong."""

from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.parameters import Choices, Parameter, ValueList
from nestmap.model.design_space.part_values import SpaceError
from nestmap.model.design_space.space import (
    Description,
    DesignSpace,
    Presence,
    Setting,
    WeightedNetwork,
)
from nestmap.model.evaluation.objective import DesignQuantity

FIELD: Final = "operational_array.sizes[0]"


def formula(text: str) -> Expression:
    return Expression(text=text)


def parameters(**choices: Choices) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name, choices=x) for name, x in choices.items())


def space(
    given: tuple[Parameter, ...],
    *,
    setting: str = "1",
    constraints: tuple[str, ...] = (),
    presence: tuple[Presence, ...] = (),
) -> DesignSpace:
    return DesignSpace(
        name="s",
        accelerator="tpu_like",
        parameters=given,
        settings=(Setting(field=FIELD, value=formula(setting)),),
        presence=presence,
        constraints=tuple(map(formula, constraints)),
        networks=(WeightedNetwork(network="light:alexnet"),),
    )


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_designs_are_numbered_with_the_last_parameter_fastest(counts: list[int]) -> None:
    lists = [tuple(range(count)) for count in counts]
    given = tuple(Parameter(name=f"p{n}", choices=ValueList(values=x)) for n, x in enumerate(lists))
    made = space(given)
    designs = [made.design(n) for n in range(made.size)]
    assert [tuple(x.values.values()) for x in designs] == list(product(*lists))
    assert [x.number for x in designs] == list(range(made.size))


def test_expressions_follow_those_they_name() -> None:
    given = parameters(
        bits=formula("words * 8"), words=formula("2 ** exponent"), exponent=ValueList(values=(3, 4))
    )
    made = space(given)
    assert made.size == 2
    assert str(made.design(1)) == "bits=128, words=16, exponent=4"


@pytest.mark.parametrize("number", [-1, 2])
def test_there_are_no_other_designs(number: int) -> None:
    with pytest.raises(IndexError):
        space(parameters(a=ValueList(values=(1, 2)))).design(number)


def refused(made: pytest.ExceptionInfo[ValidationError]) -> SpaceError:
    cause: object = made.value.errors()[0].get("ctx", {}).get("error")
    assert isinstance(cause, SpaceError)
    return cause


@pytest.mark.parametrize(
    ("choices", "part", "found"),
    [
        ({"a": formula("b")}, "parameters.a", "the unknown name b"),
        ({"a": formula("a")}, "parameters.a", "a cycle: a -> a"),
        ({"a": formula("area")}, "parameters.a", "the unknown name area"),
    ],
)
def test_expressions_name_other_parameters(
    choices: dict[str, Choices], part: str, found: str
) -> None:
    with pytest.raises(ValidationError) as error:
        space(parameters(**choices))
    assert (refused(error).part, refused(error).found) == (part, found)


def test_cycles_are_told_in_their_order() -> None:
    given = parameters(a=formula("b + 1"), b=formula("c"), c=formula("2 * a"))
    with pytest.raises(
        ValidationError, match=r"a cycle: (a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c)"
    ):
        space(given)


def test_nothing_stands_twice() -> None:
    a = parameters(a=ValueList(values=(1,)))
    with pytest.raises(ValidationError, match=r"parameters\.a: a second a"):
        space(a + a)
    sram = Presence(memory="sram", when=formula("True"))
    with pytest.raises(ValidationError, match=r"when\.sram: a second sram"):
        space(a, presence=(sram, sram))
    with pytest.raises(ValidationError, match=r"objectives\[1\]"):
        DesignSpace.model_validate(
            dict(space(a)) | {"objectives": (DesignQuantity.AREA, DesignQuantity.AREA)}
        )


@pytest.mark.parametrize("part", ["parameters", "settings", "networks", "objectives"])
def test_no_part_is_empty(part: str) -> None:
    with pytest.raises(ValidationError, match="expected"):
        DesignSpace.model_validate(dict(space(parameters(a=ValueList(values=(1,))))) | {part: ()})


@pytest.mark.parametrize(
    "name", ["area", "units", "memories.sram.size", "memories.a.b.instances", "memories.x.area"]
)
def test_constraints_may_name_quantities_of_the_accelerator(name: str) -> None:
    made = space(parameters(a=ValueList(values=(1,))), constraints=(f"{name} <= a",))
    assert made.constraints[0].names == (name, "a")


@pytest.mark.parametrize(
    "name", ["rows", "memories", "memories.size", "memories.sram.width", "sram"]
)
def test_constraints_name_nothing_else(name: str) -> None:
    with pytest.raises(ValidationError, match=r"constraints\[0\]: the unknown name"):
        space(parameters(a=ValueList(values=(1,))), constraints=(f"{name} <= a",))


def test_an_expression_without_a_value_names_its_parameters() -> None:
    made = space(parameters(a=ValueList(values=(0,)), b=formula("1 / a")))
    with pytest.raises(SpaceError) as error:
        made.design(0)
    assert str(error.value) == (
        "parameters.b: 1 / a, which is a division by zero with a=0; expected another divisor"
    )


def test_spaces_are_values() -> None:
    made = space(parameters(a=ValueList(values=(1, 2.5, 3)), b=formula("a * 2")))
    assert DesignSpace.model_validate_json(made.model_dump_json()) == made
    assert hash(made) == hash(DesignSpace.model_validate_json(made.model_dump_json()))
    assert Description.of({"a": [1, 2.0]}).values == {"a": [1, 2.0]}

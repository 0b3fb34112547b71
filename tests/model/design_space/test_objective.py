"""Objectives are quantities or expressions of them, and have a value for each feasible design."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nestmap.model import Objective
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.objective import ObjectiveFormula, SweepObjective
from nestmap.model.design_space.parameters import Parameter, ValueList
from nestmap.model.design_space.part_values import SpaceError
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import Aggregate, DesignSpace, Setting, WeightedNetwork
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES, DesignObjective, DesignQuantity

NUMBERS = st.floats(1e-6, 1e12)
NETWORKS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6)
PARAMETERS: Final[tuple[tuple[str, Value], ...]] = (
    ("rows", 4),
    ("kind", "sram"),
    ("wide", True),
    ("half", 2),
)


def formula(text: str, name: str | None = None) -> ObjectiveFormula:
    return ObjectiveFormula(of=Expression(text=text), name=name)


def design(
    networks: list[tuple[float, float, float]],
    aggregate: Aggregate = Aggregate.SUM,
    area: float = 2.0,
) -> DesignResult:
    figures = tuple(
        NetworkFigures(network=f"n{n}", weight=weight, energy=energy, latency=latency)
        for n, (weight, energy, latency) in enumerate(networks)
    )
    return DesignResult(
        aggregate=aggregate,
        number=0,
        parameters=PARAMETERS,
        mapped_for=Objective.ENERGY,
        area=area,
        networks=figures,
    )


def space(*objectives: SweepObjective) -> DesignSpace:
    """A space with a parameter of each kind."""
    lists: dict[str, tuple[Value, ...]] = {
        "rows": (4, 8),
        "kind": ("sram", "rf"),
        "wide": (True, False),
    }
    given = (
        *(Parameter(name=name, choices=ValueList(values=x)) for name, x in lists.items()),
        Parameter(name="half", choices=Expression(text="rows // 2")),
    )
    return DesignSpace(
        name="s",
        accelerator="tpu_like",
        parameters=given,
        settings=(Setting(field="operational_array.sizes[0]", value=Expression(text="rows")),),
        networks=(WeightedNetwork(network="light:alexnet"),),
        objectives=objectives,
    )


@given(NETWORKS, st.sampled_from(Aggregate), st.sampled_from(DESIGN_OBJECTIVES))
def test_the_name_of_a_quantity_is_that_quantity(
    networks: list[tuple[float, float, float]], aggregate: Aggregate, quantity: DesignObjective
) -> None:
    made = design(networks, aggregate)
    assert made.figure(formula(quantity.value)) == made.figure(quantity)


@given(NETWORKS)
def test_the_energy_delay_product_of_sums_is_the_product(
    networks: list[tuple[float, float, float]],
) -> None:
    made = design(networks)
    assert made.figure(formula("energy * latency")) == made.edp


@given(NETWORKS)
def test_the_product_of_the_worst_figures_is_at_least_the_worst_product(
    networks: list[tuple[float, float, float]],
) -> None:
    made = design(networks, Aggregate.WORST)
    product = made.figure(formula("energy * latency"))
    assert product is not None
    assert made.edp is not None
    assert product >= made.edp


def test_the_worst_figures_may_be_those_of_different_networks() -> None:
    made = design([(1.0, 10.0, 1.0), (1.0, 1.0, 10.0)], Aggregate.WORST)
    assert made.edp == 10
    assert made.figure(formula("energy * latency")) == 100


def test_expressions_are_of_quantities_and_parameters() -> None:
    made = design([(1.0, 1e12, 1e9), (2.0, 5e11, 5e8)])
    assert made.figure(formula("energy * latency ** 2")) == 2e12 * 2e9**2  # above 2^62
    assert made.figure(formula("0.5 * energy / 1e9 + latency / 1e6")) == 1000 + 2000
    assert made.figure(formula("-rows * area")) == -8
    assert made.figure(formula("half")) == 2


def test_objectives_are_named_by_name_or_text() -> None:
    assert str(formula("energy * area")) == "energy * area"
    assert str(formula("energy * area", "cost")) == "cost"
    assert [str(x) for x in DESIGN_OBJECTIVES] == ["energy", "latency", "edp", "area"]


@pytest.mark.parametrize(
    "name", ["energy", "area", "on_front", "a b", "", "min", "lambda", "units"]
)
def test_names_are_as_those_of_parameters_and_not_taken(name: str) -> None:
    with pytest.raises(ValidationError, match="expected"):
        formula("energy * 2", name)


@pytest.mark.parametrize(
    ("objective", "told"),
    [
        (formula("enrgy * 2"), "the unknown name enrgy; expected energy (one of energy, latency"),
        (formula("units * energy"), "the unknown name units; expected one of energy, latency"),
        (formula("energy * rowz"), "the unknown name rowz; expected rows"),
        (
            formula("3 * 2"),
            "3 * 2, which is the same for all designs; expected an expression of en",
        ),
        (formula("energy < 3"), "energy < 3, which is true or false; expected a number"),
        (formula("kind"), "kind, which is a text; expected a number"),
        (formula("wide"), "wide, which is true or false; expected a number"),
        (
            formula("energy * wide"),
            "energy * wide: wide, which is true or false; expected a number",
        ),
        (formula("energy / 0"), "energy / 0: a division by zero; expected another divisor"),
        (formula("energy ** 100"), "energy ** 100: the exponent 100; expected -64 to 64"),
        (formula("area", "rows"), "the name rows, which a parameter has; expected another name"),
        (formula("latency"), "a second latency; expected each once"),
    ],
)
def test_what_is_no_number_is_told_by_the_space(objective: ObjectiveFormula, told: str) -> None:
    with pytest.raises(ValidationError) as error:
        space(Objective.LATENCY, objective)
    cause: object = error.value.errors()[0].get("ctx", {}).get("error")
    assert isinstance(cause, SpaceError)
    assert cause.part == "objectives[1]"
    assert str(cause).startswith(f"objectives[1]: {told}")


def test_names_differ() -> None:
    with pytest.raises(ValidationError, match=r"objectives\[1\]: a second cost"):
        space(formula("energy * area", "cost"), formula("energy * latency", "cost"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "energy / (rows - 4)",
            "energy / (rows - 4), which is a division by zero with energy=3.0, rows=4; expected an",
        ),
        ("(latency - 9) ** 0.5", "a fractional power of a negative number with latency=5.0"),
        ("9.0 ** 60 ** (half * rows)", "which is the exponent"),
        ("(energy * 1e18) ** 64", "which is a number above 1.8e+308"),
    ],
)
def test_without_a_value_a_design_is_infeasible_and_keeps_its_networks(
    text: str, told: str
) -> None:
    made = design([(1.0, 3.0, 5.0)])
    checked = made.with_objectives((DesignQuantity.AREA, formula(text)))
    assert checked.reason is not None
    assert checked.reason.startswith("objectives[1]: ")
    assert told in checked.reason
    assert not checked.is_feasible
    assert checked.figure(Objective.ENERGY) is None
    assert checked.networks == made.networks
    with pytest.raises(SpaceError):
        made.figure(formula(text))


def test_a_quantity_that_is_infinite_is_a_reason_too() -> None:
    made = design([(1e12, 1e300, 1e300)])
    assert made.with_objectives((DesignQuantity.AREA,)) == made
    checked = made.with_objectives((Objective.EDP,))
    assert checked.reason is not None
    assert checked.reason.startswith("objectives[0]: edp, which is a number above 1.8e+308")


def test_feasible_designs_stay_as_they_are() -> None:
    made = design([(1.0, 3.0, 5.0)])
    assert made.with_objectives((Objective.EDP, formula("energy * rows"))) is made
    refused = DesignResult(
        aggregate=Aggregate.SUM,
        number=0,
        parameters=PARAMETERS,
        mapped_for=Objective.ENERGY,
        reason="too small",
    )
    assert refused.with_objectives((formula("energy"),)) is refused
    assert refused.figure(formula("energy")) is None


def test_spaces_with_expressions_are_values() -> None:
    made = space(DesignQuantity.AREA, formula("energy * area", "cost"), formula("energy + half"))
    again = DesignSpace.model_validate_json(made.model_dump_json())
    assert again == made
    assert again.content_hash == made.content_hash != space(DesignQuantity.AREA).content_hash

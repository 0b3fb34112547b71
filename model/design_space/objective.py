"""The objectives of a design space: quantities of designs, and expressions of them."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from pydantic import field_validator

from nestmap.model.base import Frozen
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_kinds import kind_of_expression
from nestmap.model.design_space.expression_syntax import ExpressionError, Kind
from nestmap.model.design_space.parameters import check_name
from nestmap.model.design_space.part_values import SpaceError
from nestmap.model.errors import suggestion
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES, DesignObjective


class ObjectiveFormula(Frozen, frozen=True):
    """What a sweep minimizes: an expression of the quantities and parameters of a design.

    Its quantities are those of the design as a whole: ``energy`` (pJ), ``latency`` (cycles) and
    ``edp`` (pJ x cycles) are sums over the networks or those of the worst network, ``area`` has the
    unit of the description. Without a name, it is named by its text.
    """

    of: Expression
    name: str | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str | None) -> str | None:
        if name is not None:
            check_name(name)
        return name

    def __str__(self) -> str:
        return self.of.text if self.name is None else self.name


SweepObjective: TypeAlias = DesignObjective | ObjectiveFormula
"""A quantity, or an expression of quantities; ``str`` is its name."""

_QUANTITIES: Final = {x.value: Kind.NUMBER for x in DESIGN_OBJECTIVES}
_EXPRESSIONS: Final = {x: Expression(text=x.value) for x in DESIGN_OBJECTIVES}


def expression_of(objective: SweepObjective) -> Expression:
    """The expression that an objective is; of a quantity, its name."""
    return objective.of if isinstance(objective, ObjectiveFormula) else _EXPRESSIONS[objective]


def objective_part(place: int) -> str:
    """The path of an objective in a space, given its place among all."""
    return f"objectives[{place}]"


def check_objectives(objectives: Sequence[SweepObjective], parameters: Mapping[str, Kind]) -> None:
    """Checks that objectives are numbers that may differ between designs, with names of their own.

    Args:
        objectives: those of a space.
        parameters: the kinds of its parameters.

    Raises:
        SpaceError: where one is another thing, or names what is unknown.
    """
    if not objectives:
        expected = f"some of {', '.join(DESIGN_OBJECTIVES)}, or expressions of them"
        raise SpaceError("objectives", "no objective", expected)
    names = list(map(str, objectives))
    for n, objective in enumerate(objectives):
        if names[n] in names[:n]:
            raise SpaceError(objective_part(n), f"a second {names[n]}", "each once")
        if isinstance(objective, ObjectiveFormula):
            _check_formula(objective_part(n), objective, parameters)


def _check_formula(part: str, formula: ObjectiveFormula, parameters: Mapping[str, Kind]) -> None:
    kinds = _QUANTITIES | dict(parameters)
    if formula.name in parameters:
        found = f"the name {formula.name}, which a parameter has"
        raise SpaceError(part, found, "another name")
    if not formula.of.names:
        found, expected = f"{formula.of}, which is the same for all designs", ", ".join(kinds)
        raise SpaceError(part, found, f"an expression of {expected}")
    for name in formula.of.names:
        if name not in kinds:
            raise SpaceError(part, f"the unknown name {name}", suggestion(name, kinds))
    try:
        kind = kind_of_expression(formula.of.text, kinds)
    except ExpressionError as error:
        raise SpaceError(part, f"{formula.of}: {error.found}", error.expected) from None
    if kind is not Kind.NUMBER:
        raise SpaceError(part, f"{formula.of}, which is {kind}", Kind.NUMBER)

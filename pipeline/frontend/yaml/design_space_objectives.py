"""Reads the objectives of a design space: quantities and expressions."""

from __future__ import annotations

from typing import Final

from nestmap.model.design_space.objective import DesignObjective, ObjectiveFormula, SweepObjective
from nestmap.pipeline.frontend.yaml.design_space_values import known_entries, read_expression
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form, Need
from nestmap.pipeline.frontend.yaml.located_node import Node

OBJECTIVES_FIELD: Final = Field(
    "objectives",
    f"what the front minimizes: some of {', '.join(f'`{x}`' for x in DesignObjective)}, over all "
    "networks together, or [expressions](#objectives) of them",
    "a list of quantities and expressions such as energy * area",
    "[energy, area]",
    Need.OPTIONAL,
    default="[energy, latency]",
)
OBJECTIVES: Final = Entries(
    "Objectives",
    (OBJECTIVES_FIELD.name,),
    "Expressions, as those of parameters, of `energy` (pJ), `latency` (cycles), `edp` "
    "(pJ x cycles), `area`, each over all networks together, and of parameters.",
    OBJECTIVES_FIELD.kind,
    (
        Form("energy", "a quantity"),
        Form("energy * latency ** 2", "an expression, named by its text"),
        Form("0.5 * energy / 1e9 + latency / 1e6", "a weighted sum"),
        Form("{name: cost, of: energy * area}", "an expression with a name"),
    ),
)


def read_objective(node: Node) -> SweepObjective:
    """An objective.

    Raises:
        InputError: if it is none.
    """
    if node.is_mapping:
        entries = known_entries(node, ("name", "of"), ("name", "of"))
        name, formula = entries["name"].text("a name, such as cost"), read_expression(entries["of"])
        with entries["name"].locate_errors():
            return ObjectiveFormula(of=formula, name=name)
    formula = read_expression(node)
    quantity = next((x for x in DesignObjective if x.value == formula.text.strip()), None)
    return quantity or ObjectiveFormula(of=formula)

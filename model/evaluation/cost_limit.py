"""Limits on what a network may cost: a number, or a factor over the least."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.errors import InputError
from nestmap.model.evaluation.cme import Objective
from nestmap.model.evaluation.cost_bounds import ObjectiveBound

_TEXT: Final = re.compile(r"(energy|latency)=([0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)(x?)")

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CostLimit(Frozen, frozen=True):
    """At most so much energy (pJ) or latency (cycles), or a factor over the least of the network.

    Exactly one of ``value`` and ``factor`` is given.
    """

    quantity: Objective
    value: Positive | None = None
    factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _check(self) -> CostLimit:
        if self.quantity is Objective.EDP:
            raise ValueError("a limit of edp; expected one of energy or latency")
        if (self.value is None) is (self.factor is None):
            raise ValueError("a limit without a number; expected a value or a factor")
        return self

    @classmethod
    def parse(cls, text: str) -> CostLimit:
        """The limit that a text states.

        >>> CostLimit.parse("latency=1.1x").factor
        1.1
        >>> str(CostLimit.parse("energy=2e6"))
        'energy=2000000'

        Raises:
            InputError: where it states none.
        """
        found = _TEXT.fullmatch(text.strip())
        number = 0.0 if found is None else float(re.sub("[_,]", "", found[2]))
        expected = "latency=1.1x, latency=CYCLES, energy=1.1x or energy=PJ, a factor of 1 or more"
        if found is None or not 0 < number < float("inf") or (found[3] and number < 1):
            raise InputError("at_most", repr(text), expected)
        field = "factor" if found[3] else "value"
        return cls.model_validate({"quantity": Objective(found[1]), field: number}, strict=True)

    def __str__(self) -> str:
        number = self.value if self.factor is None else self.factor
        return f"{self.quantity}={number:.15g}{'' if self.factor is None else 'x'}"

    @property
    def minimized(self) -> Objective:
        """What is minimized under the limit, unless an objective is given."""
        return Objective.ENERGY if self.quantity is Objective.LATENCY else Objective.LATENCY

    def over(self, least: float) -> float:
        """The limit of a network, given the least that any of its mappings found takes."""
        return self.value or (self.factor or 1.0) * least


class LimitedCost(Frozen, frozen=True):
    """How a result was limited: at most ``value``, where the least found is ``least``.

    ``bound`` is a lower bound of the objective under the limit; ``None`` if it is not known.
    """

    limit: CostLimit
    value: Positive
    least: Positive
    bound: ObjectiveBound | None = None

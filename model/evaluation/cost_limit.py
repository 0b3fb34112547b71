"""Limits on what a network may cost: a number, or a factor over the least."""

from __future__ import annotations

import re
from math import inf
from typing import Annotated, Final

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.errors import InputError
from nestmap.model.evaluation.cme import Objective
from nestmap.model.evaluation.cost_bounds import ObjectiveBound

_TEXT: Final = re.compile(r"(energy|latency)=([0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)(x?)")
_EXPECTED: Final = "latency=1.1x, latency=CYCLES, energy=1.1x or energy=PJ, a factor of 1 or more"

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CostLimit(Frozen, frozen=True):
    """At most so much energy (pJ) or latency (cycles), or a factor over the least of the network.

    ``amount`` is that factor, 1 or more, if ``is_factor``.
    """

    quantity: Objective
    amount: Positive
    is_factor: bool = False

    @model_validator(mode="after")
    def _check(self) -> CostLimit:
        if self.quantity is Objective.EDP:
            raise ValueError("a limit of edp; expected one of energy or latency")
        if self.is_factor and self.amount < 1:
            raise ValueError(f"{self}, below the least; expected a factor of 1 or more")
        return self

    @classmethod
    def parse(cls, text: str) -> CostLimit:
        """The limit that a text states.

        >>> str(CostLimit.parse("latency=1.10x"))
        'latency=1.1x'
        >>> CostLimit.parse("energy=2e6").amount
        2000000.0

        Raises:
            InputError: where it states none.
        """
        found = _TEXT.fullmatch(text.strip())
        amount = 0.0 if found is None else float(re.sub("[_,]", "", found[2]))
        is_factor = found is not None and bool(found[3])
        if found is None or not 0 < amount < inf or (is_factor and amount < 1):
            raise InputError("at_most", repr(text), _EXPECTED)
        return cls(quantity=Objective(found[1]), amount=amount, is_factor=is_factor)

    def __str__(self) -> str:
        return f"{self.quantity}={self.amount:.15g}{'x' if self.is_factor else ''}"

    @property
    def minimized(self) -> Objective:
        """What is minimized under the limit: the other of energy and latency."""
        return Objective.ENERGY if self.quantity is Objective.LATENCY else Objective.LATENCY

    def over(self, least: float) -> float:
        """The limit of a network, given the least that any of its mappings found takes."""
        return self.amount * least if self.is_factor else self.amount


class LimitedCost(Frozen, frozen=True):
    """How a result was limited: at most ``value``, where the least found is ``least``.

    ``bound`` is a lower bound of the objective under the limit; ``None`` if it is not known.
    """

    limit: CostLimit
    value: Positive
    least: Positive
    bound: ObjectiveBound | None = None

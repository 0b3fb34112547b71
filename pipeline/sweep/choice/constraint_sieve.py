"""Lets those designs of a space pass that meet its constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from nestmap.model import InputError
from nestmap.model.design_space.design import Design
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.space import is_derived
from nestmap.pipeline.sweep.space.swept_space import SweptSpace


@final
@dataclass(slots=True)
class ConstraintSieve:
    """Lets designs pass that meet all constraints, those over parameters first.

    A design whose description is refused passes: it gets a row with the reason.
    """

    checked: SweptSpace
    tried: int = 0
    met: dict[int, int] = field(default_factory=dict[int, int])
    """How many designs meet a constraint and all before it, by its number."""

    def passed(self, numbers: Iterator[int]) -> Iterator[Design]:
        """The designs that pass, in order."""
        for number in numbers:
            design = self.checked.settings.design(number)
            if self.lets_pass(design):
                self.checked.settings.check(design)
                yield design

    def lets_pass(self, design: Design) -> bool:
        """Whether a design passes, which counts as tried.

        Raises:
            InputError: where an expression has no value or one that its field does not take.
        """
        self.tried += 1
        return self._meets(design, self._order())

    def error(self) -> InputError:
        """The error about a constraint that no design meets, or all together."""
        left = self.tried
        for n in self._order():
            if not self.met.get(n):
                tried = f"{left:,} design{'s' * (left != 1)}"
                others = "" if left == self.tried else " that meet the other constraints"
                constraint = self.checked.settings.space.constraints[n]
                found = f"{constraint}, which none of {tried}{others} meets"
                expected = "a constraint that some designs meet"
                return self.checked.settings.located.error(f"constraints[{n}]", found, expected)
            left = self.met[n]
        raise AssertionError("a design has met all constraints")

    def _order(self) -> list[int]:
        """The numbers of the constraints, those that need no accelerator first."""
        return sorted(
            range(len(self.checked.settings.space.constraints)), key=self._is_of_accelerator
        )

    def _is_of_accelerator(self, number: int) -> bool:
        return any(map(is_derived, self.checked.settings.space.constraints[number].names))

    def _meets(self, design: Design, order: list[int]) -> bool:
        values: dict[str, Value] = design.values
        has_quantities = False
        for n in order:
            if self._is_of_accelerator(n) and not has_quantities:
                self.checked.settings.check(design)
                try:
                    values |= self.checked.quantities(design)
                except InputError:
                    return True
                has_quantities = True
            if not self.checked.settings.meets(n, values):
                return False
            self.met[n] = self.met.get(n, 0) + 1
        return True

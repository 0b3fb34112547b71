"""Chooses the designs of a sweep: all of them, or some at random, that meet the constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Final, final

from nestmap.model import InputError
from nestmap.model.design_space.design import Design
from nestmap.model.design_space.expression import Value
from nestmap.model.design_space.space import is_derived
from nestmap.pipeline.sweep.checked_space import CheckedSpace
from nestmap.pipeline.sweep.options import Strategy

MOST_DESIGNS: Final = 1_000_000
"""The largest number of designs of a sweep."""

MOST_TRIES: Final = 1000
"""How many designs a random choice tries at most for each that it needs."""


@final
@dataclass(frozen=True, slots=True)
class ChosenDesigns:
    """The designs of a sweep, and how many others do not meet the constraints."""

    designs: tuple[Design, ...]
    rejected: int


def choose_designs(
    checked: CheckedSpace, strategy: Strategy, count: int | None, seed: int
) -> ChosenDesigns:
    """The designs to explore, whose settings have been checked.

    Args:
        checked: the space.
        strategy: all designs in order, or some in random order.
        count: how many at random.
        seed: determines the random order.

    Raises:
        InputError: where there are too many designs, none meets the constraints, or an expression
            has no value or one that its field does not take.
    """
    numbers, most = _numbers(checked, strategy, count, seed)
    sieve = _Sieve(checked)
    chosen = tuple(islice(sieve.passed(numbers), most))
    if not chosen:
        raise sieve.error()
    return ChosenDesigns(chosen, sieve.tried - len(chosen))


def _numbers(
    checked: CheckedSpace, strategy: Strategy, count: int | None, seed: int
) -> tuple[Iterator[int], int]:
    """The numbers of designs to try, and how many are needed."""
    size, where = checked.space.size, checked.located.error("parameters", "", "").where
    if strategy is Strategy.RANDOM:
        if count is None:
            raise InputError("designs", "no number of designs", "one, with the strategy random")
        if not 1 <= count <= MOST_DESIGNS:
            raise InputError("designs", f"{count:,}", f"1 to {MOST_DESIGNS:,} designs")
        return islice(shuffled(size, seed), count * MOST_TRIES), count
    if count is not None:
        hint = "it is for the strategy random; a grid has all designs"
        raise InputError.conflict("designs", "the strategy grid", hint)
    if size > MOST_DESIGNS:
        found = f"a grid of {size:,} designs"
        expected = f"at most {MOST_DESIGNS:,}, or the strategy random with a number of designs"
        raise InputError(where, found, expected)
    return iter(range(size)), size


def shuffled(size: int, seed: int) -> Iterator[int]:
    """All numbers below ``size`` in random order, each once; ``size`` may be astronomic.

    Takes memory for those that have been given out only, by Fisher and Yates' method.
    """
    random, moved = Random(seed), dict[int, int]()
    for n in range(size):
        place = random.randrange(n, size)
        yield moved.get(place, place)
        moved[place] = moved.get(n, n)


@final
@dataclass(slots=True)
class _Sieve:
    """Lets designs pass that meet all constraints, those over parameters first.

    A design whose description is refused passes: it gets a row with the reason.
    """

    checked: CheckedSpace
    tried: int = 0
    met: dict[int, int] = field(default_factory=dict[int, int])
    """How many designs meet a constraint and all before it, by its number."""

    def passed(self, numbers: Iterator[int]) -> Iterator[Design]:
        """The designs that pass, in order."""
        order = self._order()
        for number in numbers:
            self.tried += 1
            design = self.checked.design(number)
            if self._meets(design, order):
                self.checked.check_settings(design)
                yield design

    def error(self) -> InputError:
        """The error about a constraint that no design meets, or all together."""
        left = self.tried
        for n in self._order():
            if not self.met.get(n):
                tried = f"{left:,} design{'s' * (left != 1)}"
                others = "" if left == self.tried else " that meet the other constraints"
                found = f"{self.checked.space.constraints[n]}, which none of {tried}{others} meets"
                expected = "a constraint that some designs meet"
                return self.checked.located.error(f"constraints[{n}]", found, expected)
            left = self.met[n]
        raise AssertionError("a design has met all constraints")

    def _order(self) -> list[int]:
        """The numbers of the constraints, those that need no accelerator first."""
        return sorted(range(len(self.checked.space.constraints)), key=self._is_of_accelerator)

    def _is_of_accelerator(self, number: int) -> bool:
        return any(map(is_derived, self.checked.space.constraints[number].names))

    def _meets(self, design: Design, order: list[int]) -> bool:
        values: dict[str, Value] = design.values
        has_quantities = False
        for n in order:
            if self._is_of_accelerator(n) and not has_quantities:
                self.checked.check_settings(design)
                try:
                    accelerator = self.checked.accelerator(design)
                except InputError:
                    return True
                values |= self.checked.quantities(accelerator)
                has_quantities = True
            if not self.checked.meets(n, values):
                return False
            self.met[n] = self.met.get(n, 0) + 1
        return True

"""A design: one combination of the values of a design space's parameters."""

from __future__ import annotations

from typing import NamedTuple

from nestmap.model.design_space.expression_syntax import Value


class Design(NamedTuple):
    """A combination of values; ``number`` is its place among all combinations, from 0 on."""

    number: int
    parameters: tuple[tuple[str, Value], ...]

    @property
    def values(self) -> dict[str, Value]:
        """The values by the names of parameters."""
        return dict(self.parameters)

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.parameters)

"""What a sweep needs of a space that was checked, whatever its base is."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from nestmap.model import Workload
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.space import Design
from nestmap.pipeline.sweep.space.design_settings import DesignSettings


class MachineFigures(NamedTuple):
    """The accelerator of a design: its content hash, its area in the unit of the description."""

    accelerator: str
    area: float


class SweptSpace(Protocol):
    """A space with its inputs read."""

    @property
    def settings(self) -> DesignSettings:
        """What designs change in the base."""
        ...

    @property
    def networks(self) -> tuple[Workload, ...]:
        """The networks."""
        ...

    def figures(self, design: Design) -> MachineFigures:
        """The hash and the area of a design's accelerator.

        Raises:
            InputError: where its description is refused.
        """
        ...

    def quantities(self, design: Design) -> dict[str, Value]:
        """What constraints may say of a design's accelerator.

        Raises:
            InputError: where its description is refused.
        """
        ...

"""Records the designs of a sweep, and explores only those that the store does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, final

from nestmap.model import InputError, StoreError
from nestmap.model.base import copy_with
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import Design
from nestmap.pipeline.sweep.explore_designs import DesignPoints, ExploreDesigns
from nestmap.pipeline.sweep.result.summary import Front, figures_of
from nestmap.pipeline.sweep.space.swept_space import MachineFigures, SweptSpace
from nestmap.store import DesignRow, RecordedSweep

_READ: Final = 10_000
"""How many recorded designs are read at a time."""

_COMPARED: Final = 200
"""How many designs are compared with those of other sweeps before they are explored."""


@final
@dataclass(slots=True)
class SweepRecorder:
    """A sweep that is recorded in a store.

    As a context manager it writes at the end what has not been written. Designs that the sweep has
    are returned; those whose figures other sweeps have found on equal accelerators are not explored
    either.
    """

    checked: SweptSpace
    sweep: RecordedSweep
    done: int = field(default=0, init=False)
    """The number of designs that are returned."""
    front: Front = field(default_factory=Front, init=False)

    def __enter__(self) -> SweepRecorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.sweep.commit(self._front_positions)
        except StoreError:
            if error is None:
                raise

    def finish(self, rejected: int) -> None:
        """Records that all designs are explored, and how many others were rejected.

        Raises:
            StoreError: where that cannot be written.
        """
        self.sweep.commit(self._front_positions, rejected)

    def recording(self, explore: ExploreDesigns) -> ExploreDesigns:
        """Explores designs with ``explore`` unless they are known, and records them."""

        def recorded(designs: Sequence[Design]) -> Iterator[DesignPoints]:
            known = min(len(designs), max(self.sweep.recorded - self.done, 0))
            yield from self._recalled(designs[:known])
            for points in self._explored(designs[known:], explore):
                self.sweep.add(self._counted(points))
                if self.sweep.is_due:
                    self.sweep.commit(self._front_positions)
                yield points

        return recorded

    @property
    def _front_positions(self) -> tuple[int, ...]:
        return tuple(self.front.places)

    def _counted(self, points: DesignPoints) -> tuple[DesignRow, ...]:
        """A design with the values of its objectives, which are compared with the front."""
        objectives = self.checked.settings.space.objectives
        rows = tuple(DesignRow(x, figures_of(x, objectives)) for x in points)
        for place, row in enumerate(rows, self.done * len(points)):
            self.front.add(row.objective_values, place)
        self.done += 1
        return rows

    def _recalled(self, designs: Sequence[Design]) -> Iterator[DesignPoints]:
        """Designs that the sweep has, checked to be those that were chosen."""
        for start in range(0, len(designs), _READ):
            asked = designs[start : start + _READ]
            found = self.sweep.designs(range(self.done, self.done + len(asked)))
            for design, points in zip(asked, found, strict=True):
                if design.number != points[0].number:
                    raise StoreError(
                        f"sweep {self.sweep.info.name}: found design {points[0].number} as design "
                        f"{self.done + 1} of it; expected {design.number}, which is chosen now: "
                        "use another store"
                    )
                self._counted(points)
                yield points

    def _explored(
        self, designs: Sequence[Design], explore: ExploreDesigns
    ) -> Iterator[DesignPoints]:
        if not self.sweep.is_sharing:
            yield from explore(designs)
            return
        for start in range(0, len(designs), _COMPARED):
            asked = designs[start : start + _COMPARED]
            known = self._known(asked)
            fresh = explore([x for x in asked if x.number not in known])
            for design in asked:
                yield known[design.number] if design.number in known else next(fresh)

    def _known(self, designs: Sequence[Design]) -> dict[int, DesignPoints]:
        """The designs whose figures other sweeps have found, by number."""
        made = {x: machine for x in designs if (machine := self._machine(x))}
        figures = self.sweep.known_figures([x.accelerator for x in made.values()])
        return {
            design.number: tuple(self._points(design, machine, figures[machine.accelerator]))
            for design, machine in made.items()
            if len(figures.get(machine.accelerator, ())) == len(self.sweep.info.methods)
        }

    def _machine(self, design: Design) -> MachineFigures | None:
        try:
            return self.checked.figures(design)
        except InputError:  # it gets a row with the reason
            return None

    def _points(
        self, design: Design, machine: MachineFigures, figures: dict[int, NetworkFigures]
    ) -> Iterator[DesignResult]:
        space = self.checked.settings.space
        for n, objective in enumerate(self.sweep.info.mapped_for):
            networks = (
                copy_with(figures[place], {"network": entry.name, "weight": entry.weight})
                for place, entry in enumerate(space.networks, n * len(space.networks))
            )
            result = DesignResult(
                aggregate=space.aggregate,
                number=design.number,
                parameters=design.parameters,
                mapped_for=objective,
                accelerator=machine.accelerator,
                area=machine.area,
                networks=tuple(networks),
            )
            yield result.with_objectives(space.objectives)

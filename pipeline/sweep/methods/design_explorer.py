"""Explores a design: reads its accelerator, and costs the networks on each different one once."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Generic, TypeAlias, TypeVar, final

from nestmap.model import Frozen, InfeasibleError, InputError, Objective
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import Design, DesignSpace
from nestmap.pipeline.sweep.explore_designs import DesignPoints

Machine = TypeVar("Machine", bound=Frozen)
"""The model of an accelerator."""

Outcome: TypeAlias = tuple[tuple[NetworkFigures, ...], ...] | str
"""The figures of the networks for each objective, or the reason why there are none."""


class StoppedError(Exception):
    """The sweep is over: its other results are not wanted."""


def check_wanted(stopped: Event) -> None:
    """Ends an exploration of a sweep that is over.

    Raises:
        StoppedError: where it is.
    """
    if stopped.is_set():
        raise StoppedError


@final
@dataclass(frozen=True, slots=True)
class DesignExplorer(Generic[Machine]):
    """Explores designs; those with equal accelerators share the outcome.

    ``read`` reads the accelerator of a design, ``area`` computes its area, and ``explore`` costs
    the networks on it, mapped for each objective of ``mapped_for``.
    """

    space: DesignSpace
    mapped_for: tuple[Objective, ...]
    read: Callable[[Design], Machine]
    area: Callable[[Machine], float]
    explore: Callable[[Design, Machine], Outcome]
    outcomes: dict[str, Future[Outcome]] = field(default_factory=dict[str, "Future[Outcome]"])
    lock: Lock = field(default_factory=Lock)

    def __call__(self, design: Design) -> DesignPoints:
        rows = tuple(
            DesignResult(
                aggregate=self.space.aggregate,
                number=design.number,
                parameters=design.parameters,
                mapped_for=objective,
                reason="",
            )
            for objective in self.mapped_for
        )
        try:
            machine = self.read(design)
        except InputError as error:
            return tuple(x.model_copy(update={"reason": str(error)}) for x in rows)
        found: dict[str, object] = {"accelerator": machine.content_hash}
        found["area"], outcome = self.area(machine), self._outcome(design, machine)
        if isinstance(outcome, str):
            return tuple(x.model_copy(update={**found, "reason": outcome}) for x in rows)
        made = (
            x.model_copy(update={**found, "networks": networks, "reason": None})
            for x, networks in zip(rows, outcome, strict=True)
        )
        return tuple(x.with_objectives(self.space.objectives) for x in made)

    def _outcome(self, design: Design, machine: Machine) -> Outcome:
        """The outcome of the accelerator; another thread may be about to find it."""
        key = machine.content_hash
        with self.lock:
            is_first = key not in self.outcomes
            future = self.outcomes.setdefault(key, Future())
        if is_first:
            try:
                future.set_result(self._explored(design, machine))
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()

    def _explored(self, design: Design, machine: Machine) -> Outcome:
        try:
            return self.explore(design, machine)
        except (InputError, InfeasibleError) as error:
            return str(error)

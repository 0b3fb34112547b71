"""A design space of accelerators with several cores, with its inputs read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, final

from nestmap.costmodel.core_areas import chip_area, core_area
from nestmap.model import InputError, MemoryLevel, Workload, narrow_sums
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.space import (
    CORE_QUANTITIES,
    MEMORY_QUANTITIES,
    OF_CORES,
    Description,
    Design,
    is_derived,
)
from nestmap.model.errors import suggestion
from nestmap.model.multicore.accelerator import ComputeCore, MultiCoreAccelerator, StorageCore
from nestmap.model.multicore.core_constraints import CoreMapping, check_allocations
from nestmap.model.multicore.placed_tilings import resolve_names
from nestmap.model.multicore.problem import StreamProblem
from nestmap.pipeline.frontend.bundled import resolve_multicore
from nestmap.pipeline.frontend.read.accelerator import read_core_mapping, read_multicore
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace
from nestmap.pipeline.frontend.yaml.hardware.core_files import multicore_values
from nestmap.pipeline.multicore.pipeline import split_network
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.sweep.space.checked_space import inside, read_networks
from nestmap.pipeline.sweep.space.core_tree import machine_values
from nestmap.pipeline.sweep.space.design_settings import DesignSettings, design_settings
from nestmap.pipeline.sweep.space.field_path import copied
from nestmap.pipeline.sweep.space.swept_space import MachineFigures

if TYPE_CHECKING:
    from nestmap.store import Store

_AREA, _UNITS = "area", "units"


@final
@dataclass(frozen=True)
class CheckedCores:
    """A space whose paths exist in a base with several cores, with its networks.

    ``mapping`` says on which cores each layer may run, and how it is split.
    """

    settings: DesignSettings
    networks: tuple[Workload, ...]
    mapping: CoreMapping
    store: Store | Path | str | None = None

    def accelerator(self, design: Design) -> MultiCoreAccelerator:
        """The accelerator of a design.

        Raises:
            InputError: where its description is refused; the error names the parameters.
        """
        try:
            return read_multicore(self.settings.description(design), self.store)
        except InputError as error:
            raise error.inside(str(design)) from None

    def figures(self, design: Design) -> MachineFigures:
        """The hash and the area of a design's accelerator.

        Raises:
            InputError: where its description is refused.
        """
        made = self.accelerator(design)
        return MachineFigures(made.content_hash, chip_area(made))

    def problems(self, accelerator: MultiCoreAccelerator) -> tuple[StreamProblem, ...]:
        """The networks on an accelerator.

        Raises:
            InputError: where no core runs a layer, or the mapping does not suit the accelerator.
        """
        where = self.settings.space.mapping or "mapping"
        networks = [narrow_sums(x, accelerator.room_for_sums) for x in self.networks]
        mappings = [resolve_names(self.mapping, network) for network in networks]
        for network, mapping in zip(networks, mappings, strict=True):
            check_allocations(mapping, network, accelerator, where)
        return tuple(
            StreamProblem(workload=network, accelerator=accelerator, mapping=mapping)
            for network, mapping in zip(networks, mappings, strict=True)
        )

    def quantities(self, design: Design) -> dict[str, Value]:
        """What constraints may say of a design's accelerator; 0 of cores that it lacks.

        Raises:
            InputError: where its description is refused.
        """
        machine = self.accelerator(design)
        known: dict[str, Value] = dict.fromkeys(self._names, 0)
        known |= {_AREA: chip_area(machine), _UNITS: _units_of(machine.compute_cores)}
        return known | dict(_quantities(machine))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The names of the quantities of the base."""
        base = read_multicore(machine_values(copied(self.settings.base.values)), self.store)
        return tuple(name for name, _ in _quantities(base))


def _quantities(machine: MultiCoreAccelerator) -> Iterator[tuple[str, int | float]]:
    """The quantities of the cores of each name."""
    for name in dict.fromkeys(core.name for core in machine.cores):
        cores = [core for core in machine.cores if core.name == name]
        units = _units_of([x for x in cores if isinstance(x, ComputeCore)])
        area = sum((core_area(core) for core in cores), 0.0)
        for quantity, figure in zip(CORE_QUANTITIES, (len(cores), units, area), strict=True):
            yield f"{OF_CORES}.{name}.{quantity}", figure
        yield from _of_memories(f"{OF_CORES}.{name}.memories", cores)


def _of_memories(
    head: str, cores: list[ComputeCore | StorageCore]
) -> Iterator[tuple[str, int | float]]:
    """The quantities of each memory: the size in the first core, the others of all together."""
    levels = [pair for core in cores for pair in _levels(core)]
    for memory in dict.fromkeys(level.name for level, _ in levels):
        found = [(level.instance, count) for level, count in levels if level.name == memory]
        figures = (
            found[0][0].size,
            sum(count for _, count in found),
            sum(instance.size * count for instance, count in found),
            sum((instance.area * count for instance, count in found), 0.0),
            sum(instance.peak_bandwidth * count for instance, count in found),
        )
        for quantity, figure in zip(MEMORY_QUANTITIES, figures, strict=True):
            yield f"{head}.{memory}.{quantity}", figure


def _levels(core: ComputeCore | StorageCore) -> Iterator[tuple[MemoryLevel, int]]:
    """The memories of a core, and the number of instances of each."""
    if isinstance(core, StorageCore):
        yield from ((level, 1) for level in core.memories)
        return
    for level in core.accelerator.memories:
        yield level, core.accelerator.instances_of(level)


def _units_of(cores: Sequence[ComputeCore]) -> int:
    return sum(core.accelerator.array.units for core in cores)


def check_cores(
    located: LocatedSpace, plan: StreamPlan, *, store: Store | Path | str | None = None
) -> CheckedCores:
    """Reads all that a design space names, and checks it, with the plan, against one another.

    Raises:
        InputError: where the base, a network, the mapping or the plan is invalid.
        StoreError: where the store is needed and cannot be used.
    """
    settings = design_settings(located, _base_of(located, store))
    base = read_multicore(machine_values(copied(settings.base.values)), store)
    _check_constraints(located, base)
    checked = CheckedCores(settings, read_networks(located), _mapping(located), store)
    for problem in checked.problems(base):
        split_network(plan, problem)
    return checked


def _base_of(located: LocatedSpace, store: Store | Path | str | None) -> Description:
    """The values of the base accelerator, which must be valid by itself."""
    given = located.space.accelerator
    try:
        if isinstance(given, Description):
            values = machine_values(copied(given.values))
            read_multicore(values, store)
            return Description.of(multicore_values(values))
        read_multicore(given, store)
        return Description.of(multicore_values(resolve_multicore(given)))
    except InputError as error:
        raise inside(located, "accelerator", error) from None


def _check_constraints(located: LocatedSpace, base: MultiCoreAccelerator) -> None:
    """Checks the names of cores and memories in constraints."""
    known = (_AREA, _UNITS, *(name for name, _ in _quantities(base)))
    for n, constraint in enumerate(located.space.constraints):
        for name in constraint.names:
            if is_derived(name) and name not in known:
                found = f"{name}, which the base does not have"
                raise located.error(f"constraints[{n}]", found, suggestion(name, known))


def _mapping(located: LocatedSpace) -> CoreMapping:
    given = located.space.mapping
    try:
        return read_core_mapping(given)
    except InputError as error:
        raise inside(located, "mapping", error) from None

"""A design space of single-core accelerators with its inputs read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, final

from nestmap.costmodel.area_leakage import areas_of, sum_areas, total_area
from nestmap.model import (
    Accelerator,
    Counting,
    InputError,
    MappingConstraints,
    NetworkProblem,
    PartKind,
    Workload,
    narrow_sums,
)
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.parameters import DERIVED
from nestmap.model.design_space.space import (
    MEMORY_QUANTITIES,
    OF_CORES,
    Description,
    Design,
    DesignSpace,
    is_derived,
)
from nestmap.model.errors import suggestion
from nestmap.model.workload.densities import with_densities
from nestmap.pipeline.frontend.bundled import resolve_accelerator
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace, locate_design_space
from nestmap.pipeline.frontend.yaml.load import plain_values, read_yaml
from nestmap.pipeline.stages.mapping.layers import check_constraints
from nestmap.pipeline.sweep.space.design_settings import (
    MEMORIES,
    DesignSettings,
    design_settings,
    memories_of,
)
from nestmap.pipeline.sweep.space.field_path import copied
from nestmap.pipeline.sweep.space.swept_space import MachineFigures

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import FieldValues
    from nestmap.store import Store

GivenSpace: TypeAlias = "DesignSpace | FieldValues | Path | str"
"""A design space, the fields of a YAML file, or a file."""


@final
@dataclass(frozen=True, slots=True)
class CheckedSpace:
    """A space whose paths exist in the base, with its networks and mapping constraints."""

    settings: DesignSettings
    networks: tuple[Workload, ...]
    constraints: MappingConstraints
    static_energy: bool = False
    counting: Counting | None = None
    store: Store | Path | str | None = None

    def accelerator(self, design: Design) -> Accelerator:
        """The accelerator of a design.

        Raises:
            InputError: where its description is refused; the error names the parameters.
        """
        tree = self.settings.description(design)
        try:
            made = read_accelerator(tree, self.store, static_energy=self.static_energy)
        except InputError as error:
            raise error.inside(str(design)) from None
        return made.counted(self.counting)

    def figures(self, design: Design) -> MachineFigures:
        """The hash and the area of a design's accelerator.

        Raises:
            InputError: where its description is refused.
        """
        made = self.accelerator(design)
        return MachineFigures(made.content_hash, total_area(made))

    def problems(self, design: Design, accelerator: Accelerator) -> tuple[NetworkProblem, ...]:
        """The networks on the accelerator of a design.

        Raises:
            InputError: where the mapping constraints do not suit it.
        """
        found: list[NetworkProblem] = []
        for workload in self.networks:
            problem = NetworkProblem(
                workload=narrow_sums(workload, accelerator.room_for_sums),
                accelerator=accelerator,
                constraints=self.constraints,
            )
            check_constraints(problem, self.settings.space.mapping or "mapping")
            found.append(problem)
        return tuple(found)

    def quantities(self, design: Design) -> dict[str, Value]:
        """What constraints may say of a design's accelerator; 0 of memories that it lacks.

        Raises:
            InputError: where its description is refused.
        """
        accelerator = self.accelerator(design)
        areas = areas_of(accelerator)
        of_memory = {x.part: x.area for x in areas if x.kind is PartKind.MEMORY}
        known: dict[str, Value] = {
            f"{MEMORIES}.{memory}.{quantity}": 0
            for memory in memories_of(copied(self.settings.base.values))
            for quantity in MEMORY_QUANTITIES
        }
        known |= {"area": sum_areas(areas), "units": accelerator.array.units}
        for level in accelerator.memories:
            size, instances = level.instance.size, accelerator.instances_of(level)
            area, bandwidth = of_memory.get(level.name, 0.0), level.instance.peak_bandwidth
            figures = (size, instances, size * instances, area, bandwidth * instances)
            names = (f"{MEMORIES}.{level.name}.{x}" for x in MEMORY_QUANTITIES)
            known |= dict(zip(names, figures, strict=True))
        return known


def check_space(
    given: GivenSpace | LocatedSpace,
    *,
    static_energy: bool = False,
    counting: Counting | None = None,
    store: Store | Path | str | None = None,
) -> CheckedSpace:
    """Reads a design space and all that it names, and checks them against one another.

    ``counting``: how the costs of designs are counted; by default as their description says.

    Raises:
        InputError: where the space, its base, a network or the mapping is invalid.
        StoreError: where the store is needed and cannot be used.
    """
    located = given if isinstance(given, LocatedSpace) else located_space(given)
    settings = design_settings(located, _base(located, store, static_energy))
    _check_constraints(settings)
    return CheckedSpace(
        settings=settings,
        networks=read_networks(located),
        constraints=_mapping(located),
        static_energy=static_energy,
        counting=counting,
        store=store,
    )


def located_space(given: GivenSpace) -> LocatedSpace:
    """The space, and the places of its parts if it is a file.

    Raises:
        InputError: where it is invalid.
    """
    if isinstance(given, DesignSpace):
        return LocatedSpace(given, {})
    return locate_design_space(Path(given) if isinstance(given, str) else given)


def _base(
    located: LocatedSpace, store: Store | Path | str | None, static_energy: bool
) -> Description:
    """The values of the base accelerator, which must be valid by itself."""
    given = located.space.accelerator
    source = given.values if isinstance(given, Description) else given
    try:
        read_accelerator(source, store, static_energy=static_energy)
        if isinstance(source, str):
            return Description.of(plain_values(read_yaml(resolve_accelerator(source))))
    except InputError as error:
        raise inside(located, "accelerator", error) from None
    return Description.of(source)


def inside(located: LocatedSpace, part: str, error: InputError) -> InputError:
    """An error about a file that a space names, with the place of its name."""
    return error.inside(located.error(part, "", "").where)


def _check_constraints(settings: DesignSettings) -> None:
    """Checks the names of memories in constraints."""
    located, memories = settings.located, memories_of(copied(settings.base.values))
    for n, constraint in enumerate(located.space.constraints):
        for name in constraint.names:
            part = f"constraints[{n}]"
            if is_derived(name) and name.startswith(f"{OF_CORES}."):
                found = f"{name}, and the base has a single core"
                raise located.error(part, found, f"one of {', '.join(DERIVED[:3])}")
            memory = name.removeprefix(f"{MEMORIES}.").rpartition(".")[0]
            if name.startswith(f"{MEMORIES}.") and is_derived(name) and memory not in memories:
                found = f"{name}, of the unknown memory {memory!r}"
                raise located.error(part, found, suggestion(memory, memories))


def read_networks(located: LocatedSpace) -> tuple[Workload, ...]:
    """The networks of a space.

    Raises:
        InputError: where one is invalid.
    """
    found: list[Workload] = []
    for n, entry in enumerate(located.space.networks):
        dims = {x.name: x.size for x in entry.dims}
        densities = {x.operand: x.density for x in entry.densities}
        try:
            workload = read_workload(entry.network, dims or None)
            found.append(with_densities(workload, densities) if densities else workload)
        except InputError as error:
            raise inside(located, f"networks[{n}]", error) from None
    return tuple(found)


def _mapping(located: LocatedSpace) -> MappingConstraints:
    given = located.space.mapping
    if given is None:
        return MappingConstraints()
    try:
        return read_mapping(given, for_accelerator=None)
    except InputError as error:
        raise inside(located, "mapping", error) from None

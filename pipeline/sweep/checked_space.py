"""A design space with its inputs read and checked: makes the accelerators of designs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, final

from nestmap.costmodel.area_leakage import areas_of, sum_areas
from nestmap.model import (
    Accelerator,
    InputError,
    MappingConstraints,
    NetworkProblem,
    PartKind,
    Workload,
)
from nestmap.model.design_space.design import Design
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.parameters import DERIVED
from nestmap.model.design_space.part_values import SpaceError, condition_of, value_of
from nestmap.model.design_space.space import MEMORY_QUANTITIES, Description, DesignSpace, is_derived
from nestmap.model.errors import suggestion
from nestmap.model.workload.densities import with_densities
from nestmap.pipeline.frontend.bundled import resolve_accelerator
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.frontend.yaml.design_space import (
    LocatedSpace,
    locate_design_space,
)
from nestmap.pipeline.frontend.yaml.design_space_values import plain_values
from nestmap.pipeline.frontend.yaml.load import read_yaml
from nestmap.pipeline.stages.mapping.constraint_checks import check_constraints
from nestmap.pipeline.sweep.field_path import (
    PathError,
    Steps,
    Tree,
    copied,
    find_field,
    put_value,
    value_at,
)

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import FieldValues
    from nestmap.store import Store

GivenSpace: TypeAlias = "DesignSpace | FieldValues | Path | str"
"""A design space, the fields of a YAML file, or a file."""

_MEMORIES: Final = "memories"


class SetField(NamedTuple):
    """A field that a space sets: the steps to it, its value in the base, its kind."""

    steps: Steps
    old: Tree
    whole: bool
    """Whether it takes no fraction."""


@final
@dataclass(frozen=True, slots=True)
class CheckedSpace:
    """A space whose paths exist in the base, with its base, networks and mapping constraints.

    ``fields`` are those that are set, in the order of the settings.
    """

    located: LocatedSpace
    base: Description
    fields: tuple[SetField, ...]
    networks: tuple[Workload, ...]
    constraints: MappingConstraints
    static_energy: bool = False
    store: Store | Path | str | None = None

    @property
    def space(self) -> DesignSpace:
        """The space."""
        return self.located.space

    def design(self, number: int) -> Design:
        """The design with a number.

        Raises:
            InputError: where an expression has no value.
        """
        try:
            return self.space.design(number)
        except SpaceError as error:
            raise self._of_design(error, number) from None

    def check_settings(self, design: Design) -> None:
        """Checks the values that a design sets: their kinds are those of the base.

        Raises:
            InputError: where an expression has no value, or one that the field does not take.
        """
        try:
            self._values(design)
            self._missing(design)
        except SpaceError as error:
            raise self._of_design(error, design.number) from None

    def description(self, design: Design) -> dict[str, Tree]:
        """The description of a design's accelerator: the base, with its fields set."""
        tree = copied(self.base.values)
        for field, value in zip(self.fields, self._values(design), strict=True):
            put_value(tree, field.steps, value)
        for name in self._missing(design):
            del _memories(tree)[name]
        return tree

    def accelerator(self, design: Design) -> Accelerator:
        """The accelerator of a design.

        Raises:
            InputError: where its description is refused; the error names the parameters.
        """
        tree = self.description(design)
        try:
            return read_accelerator(tree, self.store, static_energy=self.static_energy)
        except InputError as error:
            raise error.inside(str(design)) from None

    def problems(self, design: Design, accelerator: Accelerator) -> tuple[NetworkProblem, ...]:
        """The networks on the accelerator of a design.

        Raises:
            InputError: where the mapping constraints do not suit it.
        """
        found: list[NetworkProblem] = []
        for workload in self.networks:
            problem = NetworkProblem(
                workload=workload, accelerator=accelerator, constraints=self.constraints
            )
            check_constraints(problem, self.space.mapping or "mapping")
            found.append(problem)
        return tuple(found)

    def meets(self, number: int, names: Mapping[str, Value]) -> bool:
        """Whether a design meets a constraint, given the values of its names.

        Raises:
            InputError: where the constraint has no value.
        """
        part = f"constraints[{number}]"
        try:
            return condition_of(part, self.space.constraints[number], names)
        except SpaceError as error:
            raise self.located.wrong(error) from None

    def quantities(self, accelerator: Accelerator) -> dict[str, Value]:
        """What constraints may say of an accelerator; 0 of memories that it lacks."""
        areas = areas_of(accelerator)
        of_memory = {x.part: x.area for x in areas if x.kind is PartKind.MEMORY}
        known: dict[str, Value] = {
            f"{_MEMORIES}.{memory}.{quantity}": 0
            for memory in _memories(copied(self.base.values))
            for quantity in MEMORY_QUANTITIES
        }
        known |= {"area": sum_areas(areas), "units": accelerator.array.units}
        for level in accelerator.memories:
            size, instances = level.instance.size, accelerator.instances_of(level)
            figures = (size, instances, size * instances, of_memory.get(level.name, 0.0))
            names = (f"{_MEMORIES}.{level.name}.{x}" for x in MEMORY_QUANTITIES)
            known |= dict(zip(names, figures, strict=True))
        return known

    def _values(self, design: Design) -> list[Tree]:
        """The values of the fields that a design sets."""
        found: list[Tree] = []
        for setting, field in zip(self.space.settings, self.fields, strict=True):
            if setting.value is None:
                found.append(None)
                continue
            part = f"set.{setting.field}"
            value = value_of(part, setting.value, design.values)
            _check_kind(part, str(setting.value), value, field)
            found.append(value)
        return found

    def _missing(self, design: Design) -> list[str]:
        """The memories that a design lacks."""
        values = design.values
        return [
            x.memory
            for x in self.space.presence
            if not condition_of(f"when.{x.memory}", x.when, values)
        ]

    def _of_design(self, error: SpaceError, number: int) -> InputError:
        found = f"{error.found} (design {number})"
        return self.located.error(error.part, found, error.expected)


def _check_kind(part: str, text: str, value: Value, field: SetField) -> None:
    """Checks that a value is of the same kind as that of the base."""
    if field.old is None:
        return
    wanted, given = _kind(field.old), _kind(value)
    if wanted != given:
        expected = f"{wanted}, as {field.old!r} in the base"
        raise SpaceError(part, f"{text}, which is {value!r}", expected)
    if field.whole and isinstance(value, float):
        expected = "a whole number, as by //, ceil or floor"
        raise SpaceError(part, f"{text}, which is {value!r}", expected)


def _kind(value: Tree) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a text" if isinstance(value, str) else "a number"


def _memories(tree: Mapping[str, Tree]) -> dict[str, Tree]:
    """The memories of a description that was read."""
    memories = tree[_MEMORIES]
    assert isinstance(memories, dict)
    return memories


def check_space(
    given: GivenSpace | LocatedSpace,
    *,
    static_energy: bool = False,
    store: Store | Path | str | None = None,
) -> CheckedSpace:
    """Reads a design space and all that it names, and checks them against one another.

    Raises:
        InputError: where the space, its base, a network or the mapping is invalid.
        StoreError: where the store is needed and cannot be used.
    """
    located = given if isinstance(given, LocatedSpace) else located_space(given)
    base = _base(located, store, static_energy)
    tree = copied(base.values)
    fields = find_fields(located, tree)
    _check_memories(located, _memories(tree))
    return CheckedSpace(
        located=located,
        base=base,
        fields=fields,
        networks=_networks(located),
        constraints=_mapping(located),
        static_energy=static_energy,
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
        raise _inside(located, "accelerator", error) from None
    return Description.of(source)


def _inside(located: LocatedSpace, part: str, error: InputError) -> InputError:
    """An error about a file that a space names, with the place of its name."""
    return error.inside(located.error(part, "", "").where)


def find_fields(located: LocatedSpace, tree: dict[str, Tree]) -> tuple[SetField, ...]:
    """The fields that a space sets, in the order of its settings.

    Raises:
        InputError: where the base has no such field, or one is set twice.
    """
    fields: dict[Steps, str] = {}
    for setting in located.space.settings:
        part = f"set.{setting.field}"
        try:
            steps = find_field(tree, setting.field)
        except PathError as error:
            raise located.error(part, error.found, error.expected) from None
        if steps in fields:
            found = f"a second value for {fields[steps]}"
            raise located.error(part, found, "each field once")
        fields[steps] = setting.field
    return tuple(SetField(x, value_at(tree, x), _takes_no_fraction(tree, x)) for x in fields)


def _check_memories(located: LocatedSpace, memories: Mapping[str, Tree]) -> None:
    """Checks the names of memories in conditions and constraints."""
    for presence in located.space.presence:
        if presence.memory not in memories:
            found = f"the unknown memory {presence.memory!r}"
            expected = suggestion(presence.memory, memories)
            raise located.error(f"when.{presence.memory}", found, expected)
    for n, constraint in enumerate(located.space.constraints):
        for name in constraint.names:
            memory = name.removeprefix(f"{_MEMORIES}.").rpartition(".")[0]
            if name.startswith(f"{DERIVED[2]}.") and is_derived(name) and memory not in memories:
                found = f"{name}, of the unknown memory {memory!r}"
                raise located.error(f"constraints[{n}]", found, suggestion(memory, memories))


def _takes_no_fraction(tree: Mapping[str, Tree], steps: Steps) -> bool:
    """Whether a field is a whole number: the reader refuses half a unit more than the base has."""
    old = value_at(dict(tree), steps)
    if not isinstance(old, int) or isinstance(old, bool):
        return False
    changed = copied(tree)
    put_value(changed, steps, old + 0.5)
    try:
        read_accelerator(changed)
    except InputError as error:
        return error.found == f"{old + 0.5}"
    return False


def _networks(located: LocatedSpace) -> tuple[Workload, ...]:
    found: list[Workload] = []
    for n, entry in enumerate(located.space.networks):
        dims = {x.name: x.size for x in entry.dims}
        densities = {x.operand: x.density for x in entry.densities}
        try:
            workload = read_workload(entry.network, dims or None)
            found.append(with_densities(workload, densities) if densities else workload)
        except InputError as error:
            raise _inside(located, f"networks[{n}]", error) from None
    return tuple(found)


def _mapping(located: LocatedSpace) -> MappingConstraints:
    given = located.space.mapping
    if given is None:
        return MappingConstraints()
    try:
        return read_mapping(given, for_accelerator=None)
    except InputError as error:
        raise _inside(located, "mapping", error) from None

"""What designs change in the base of a space: fields that are set, parts that are absent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from nestmap.model import InputError
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.objective import expression_of, objective_part
from nestmap.model.design_space.part_values import SpaceError, condition_of, number_of, value_of
from nestmap.model.design_space.space import Description, Design, DesignSpace
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, read_multicore
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace
from nestmap.pipeline.sweep.space.base_format import is_multicore
from nestmap.pipeline.sweep.space.core_tree import (
    absent_core,
    fields_meant,
    machine_values,
    without_absent_cores,
)
from nestmap.pipeline.sweep.space.field_path import (
    PathError,
    Steps,
    Tree,
    copied,
    find_field,
    put_value,
    remove_value,
    value_at,
)

MEMORIES: Final = "memories"
"""The field of the memories of a single core."""


class SetField(NamedTuple):
    """A field that a space sets: the steps to it, its value in the base, its kind.

    There are several places where the path names all cores of one name.
    """

    places: tuple[Steps, ...]
    old: Tree
    whole: bool
    """Whether it takes no fraction."""


@final
@dataclass(frozen=True, slots=True)
class DesignSettings:
    """A space whose paths exist in the base: makes the descriptions of designs.

    ``fields`` are those that are set, in the order of the settings; ``parts`` those that only some
    designs have, in the order of their conditions.
    """

    located: LocatedSpace
    base: Description
    fields: tuple[SetField, ...]
    parts: tuple[tuple[Steps, ...], ...]

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

    def check(self, design: Design) -> None:
        """Checks the values that a design sets: their kinds are those of the base.

        Raises:
            InputError: where an expression has no value, or one that the field does not take.
        """
        try:
            self._values(design)
            self._missing(design)
        except SpaceError as error:
            raise self._of_design(error, design.number) from None

    def description(self, design: Design) -> dict[str, object]:
        """The description of a design's accelerator: the base, with its fields set."""
        tree = copied(self.base.values)
        for field, value in zip(self.fields, self._values(design), strict=True):
            for steps in field.places:
                put_value(tree, steps, value)
        missing = self._missing(design)
        for steps in missing:
            remove_value(tree, steps)
        cores = [str(steps[1]) for steps in missing if len(steps) == 2]
        if cores and is_multicore(tree):
            tree = without_absent_cores(tree, cores)
        return machine_values(tree)

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

    def check_objective(self, place: int, number: int, names: Mapping[str, Value]) -> None:
        """Checks that an objective has a value for the design with a number.

        Raises:
            InputError: where it has none that is a number.
        """
        expression = expression_of(self.space.objectives[place])
        try:
            number_of(objective_part(place), expression, names)
        except SpaceError as error:
            raise self._of_design(error, number) from None

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

    def _missing(self, design: Design) -> list[Steps]:
        """The parts that a design lacks, outer ones last."""
        values = design.values
        found = {
            steps
            for presence, places in zip(self.space.presence, self.parts, strict=True)
            if not condition_of(f"when.{presence.memory}", presence.when, values)
            for steps in places
        }
        return sorted(found, key=lambda steps: (-len(steps), tuple(map(str, steps))))

    def _of_design(self, error: SpaceError, number: int) -> InputError:
        found = f"{error.found} (design {number})"
        return self.located.error(error.part, found, error.expected)


def design_settings(located: LocatedSpace, base: Description) -> DesignSettings:
    """The settings of a space in its base.

    Raises:
        InputError: where the base has no such field or part, or one is set twice.
    """
    tree = copied(base.values)
    return DesignSettings(located, base, _fields(located, tree), _parts(located, tree))


def _fields(located: LocatedSpace, tree: dict[str, Tree]) -> tuple[SetField, ...]:
    """The fields that a space sets, in the order of its settings."""
    known: dict[Steps, str] = {}
    found: list[SetField] = []
    for setting in located.space.settings:
        part = f"set.{setting.field}"
        try:
            places = tuple(find_field(tree, x) for x in fields_meant(tree, setting.field))
        except PathError as error:
            raise located.error(part, error.found, error.expected) from None
        for steps in places:
            if steps in known:
                raise located.error(part, f"a second value for {known[steps]}", "each field once")
            known[steps] = setting.field
        is_whole = _takes_no_fraction(tree, places[0])
        found.append(SetField(places, value_at(tree, places[0]), is_whole))
    return tuple(found)


def _parts(located: LocatedSpace, tree: dict[str, Tree]) -> tuple[tuple[Steps, ...], ...]:
    """The places of the parts that only some designs have, in the order of the conditions."""
    found: list[tuple[Steps, ...]] = []
    for presence in located.space.presence:
        try:
            found.append(_places(tree, presence.memory))
        except PathError as error:
            part = f"when.{presence.memory}"
            raise located.error(part, error.found, error.expected) from None
    return tuple(found)


def _places(tree: dict[str, Tree], part: str) -> tuple[Steps, ...]:
    if is_multicore(tree):
        return tuple(absent_core(tree, path) for path in fields_meant(tree, part))
    memories = memories_of(tree)
    if part not in memories:
        raise PathError(f"the unknown memory {part!r}", suggestion(part, memories))
    return ((MEMORIES, part),)


def memories_of(tree: Mapping[str, Tree]) -> dict[str, Tree]:
    """The memories of a description of a single core that was read."""
    memories = tree[MEMORIES]
    assert isinstance(memories, dict)
    return memories


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


def _takes_no_fraction(tree: Mapping[str, Tree], steps: Steps) -> bool:
    """Whether a field is a whole number: the reader refuses half a unit more than the base has."""
    old = value_at(dict(tree), steps)
    if not isinstance(old, int) or isinstance(old, bool):
        return False
    changed = copied(tree)
    put_value(changed, steps, old + 0.5)
    try:
        if is_multicore(changed):
            read_multicore(machine_values(changed))
        else:
            read_accelerator(changed)
    except InputError as error:
        return error.found == f"{old + 0.5}"
    return False

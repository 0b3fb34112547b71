"""A design space: a base accelerator, what varies, constraints, networks and objectives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import product
from math import prod
from typing import Annotated, Final, NamedTuple, Self, cast

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_kinds import kind_of_expression
from nestmap.model.design_space.expression_syntax import ExpressionError, Kind, Value, kind_of_value
from nestmap.model.design_space.objective import SweepObjective, check_objectives, expression_of
from nestmap.model.design_space.parameters import DERIVED, Parameter
from nestmap.model.design_space.part_values import SpaceError, value_of
from nestmap.model.errors import suggestion
from nestmap.model.evaluation.objective import Objective
from nestmap.model.evaluation.recording import LAST_RUN
from nestmap.model.units import AreaUnit, PositiveCount
from nestmap.model.workload.graph import Workload

MEMORY_QUANTITIES: Final = ("size", "instances", "total", "area", "bandwidth")
"""What constraints may say of a memory: ``memories.NAME.size`` and the like."""

MOST_COMBINATIONS: Final = 10_000
"""The largest number of values for which it is looked whether a condition is ever met."""

CORE_QUANTITIES: Final = ("count", "units", "area")
"""What constraints may say of the cores of one name: ``cores.NAME.count`` and the like."""

OF_CORES: Final = "cores"
"""What names of these quantities begin with; a parameter may have that name, too."""


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


class Aggregate(StrEnum):
    """How the figures of several networks become those of a design."""

    SUM = "sum"
    """All networks run, one after the other."""
    WORST = "worst"
    """One of the networks runs, and the design is as good as it is for the worst of them."""

    def of(self, figures: Iterable[float]) -> float:
        """The sum or the largest of the figures of networks."""
        return sum(figures) if self is Aggregate.SUM else max(figures)


class Description(Frozen, frozen=True):
    """The values of a YAML description of an accelerator, as JSON."""

    json_text: str

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """The description with these values: numbers, texts, lists and mappings."""
        return cls(json_text=json.dumps(values))

    @property
    def values(self) -> dict[str, object]:
        """A new copy of the values."""
        return cast("dict[str, object]", json.loads(self.json_text))

    @property
    def area_unit(self) -> AreaUnit | None:
        """The unit of areas, if the description, or that of each of its cores, states one."""
        cores = self.values.get("cores")
        named = cast("dict[str, object]", cores) if isinstance(cores, dict) else {"": self.values}
        parts = [cast("dict[str, object]", x) for x in named.values() if isinstance(x, dict)]
        stated = {part.get("area_unit") for part in parts}
        return AreaUnit.MM2 if stated == {AreaUnit.MM2} and len(parts) == len(named) else None


class Setting(Frozen, frozen=True):
    """A field of the accelerator's description, by its path, and the value that it gets.

    In the path of a field of a core, the name of cores stands for all of them. ``None``: designs
    lack the field.
    """

    field: Annotated[str, Field(min_length=1)]
    value: Expression | None


class Presence(Frozen, frozen=True):
    """A part of the base accelerator, and the condition under which designs have it.

    ``memory`` is the name of a memory of a single core; of several cores, it is the path of a core
    or of a memory in one: ``cores.3``, ``cores.simd.memories.sram``.
    """

    memory: Annotated[str, Field(min_length=1)]
    when: Expression


class DimensionSize(Frozen, frozen=True):
    """The size of a dimension that a network leaves open."""

    name: str
    size: PositiveCount


class StatedDensity(Frozen, frozen=True):
    """The share of the elements of an operand that are not zero.

    ``operand`` is one of all layers (``I``), or of a layer or operator type (``conv1.I``).
    """

    operand: str
    density: Annotated[float, Field(gt=0, le=1)]


class WeightedNetwork(Frozen, frozen=True):
    """A network (its name or file, or the network itself), and how often it runs.

    A design counts its energy and latency ``weight`` times. ``dims`` are sizes that the network
    leaves open, ``densities`` override its own.
    """

    network: str | Workload
    weight: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] = 1.0
    dims: tuple[DimensionSize, ...] = ()
    densities: tuple[StatedDensity, ...] = ()

    @property
    def name(self) -> str:
        """The name or file, with the sizes and densities that are given."""
        name = self.network if isinstance(self.network, str) else self.network.name
        sizes = [f"{x.name}={x.size}" for x in self.dims]
        densities = [f"density {x.operand}={x.density:g}" for x in self.densities]
        return f"{name} ({', '.join(sizes + densities)})" if sizes or densities else name


class DesignSpace(Frozen, frozen=True):
    """Accelerators that differ in the values of parameters.

    ``accelerator`` is the base, with a single core or several: its name, its file, or the values of
    its description. ``mapping`` constrains the mappings on all designs; by default nothing does.
    ``settings`` say which fields get which values, ``presence`` which memories, or cores with their
    connections, only some designs have. Designs that do not meet
    all ``constraints`` are left out. ``objectives`` are what the front minimizes, and ``aggregate``
    says whether their quantities are sums over the networks or those of the worst network.

    Names in settings and conditions are those of parameters; constraints may also name quantities
    of the accelerator of a design: ``area``, ``units`` (of the array), and of a memory
    ``memories.NAME.size`` (bits of an instance), ``.instances``, ``.total`` (bits of all
    instances), ``.area`` (of all instances) and ``.bandwidth`` (bits that all ports of all
    instances move in a cycle at most), which are 0 where a design lacks the memory. Of several
    cores, memories are those of all cores with a name, ``cores.NAME.memories.MEMORY.size``, which
    also have a ``count``, ``units`` and an ``area``: ``cores.NAME.count``.
    """

    name: Annotated[str, Field(min_length=1, max_length=100)]
    accelerator: Annotated[str, Field(min_length=1)] | Description
    mapping: Annotated[str, Field(min_length=1)] | None = None
    parameters: tuple[Parameter, ...]
    settings: tuple[Setting, ...] = ()
    presence: tuple[Presence, ...] = ()
    constraints: tuple[Expression, ...] = ()
    networks: tuple[WeightedNetwork, ...]
    objectives: tuple[SweepObjective, ...] = (Objective.ENERGY, Objective.LATENCY)
    aggregate: Aggregate = Aggregate.SUM

    @model_validator(mode="after")
    def _check(self) -> DesignSpace:
        self._check_counts()
        self._check_distinct()
        for part, expression, known in self._expressions():
            for name in expression.names:
                if name not in known and not (part.startswith("constraints") and is_derived(name)):
                    raise SpaceError(part, f"the unknown name {name}", suggestion(name, known))
        check_objectives(self.objectives, self._kinds())
        return self

    def _check_counts(self) -> None:
        if self.name == LAST_RUN:
            raise SpaceError("name", LAST_RUN, "another name: that is the sweep started last")
        if not self.parameters:
            raise SpaceError("parameters", "no parameter", "at least one")
        if not self.settings and not self.presence:
            raise SpaceError("set", "no field", "at least one field that parameters set, or when")
        if not self.networks:
            raise SpaceError("networks", "no network", "at least one")

    def _check_distinct(self) -> None:
        parts = (
            *(("parameters", x.name) for x in self.parameters),
            *(("set", x.field) for x in self.settings),
            *(("when", x.memory) for x in self.presence),
        )
        seen: set[tuple[str, str]] = set()
        for part in parts:
            if part in seen:
                raise SpaceError(".".join(part), f"a second {part[1]}", "each once")
            seen.add(part)
        for n, network in enumerate(self.networks):
            if network in self.networks[:n]:
                raise SpaceError(f"networks[{n}]", "the same as before", "each once")

    def _expressions(self) -> Iterator[tuple[str, Expression, tuple[str, ...]]]:
        """Each expression: its part of the space, and the names that it may have."""
        names = tuple(x.name for x in self.parameters)
        for parameter in self.parameters:
            if isinstance(parameter.choices, Expression):
                yield f"parameters.{parameter.name}", parameter.choices, names
        for setting in self.settings:
            if setting.value is not None:
                yield f"set.{setting.field}", setting.value, names
        for presence in self.presence:
            yield f"when.{presence.memory}", presence.when, names
        for n, constraint in enumerate(self.constraints):
            yield f"constraints[{n}]", constraint, (*names, *DERIVED[:2], "memories.NAME.size")

    @cached_property
    def _order(self) -> tuple[tuple[str, Expression], ...]:
        """The parameters that are expressions, each after those that it names."""
        formulas = {x.name: x.choices for x in self.parameters if isinstance(x.choices, Expression)}
        graph = {name: [x for x in e.names if x in formulas] for name, e in formulas.items()}
        try:
            return tuple((name, formulas[name]) for name in TopologicalSorter(graph).static_order())
        except CycleError as error:
            cycle = cast("list[str]", error.args[1])
            found = f"a cycle: {' -> '.join(reversed(cycle))}"
            part = f"parameters.{cycle[0]}"
            raise SpaceError(part, found, "expressions of other parameters") from None

    def _kinds(self) -> dict[str, Kind]:
        """The kinds of the parameters."""
        kinds = {x.name: kind_of_value(x.values[0]) for x in self.free}
        for name, expression in self._order:
            try:
                kinds[name] = kind_of_expression(expression.text, kinds)
            except ExpressionError:  # told of each design without a value
                kinds[name] = Kind.NUMBER
        return kinds

    def limits_of(self, objective: SweepObjective) -> tuple[float, ...]:
        """The values of an objective at which constraints remove designs."""
        found = (constraint.limit for constraint in self.constraints)
        text = expression_of(objective).text
        return tuple(number for limit in found if limit for name, number in [limit] if name == text)

    @property
    def free(self) -> tuple[Parameter, ...]:
        """The parameters that are no expressions; those of one value among them."""
        return tuple(x for x in self.parameters if not isinstance(x.choices, Expression))

    @property
    def unused(self) -> tuple[str, ...]:
        """The parameters that nothing names: designs do not depend on them."""
        named = {name for _, expression, _ in self._expressions() for name in expression.names}
        for objective in self.objectives:
            named.update(expression_of(objective).names)
        return tuple(x.name for x in self.parameters if x.name not in named)

    def is_ever_met(self, condition: Expression) -> bool:
        """Whether a condition holds for any values of its parameters, or these are too many."""
        needed = set(condition.names)
        for name, expression in reversed(self._order):
            if name in needed:
                needed.update(expression.names)
        free = [x for x in self.free if x.name in needed]
        if prod(len(x.values) for x in free) > MOST_COMBINATIONS:
            return True
        for chosen in product(*(x.values for x in free)):
            values = dict(zip((x.name for x in free), chosen, strict=True))
            try:
                for name, expression in self._order:
                    if name in needed:
                        values[name] = expression.value(values)
                if condition.value(values):
                    return True
            except ExpressionError:  # told of each design without a value
                return True
        return False

    @cached_property
    def size(self) -> int:
        """The number of combinations of values, with those that do not meet the constraints."""
        return prod(len(x.values) for x in self.free)

    def design(self, number: int) -> Design:
        """The combination with a number, 0 to ``size - 1``; the last parameter varies fastest.

        Raises:
            IndexError: where there is none with that number.
            SpaceError: where an expression has no value.
        """
        if not 0 <= number < self.size:
            raise IndexError(f"design {number} of {self.size}")
        values: dict[str, Value] = {}
        rest = number
        for parameter in reversed(self.free):
            rest, place = divmod(rest, len(parameter.values))
            values[parameter.name] = parameter.values[place]
        for name, expression in self._order:
            values[name] = value_of(f"parameters.{name}", expression, values)
        return Design(number, tuple((x.name, values[x.name]) for x in self.parameters))


def is_derived(name: str) -> bool:
    """Whether a name is one of a quantity of the accelerator; core and memory may be unknown."""
    head, _, rest = name.partition(".")
    owner, _, quantity = rest.rpartition(".")
    if head == OF_CORES:
        core, inside, memory = owner.partition(f".{DERIVED[2]}.")
        known = MEMORY_QUANTITIES if inside else CORE_QUANTITIES
        return bool(core) and bool(memory) == bool(inside) and quantity in known
    if head != DERIVED[2]:
        return name in DERIVED
    return bool(owner) and quantity in MEMORY_QUANTITIES

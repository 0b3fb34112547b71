"""Reads design spaces: the base accelerator, parameters, what they set, constraints, networks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar, cast, final

from pydantic import Field, ValidationError

from nestmap.model import InputError
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import LARGEST
from nestmap.model.design_space.objective import ObjectiveFormula, SweepObjective
from nestmap.model.design_space.parameters import (
    Choices,
    LinearRange,
    Parameter,
    PowerRange,
    ValueList,
)
from nestmap.model.design_space.part_values import SpaceError
from nestmap.model.design_space.space import (
    Aggregate,
    Description,
    DesignSpace,
    DimensionSize,
    Presence,
    Setting,
    StatedDensity,
    WeightedNetwork,
)
from nestmap.model.errors import suggestion, warn_of_input
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.field_schema import Form, Forms
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.file_model import (
    FileModel,
    Real,
    Share,
    Text,
    Whole,
    Written,
    read_fields,
)
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import CORES
from nestmap.pipeline.frontend.yaml.load import plain_values, read_source, scalar_value
from nestmap.pipeline.frontend.yaml.located_node import Node

# --- parameters: lists of values, ranges and expressions ---


def read_expression(node: Node) -> Expression:
    """An expression; numbers and truth values may stand without quotes.

    Raises:
        InputError: if it is none.
    """
    text = node.text_or_none()
    if text is None:
        text = repr(scalar_value(node))
    with node.locate_errors():
        return Expression(text=text)


_CHOICES: Final = (
    "a list of values, a range such as {from: 8, to: 64, step: 8} or {from: 8, to: 64, factor: 2}, "
    "a value, or an expression such as rows * columns"
)
_RANGE: Final = ("from", "to", "step", "factor")


PARAMETERS: Final = Forms(
    "Parameters",
    "Names are a letter, then letters, digits or `_`, at most 32. Expressions consist of numbers, "
    "texts in quotes, names of parameters, `+ - * / // % **`, comparisons, `and`, `or`, `not`, "
    "`min`, `max`, `ceil` and `floor`.",
    (
        Form("rows: [8, 16, 32]", "each of these values: numbers, texts, or `true` and `false`"),
        Form("rows: {from: 8, to: 32, step: 8}", "8, 16, 24 and 32"),
        Form("rows: {from: 8, to: 64, factor: 2}", "8, 16, 32 and 64"),
        Form("rows: 16", "always 16"),
        Form("rows: 2 * 8 + 1", "the value of an expression, here without names"),
    ),
)


def read_parameter(name: str, node: Node) -> Parameter:
    """The parameter with a name.

    Raises:
        InputError: if name or values are invalid.
    """
    choices = _choices(node)
    with node.locate_errors():
        return Parameter(name=name, choices=choices)


def _choices(node: Node) -> Choices:
    if node.is_sequence:
        values = tuple(scalar_value(item) for item in node.sequence())
        with node.locate_errors():
            return ValueList(values=values)
    if node.is_mapping:
        return _range(node)
    if node.text_or_none() is None:
        return ValueList(values=(scalar_value(node),))
    return read_expression(node)


def _range(node: Node) -> LinearRange | PowerRange:
    entries = node.entries()
    for name, entry in entries.items():
        if name not in _RANGE:
            raise entry.error(suggestion(name, _RANGE), f"the unknown field {name!r}")
    for name in ("from", "to"):
        if name not in entries:
            raise node.error(f"the field {name}", f"no {name}")
    if ("step" in entries) == ("factor" in entries):
        both = "a range with both step and factor"
        found = both if "step" in entries else "a range without step or factor"
        raise node.error(_CHOICES, found)
    numbers = {name: _number(entry) for name, entry in entries.items()}
    first, last = numbers["from"], numbers["to"]
    with node.locate_errors():
        if "step" in numbers:
            return LinearRange(first=first, last=last, step=numbers["step"])
        return PowerRange(first=first, last=last, factor=numbers["factor"])


def _number(node: Node) -> int | float:
    number = node.number_or_none()
    if number is None or not -LARGEST <= number <= LARGEST:
        raise node.error("a number")
    return number


# --- the fields of a design space ---

_NETWORKS: Final = "a list of networks"
_OBJECTIVES: Final = "a list of quantities and expressions such as energy * area"
_SETTINGS: Final = "expressions by path"
_CONDITIONS: Final = "conditions by memory or core"


FIELDS: Final = Forms(
    "Fields that vary",
    "Any field of the description of an accelerator, by the path that errors show: "
    "`operational_array.sizes[0]`, `memories.sram.ports[0].bandwidth_max`. The value is that of an "
    "expression; whole results of a division count as whole numbers.",
    (
        Form("operational_array.sizes[0]: 16", "always 16"),
        Form("memories.sram_2MB.size: 8192 * 1024", "the value of an expression"),
        Form("technology: 28", "a field that the base leaves out"),
        Form("cores.0.technology: 28", "a field of core 0, with several cores"),
        Form("cores.simd.technology: 28", "a field of all cores with that name"),
        Form("core_connectivity[0].bandwidth: 64", "a field of a connection"),
        Form("memories.sram_2MB.r_cost: null", "designs lack the field, as if it were left out"),
    ),
)

CONDITIONS: Final = Forms(
    "Parts that some designs have",
    "By the name of a memory of the base: designs that do not meet the condition lack the memory. "
    "With several cores, by the path of a core or of a memory in one: what connects a missing core "
    "is missing, too.",
    (
        Form("sram_2MB: 1 < 2", "a condition, here one that always holds"),
        Form("cores.3: 1 < 2", "the same for a core"),
        Form("cores.simd.memories.sram: 1 < 2", "for a memory of all cores with that name"),
    ),
)

NETWORKS: Final = Forms(
    "Networks of a design space",
    "Each item is a network, or has the fields `network`, `weight` (how often it "
    "counts), `dims` (sizes that the network leaves open) and `densities` (shares of elements "
    "that are not zero, by operand).",
    (
        Form("light:alexnet", "a network by its name or file"),
        Form("{network: gpt2, weight: 2.5, dims: {batch: 1}}", "GPT-2, which counts 2.5 times"),
        Form("{network: light:alexnet, densities: {I: 0.5}}", "AlexNet, half of its inputs zero"),
    ),
)

OBJECTIVES: Final = Forms(
    "Objectives",
    "Expressions, as those of parameters, of `energy` (pJ), `latency` (cycles), `edp` "
    "(pJ x cycles), `area`, each over all networks together, and of parameters.",
    (
        Form("energy", "a quantity"),
        Form("energy * latency ** 2", "an expression, named by its text"),
        Form("0.5 * energy / 1e9 + latency / 1e6", "a weighted sum"),
        Form("{name: cost, of: energy * area}", "an expression with a name"),
    ),
)


class SpaceFields(FileModel, frozen=True, title="Root of a design space"):
    """Which fields of an accelerator vary, and how."""

    name: Annotated[Text, Written("the name of the space", "buffers")]
    """Its name; the store tags its runs `sweep:NAME`."""
    accelerator: Annotated[
        object, Written("a bundled name, a file, or the fields of an accelerator", "tpu_like")
    ]
    """The base, with a single core or several: a bundled accelerator, a file (also relative to this
    one), or the fields themselves."""
    mapping: Annotated[
        Text | None,
        Written(
            "a bundled name or a file", "free", otherwise="nothing is fixed; layers are not split"
        ),
    ] = None
    """Constraints on the mappings of all designs; with several cores, the cores of layers and how
    layers are split."""
    parameters: Annotated[Mapping[str, object], Written("parameters by name"), PARAMETERS]
    """The [parameters](#parameters) by name."""
    set: Annotated[
        Mapping[str, object],
        Written(_SETTINGS, otherwise="no field; then `when` must be there"),
        FIELDS,
    ] = {}
    """The [fields that vary](#fields-that-vary) by path."""
    when: Annotated[
        Mapping[str, object],
        Written(_CONDITIONS, otherwise="all designs have all memories and cores"),
        CONDITIONS,
    ] = {}
    """[Conditions](#parts-that-some-designs-have) under which designs have a memory or a core."""
    constraints: Annotated[
        tuple[object, ...],
        Written("a list of conditions such as units <= 1024", '["area <= 4", "rows >= columns"]'),
    ] = ()
    """Conditions that designs must meet, over parameters, `area`, `units` (of the arrays) and of a
    memory `memories.NAME.size` (bits of an instance), `.instances`, `.total` (bits of all
    instances), `.area` (of all instances) and `.bandwidth` (bits that all ports of all instances
    move in a cycle at most); with several cores, of those of a name together `cores.NAME.count`,
    `.units`, `.area` and `.memories.NAME.size` and so on."""
    networks: Annotated[tuple[object, ...], Written(_NETWORKS), NETWORKS]
    """The [networks](#networks-of-a-design-space) to map."""
    objectives: Annotated[
        tuple[object, ...], Written(_OBJECTIVES, "[energy, area]"), OBJECTIVES
    ] = (*("energy", "latency"),)
    """What the front minimizes: some of `energy`, `latency`, `edp`, `area`, over all networks
    together, or [expressions](#objectives) of them."""
    aggregate: Annotated[Aggregate, Written(example="worst")] = Aggregate.SUM
    """What the figures of several networks become: their `sum`, or those of the `worst` network,
    each network counted `weight` times."""


class _NetworkFields(FileModel, frozen=True):
    """A network of a design space."""

    network: Annotated[Text, Written("a network: its name or file")]
    weight: Annotated[Real, Written("a weight above 0")] = 1.0
    dims: Annotated[
        Mapping[str, Annotated[Whole, Field(ge=1), Written("a positive size")]],
        Written("sizes by name, such as {batch: 1}"),
    ] = {}
    densities: Annotated[Mapping[str, Share], Written("densities, as {I: 0.5}")] = {}


class _NamedObjective(FileModel, frozen=True):
    """An expression with a name."""

    name: Annotated[Text, Written("a name, such as cost")]
    of: Annotated[object, Written("an expression")]


def read_objective(node: Node) -> SweepObjective:
    """An objective.

    Raises:
        InputError: if it is none.
    """
    if node.is_mapping:
        given = read_fields(node, _NamedObjective)
        formula = read_expression(node.at("of"))
        with node.at("name").locate_errors():
            return ObjectiveFormula(of=formula, name=given.name)
    formula = read_expression(node)
    quantity = next((x for x in DESIGN_OBJECTIVES if x.value == formula.text.strip()), None)
    return quantity or ObjectiveFormula(of=formula)


M = TypeVar("M")


@final
@dataclass(frozen=True, slots=True)
class LocatedSpace:
    """A design space, and where a file has its parts: the place of each by its path."""

    space: DesignSpace
    places: Mapping[str, str]

    def error(self, part: str, found: str, expected: str) -> InputError:
        """An error about a part of the space."""
        return InputError(self._where(part), found, expected)

    def wrong(self, error: SpaceError) -> InputError:
        """The error about a part that the space itself has found."""
        return self.error(error.part, error.found, error.expected)

    def warn_of_unused_parts(self) -> None:
        """Warns of parameters that nothing uses, and of parts that no design has."""
        for name in self.space.unused:
            expected = "a parameter that set, when, constraints or objectives name"
            found = f"the parameter {name}, which nothing uses"
            warn_of_input(self._where(f"parameters.{name}"), found, expected)
        for presence in self.space.presence:
            if not self.space.is_ever_met(presence.when):
                found = f"{presence.when}, which no design meets: none has {presence.memory}"
                expected = "a condition that some designs meet"
                warn_of_input(self._where(f"when.{presence.memory}"), found, expected)

    def _where(self, part: str) -> str:
        return self.places.get(part) or f"{self._name}: {part}"

    @property
    def _name(self) -> str:
        return f"design space {self.space.name}"


def parse_design_space(source: Path | FieldValues) -> DesignSpace:
    """The design space that a YAML file describes, or its fields.

    Raises:
        InputError: if it does not match the schema; the error names line and field.
    """
    return locate_design_space(source).space


def locate_design_space(source: Path | FieldValues) -> LocatedSpace:
    """The design space of :func:`parse_design_space`, with the places of its parts.

    Raises:
        InputError: if it does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.SPACE)
    folder = source.parent if isinstance(source, Path) else Path()
    reader = _Reader(folder, {})
    return LocatedSpace(reader.space(root), reader.places)


@final
@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a space; ``places`` collects where its parts are."""

    folder: Path
    places: dict[str, str]

    def space(self, root: Node) -> DesignSpace:
        given = read_fields(root, SpaceFields)
        nodes = {name: node for name, node in root.entries().items() if not node.is_null}
        self.places.update((name, node.where) for name, node in nodes.items())
        parts: dict[str, object] = {
            "name": given.name,
            "accelerator": self._accelerator(root.at("accelerator")),
            "parameters": self._by_name(nodes, "parameters", read_parameter),
            "settings": self._by_name(nodes, "set", self._setting),
            "presence": self._by_name(nodes, "when", self._presence),
            "constraints": self._listed(nodes, "constraints", read_expression),
            "networks": self._listed(nodes, "networks", self._network),
            "aggregate": given.aggregate,
        }
        if given.mapping is not None:
            parts["mapping"] = self._file(given.mapping)
        if "objectives" in nodes:
            parts["objectives"] = self._listed(nodes, "objectives", read_objective)
        try:
            return DesignSpace.model_validate(parts)
        except ValidationError as error:
            raise self._located(error, root) from None

    def _located(self, error: ValidationError, root: Node) -> InputError:
        cause: object = error.errors()[0].get("ctx", {}).get("error")
        if isinstance(cause, SpaceError):
            where = self.places.get(cause.part) or root.where
            return InputError(where, cause.found, cause.expected)
        return InputError.of(root.where, error)

    def _by_name(
        self, nodes: Mapping[str, Node], field: str, read: Callable[[str, Node], M]
    ) -> tuple[M, ...]:
        entries = nodes[field].entries() if field in nodes else {}
        for name, node in entries.items():
            self.places[f"{field}.{name}"] = node.where
        return tuple(read(name, node) for name, node in entries.items())

    def _listed(
        self, nodes: Mapping[str, Node], field: str, read: Callable[[Node], M]
    ) -> tuple[M, ...]:
        items = nodes[field].sequence() if field in nodes else ()
        for n, node in enumerate(items):
            self.places[f"{field}[{n}]"] = node.where
        return tuple(map(read, items))

    def _accelerator(self, node: Node) -> str | Description:
        if node.is_mapping and node.entries():
            return Description.of(self._with_core_files(plain_values(node)))
        return self._file(node.text("a bundled name, a file, or the fields of an accelerator"))

    def _with_core_files(self, values: dict[str, object]) -> dict[str, object]:
        """The fields of an accelerator, with files of cores also relative to this one."""
        cores = values.get(CORES)
        if not isinstance(cores, dict):
            return values
        given = cast("dict[str, object]", cores)
        found = {n: self._file(x) if isinstance(x, str) else x for n, x in given.items()}
        return {**values, CORES: found}

    def _file(self, name: str) -> str:
        """The name, or the path of the file that it names in the folder of the space."""
        path = self.folder / name
        return str(path) if path.is_file() else name

    def _network(self, node: Node) -> WeightedNetwork:
        if not node.is_mapping:
            return WeightedNetwork(network=self._file(node.text("a network, or a mapping")))
        given = read_fields(node, _NetworkFields)
        place = node.at("weight") if "weight" in given.model_fields_set else node
        with place.locate_errors():
            return WeightedNetwork(
                network=self._file(given.network),
                weight=given.weight,
                dims=tuple(DimensionSize(name=d, size=size) for d, size in given.dims.items()),
                densities=tuple(
                    StatedDensity(operand=operand, density=share)
                    for operand, share in given.densities.items()
                ),
            )

    def _setting(self, name: str, node: Node) -> Setting:
        return Setting(field=name, value=None if node.is_null else read_expression(node))

    def _presence(self, name: str, node: Node) -> Presence:
        return Presence(memory=name, when=read_expression(node))

"""Reads design spaces: the base accelerator, parameters, what they set, constraints, networks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, cast, final

from pydantic import ValidationError

from nestmap.model import InputError
from nestmap.model.design_space.objective import ObjectiveFormula, SweepObjective
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
from nestmap.model.errors import warn_of_input
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.design_space_parameters import (
    PARAMETERS_FIELD,
    known_entries,
    read_expression,
    read_parameter,
)
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form, Need, Section, one_of
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import CORES
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import plain_values

# --- reads the networks of a design space: how often each counts, open sizes, densities ---

NETWORKS_FIELD: Final = Field(
    "networks", "the [networks](#networks-of-a-design-space) to map", "a list of networks", ""
)
NETWORKS: Final = Entries(
    "Networks of a design space",
    (NETWORKS_FIELD.name,),
    "Each item is a network, or has the fields `network`, `weight` (how often it "
    "counts), `dims` (sizes that the network leaves open) and `densities` (shares of elements "
    "that are not zero, by operand).",
    NETWORKS_FIELD.kind,
    (
        Form("light:alexnet", "a network by its name or file"),
        Form("{network: gpt2, weight: 2.5, dims: {batch: 1}}", "GPT-2, which counts 2.5 times"),
        Form("{network: light:alexnet, densities: {I: 0.5}}", "AlexNet, half of its inputs zero"),
    ),
)


def read_network(node: Node, file: Callable[[str], str]) -> WeightedNetwork:
    """A network of a space; ``file`` gives the path of a file that it names.

    Raises:
        InputError: if it is none.
    """
    if not node.is_mapping:
        return WeightedNetwork(network=file(node.text("a network, or a mapping")))
    entries = known_entries(node, ("network", "weight", "dims", "densities"), ("network",))
    weight, dims = entries.get("weight"), entries.get("dims")
    name = file(entries["network"].text("a network: its name or file"))
    factor = weight.number("a weight above 0") if weight else 1.0
    densities = _densities(entries.get("densities"))
    with (weight or node).locate_errors():
        return WeightedNetwork(network=name, weight=factor, dims=_dims(dims), densities=densities)


def _dims(node: Node | None) -> tuple[DimensionSize, ...]:
    if node is None:
        return ()
    sizes = node.entries("sizes by name, such as {batch: 1}")
    return tuple(
        DimensionSize(name=name, size=x.integer("a positive size", minimum=1))
        for name, x in sizes.items()
    )


def _densities(node: Node | None) -> tuple[StatedDensity, ...]:
    if node is None:
        return ()
    return tuple(_density(name, x) for name, x in node.entries("densities, as {I: 0.5}").items())


def _density(operand: str, node: Node) -> StatedDensity:
    share = node.number("a share of elements, above 0 and at most 1")
    with node.locate_errors():
        return StatedDensity(operand=operand, density=share)


# --- reads the objectives of a design space: quantities and expressions ---

OBJECTIVES_FIELD: Final = Field(
    "objectives",
    f"what the front minimizes: some of {', '.join(f'`{x}`' for x in DESIGN_OBJECTIVES)}, over all "
    "networks together, or [expressions](#objectives) of them",
    "a list of quantities and expressions such as energy * area",
    "[energy, area]",
    Need.OPTIONAL,
    default="[energy, latency]",
)
OBJECTIVES: Final = Entries(
    "Objectives",
    (OBJECTIVES_FIELD.name,),
    "Expressions, as those of parameters, of `energy` (pJ), `latency` (cycles), `edp` "
    "(pJ x cycles), `area`, each over all networks together, and of parameters.",
    OBJECTIVES_FIELD.kind,
    (
        Form("energy", "a quantity"),
        Form("energy * latency ** 2", "an expression, named by its text"),
        Form("0.5 * energy / 1e9 + latency / 1e6", "a weighted sum"),
        Form("{name: cost, of: energy * area}", "an expression with a name"),
    ),
)


def read_objective(node: Node) -> SweepObjective:
    """An objective.

    Raises:
        InputError: if it is none.
    """
    if node.is_mapping:
        entries = known_entries(node, ("name", "of"), ("name", "of"))
        name, formula = entries["name"].text("a name, such as cost"), read_expression(entries["of"])
        with entries["name"].locate_errors():
            return ObjectiveFormula(of=formula, name=name)
    formula = read_expression(node)
    quantity = next((x for x in DESIGN_OBJECTIVES if x.value == formula.text.strip()), None)
    return quantity or ObjectiveFormula(of=formula)


M = TypeVar("M")

_NAME: Final = Field(
    "name", "its name; the store tags its runs `sweep:NAME`", "the name of the space", "buffers"
)
_ACCELERATOR: Final = Field(
    "accelerator",
    "the base, with a single core or several: a bundled accelerator, a file (also relative to this "
    "one), or the fields themselves",
    "a bundled name, a file, or the fields of an accelerator",
    "tpu_like",
)
_MAPPING: Final = Field(
    "mapping",
    "constraints on the mappings of all designs; with several cores, the cores of layers and how "
    "layers are split",
    "a bundled name or a file",
    "free",
    Need.OPTIONAL,
    otherwise="nothing is fixed; layers are not split",
)
_SET: Final = Field(
    "set",
    "the [fields that vary](#fields-that-vary) by path",
    "expressions by path",
    "",
    Need.OPTIONAL,
    otherwise="no field; then `when` must be there",
)
_WHEN: Final = Field(
    "when",
    "[conditions](#parts-that-some-designs-have) under which designs have a memory or a core",
    "conditions by memory or core",
    "",
    Need.OPTIONAL,
    otherwise="all designs have all memories and cores",
)
_CONSTRAINTS: Final = Field(
    "constraints",
    "conditions that designs must meet, over parameters, `area`, `units` (of the arrays) and of a "
    "memory `memories.NAME.size` (bits of an instance), `.instances`, `.total` (bits of all "
    "instances), `.area` (of all instances) and `.bandwidth` (bits that all ports of all instances "
    "move in a cycle at most); with several cores, of those of a name together "
    "`cores.NAME.count`, `.units`, `.area` and `.memories.NAME.size` and so on",
    "a list of conditions such as units <= 1024",
    '["area <= 4", "rows >= columns"]',
    Need.OPTIONAL,
    default="[]",
)
_AGGREGATE: Final = Field(
    "aggregate",
    "what the figures of several networks become: their `sum`, or those of the `worst` network, "
    "each network counted `weight` times",
    one_of(Aggregate),
    "worst",
    Need.OPTIONAL,
    default="sum",
)

DESIGN_SPACE: Final = Section(
    "Root of a design space",
    (),
    "Which fields of an accelerator vary, and how.",
    (
        *(_NAME, _ACCELERATOR, _MAPPING, PARAMETERS_FIELD, _SET, _WHEN, _CONSTRAINTS),
        *(NETWORKS_FIELD, OBJECTIVES_FIELD, _AGGREGATE),
    ),
)
FIELDS: Final = Entries(
    "Fields that vary",
    (_SET.name,),
    "Any field of the description of an accelerator, by the path that errors show: "
    "`operational_array.sizes[0]`, `memories.sram.ports[0].bandwidth_max`. The value is that of an "
    "expression; whole results of a division count as whole numbers.",
    _SET.kind,
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
CONDITIONS: Final = Entries(
    "Parts that some designs have",
    (_WHEN.name,),
    "By the name of a memory of the base: designs that do not meet the condition lack the memory. "
    "With several cores, by the path of a core or of a memory in one: what connects a missing core "
    "is missing, too.",
    _WHEN.kind,
    (
        Form("sram_2MB: 1 < 2", "a condition, here one that always holds"),
        Form("cores.3: 1 < 2", "the same for a core"),
        Form("cores.simd.memories.sram: 1 < 2", "for a memory of all cores with that name"),
    ),
)


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
        fields = root.fields(DESIGN_SPACE)
        for field, node in fields.items():
            self.places[field.name] = node.where
        parts: dict[str, object] = {
            "name": fields[_NAME].text(_NAME.kind),
            "accelerator": self._accelerator(fields[_ACCELERATOR]),
            "parameters": self._by_name(fields, PARAMETERS_FIELD, read_parameter),
            "settings": self._by_name(fields, _SET, self._setting),
            "presence": self._by_name(fields, _WHEN, self._presence),
            "constraints": self._listed(fields, _CONSTRAINTS, read_expression),
            "networks": self._listed(fields, NETWORKS_FIELD, self._network),
        }
        if _MAPPING in fields:
            parts["mapping"] = self._file(fields[_MAPPING].text(_MAPPING.kind))
        if OBJECTIVES_FIELD in fields:
            parts["objectives"] = self._listed(fields, OBJECTIVES_FIELD, read_objective)
        if _AGGREGATE in fields:
            parts["aggregate"] = fields[_AGGREGATE].choice(Aggregate)
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
        self, fields: Mapping[Field, Node], field: Field, read: Callable[[str, Node], M]
    ) -> tuple[M, ...]:
        if field not in fields:
            return ()
        nodes = fields[field].entries(field.kind)
        for name, node in nodes.items():
            self.places[f"{field.name}.{name}"] = node.where
        return tuple(read(name, node) for name, node in nodes.items())

    def _listed(
        self, fields: Mapping[Field, Node], field: Field, read: Callable[[Node], M]
    ) -> tuple[M, ...]:
        if field not in fields:
            return ()
        nodes = fields[field].sequence(field.kind)
        for n, node in enumerate(nodes):
            self.places[f"{field.name}[{n}]"] = node.where
        return tuple(map(read, nodes))

    def _accelerator(self, node: Node) -> str | Description:
        if node.is_mapping and node.entries():
            return Description.of(self._with_core_files(plain_values(node)))
        return self._file(node.text(_ACCELERATOR.kind))

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
        return read_network(node, self._file)

    def _setting(self, name: str, node: Node) -> Setting:
        return Setting(field=name, value=None if node.is_null else read_expression(node))

    def _presence(self, name: str, node: Node) -> Presence:
        return Presence(memory=name, when=read_expression(node))

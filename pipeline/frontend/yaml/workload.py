"""Reads workloads in ZigZag's YAML schema: a list of layers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain
from pathlib import Path
from typing import final

from nestmap.model import InputOperand, Layer, LayerNode, NoCostNode, Tensor, Workload
from nestmap.model.base import copy_with
from nestmap.model.errors import warn_of_input
from nestmap.model.workload.access import AccessRoute, Shift
from nestmap.model.workload.consistency import EXPECTED_PRECISION, EXPECTED_SHAPE
from nestmap.model.workload.graph import Node
from nestmap.model.workload.link import (
    concatenation_axis,
    precision_contradiction,
    shape_contradiction,
    written_sizes,
)
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.file_model import read_fields
from nestmap.pipeline.frontend.yaml.layer import parse_layer
from nestmap.pipeline.frontend.yaml.layer_fields import LayerFields
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node as YamlNode


def parse_workload_yaml(source: Path | Sequence[FieldValues]) -> Workload:
    """The workload that a YAML file in ZigZag's schema describes, or its layers.

    It is named after the file, or ``workload``.

    ``docs/input-formats.md`` lists its fields.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.WORKLOAD)
    nodes = root.sequence("a list of layers")
    if not nodes:
        raise root.error("at least one layer")
    fields = [read_fields(node, LayerFields) for node in nodes]
    names = _names(nodes, fields)
    places = dict(zip(names, nodes, strict=True))
    sources = {i: _sources(places[i], given, names) for i, given in zip(names, fields, strict=True)}
    _check_acyclic(sources, names, places)
    made = {
        i: parse_layer(places[i], given, names[i], _single_sources(sources[i], names))
        for i, given in zip(names, fields, strict=True)
    }
    linked = _Links(made, places, sources)
    with root.locate_errors():
        name = source.stem if isinstance(source, Path) else "workload"
        return Workload.of(*linked.nodes(), name=name)


_Sources = Mapping[str, tuple[int, ...]]
"""The ids of the layers that produce each input: of several, one after the other."""


def _single_sources(sources: _Sources, names: Mapping[int, str]) -> dict[str, str]:
    return {operand: names[ids[0]] for operand, ids in sources.items() if len(ids) == 1}


@final
@dataclass(frozen=True)
class _Links:
    """The layers of a file by id, where they stand, and what produces their inputs.

    Layers read from outside what their source writes in another shape. ZigZag reads such files, for
    example with the channels of a concatenation, and its own files differ in precision: both are
    warnings.
    """

    layers: Mapping[int, Layer]
    places: Mapping[int, YamlNode]
    sources: Mapping[int, _Sources]

    def nodes(self) -> Iterator[Node]:
        """The layers, and a concatenation before each input of several sources."""
        joined = dict[int, Tensor]()
        made = list[Node]()
        for number, consumer in self.layers.items():
            inputs = list[InputOperand]()
            for operand in consumer.inputs:
                parts = self.sources[number].get(operand.name, ())
                axis = self._concatenation_axis(number, operand)
                inputs.append(self._checked(number, operand, axis is not None))
                if axis is not None:
                    tensors = {i: _output(self.layers[i], operand) for i in parts}
                    joint = f"{consumer.name}/{operand.name}"
                    made.append(_concatenation(joint, [tensors[i] for i in parts], axis))
                    inputs[-1] = copy_with(operand, {"source": joint})
                    joined |= tensors
            made.append(LayerNode(layer=copy_with(consumer, {"inputs": tuple(inputs)})))
        outputs = {self.layers[i].name: (tensor,) for i, tensor in joined.items()}
        return (
            copy_with(x, {"outputs": outputs[x.name]}) if x.name in outputs else x for x in made
        )

    def _concatenation_axis(self, number: int, operand: InputOperand) -> int | None:
        parts = self._producers(number, operand)
        if len(parts) < 2:
            return None
        return concatenation_axis(parts, self.layers[number], operand)

    def _producers(self, number: int, operand: InputOperand) -> list[Layer]:
        return [self.layers[i] for i in self.sources[number].get(operand.name, ())]

    def _checked(self, number: int, operand: InputOperand, is_joined: bool) -> InputOperand:
        """An input; from outside if what its sources write, not joined, has another shape."""
        producers = self._producers(number, operand)
        if not producers:
            return operand
        consumer = self.layers[number]
        place = self.places[number].at("operand_source", operand.name)
        shape = None if is_joined else _contradiction(consumer, operand, producers)
        if shape is not None:
            expected = f"{EXPECTED_SHAPE}; the input comes from the outermost memory"
            warn_of_input(place.where, shape, expected)
            return copy_with(operand, {"source": None, "other_source": producers[0].name})
        for producer in producers:
            bits = precision_contradiction(producer, consumer, operand)
            if bits is not None:
                warn_of_input(place.where, bits, EXPECTED_PRECISION)
        return operand


def _contradiction(
    consumer: Layer, operand: InputOperand, producers: Sequence[Layer]
) -> str | None:
    if len(producers) == 1:
        return shape_contradiction(producers[0], consumer, operand)
    names = ", ".join(repr(x.name) for x in producers)
    return f"{operand.name} of {consumer.name!r} from {names}, which no axis joins to what it reads"


def _output(producer: Layer, operand: InputOperand) -> Tensor:
    name, sizes = f"{producer.name}:0", written_sizes(producer)
    return Tensor(name=name, sizes=sizes, precision=operand.precision)


def _concatenation(name: str, parts: Sequence[Tensor], axis: int) -> NoCostNode:
    """The node that puts tensors one after the other; each element is that of one of them."""
    lengths = [(part.sizes or ())[axis] for part in parts]
    starts = accumulate(lengths, initial=0)
    shifts = (
        Shift(axis=axis, start=-start, step=1, size=length)
        for start, length in zip(starts, lengths, strict=False)
    )
    first = parts[0].sizes or ()
    whole = (*first[:axis], sum(lengths), *first[axis + 1 :])
    return NoCostNode(
        name=name,
        operator="Concat",
        sources=tuple(part.name.removesuffix(":0") for part in parts),
        inputs=tuple(parts),
        outputs=(Tensor(name=f"{name}:0", sizes=whole, precision=parts[0].precision),),
        routes=tuple(AccessRoute(input=n, steps=(shift,)) for n, shift in enumerate(shifts)),
    )


def _names(nodes: Sequence[YamlNode], layers: Sequence[LayerFields]) -> dict[int, str]:
    """The name of each layer by its id, in file order; a second layer of a name gets its id."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for node, given in zip(nodes, layers, strict=True):
        if given.id in names:
            found = f"a second layer {given.id}"
            raise node.at("id").error("a different id for each layer", found)
        name = given.name or f"Layer{given.id}"
        if name in taken:
            where, other = node.at("name" if given.name else "id"), f"{name}_{given.id}"
            if other in taken:
                raise where.error("a different name for each layer", f"a second layer {name!r}")
            expected = f"a different name for each layer: this one is called {other}"
            warn_of_input(where.where, f"a second layer {name!r}", expected)
            name = other
        names[given.id] = name
        taken.add(name)
    return names


def _sources(node: YamlNode, given: LayerFields, names: Mapping[int, str]) -> _Sources:
    """The ids of the layers that produce inputs, by operand."""
    places = node.at("operand_source").entries() if given.operand_source else {}
    for operand, ids in given.operand_source.items():
        place = places[operand]
        for i, source in enumerate(ids):
            if source not in names:
                known = ", ".join(str(i) for i in list(names)[:20])
                raise (place.at(i) if place.is_sequence else place).error(
                    f"the id of a layer in the file ({known}{', ...' if len(names) > 20 else ''}), "
                    f"or {given.id}, its own, for an input from outside"
                )
        if len(ids) > 1 and given.id in ids:
            raise place.error("ids of other layers, of which the input is the concatenation")
    return {x: ids for x, ids in given.operand_source.items() if ids and ids != (given.id,)}


def _check_acyclic(
    sources: Mapping[int, _Sources], names: Mapping[int, str], places: Mapping[int, YamlNode]
) -> None:
    try:
        TopologicalSorter({i: chain(*of.values()) for i, of in sources.items()}).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]  # each layer feeds the next; the last one is the first one
        text = " -> ".join(repr(names[i]) for i in cycle)
        where = places[min(cycle, key=list(names).index)].at("operand_source")
        raise where.error("layers without a cycle", f"the cycle {text}") from None

"""Reads workloads in ZigZag's YAML schema: a list of layers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from nestmap.model import InputOperand, Layer, Workload
from nestmap.model.base import copy_with
from nestmap.model.errors import warn_of_input
from nestmap.model.workload.consistency import EXPECTED_PRECISION, EXPECTED_SHAPE
from nestmap.model.workload.link import precision_contradiction, shape_contradiction
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.axes import Fields
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.layer import ID, LAYER, NAME, SOURCE, parse_layer
from nestmap.pipeline.frontend.yaml.load import read_source


def parse_workload_yaml(source: Path | Sequence[FieldValues]) -> Workload:
    """The workload that a YAML file in ZigZag's schema describes, or its layers.

    It is named after the file, or ``workload``.

    Its fields are declared in :mod:`~nestmap.pipeline.frontend.yaml.layer`;
    ``docs/input-formats.md`` lists them.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.WORKLOAD)
    nodes = root.sequence("a list of layers")
    if not nodes:
        raise root.error("at least one layer")
    layers = [node.fields(LAYER) for node in nodes]
    names = _names(layers)
    sources = {i: _sources(i, layer, names) for i, layer in zip(names, layers, strict=True)}
    _check_acyclic(sources, names, dict(zip(names, layers, strict=True)))
    made = [
        parse_layer(node, fields, names[i], {k: names[v] for k, v in sources[i].items()})
        for i, node, fields in zip(names, nodes, layers, strict=True)
    ]
    read = _checked_links(made, dict(zip(names.values(), layers, strict=True)))
    with root.locate_errors():
        name = source.stem if isinstance(source, Path) else "workload"
        return Workload.of(*read, name=name)


def _checked_links(made: Collection[Layer], fields: Mapping[str, Fields]) -> Iterator[Layer]:
    """The layers, which read from outside what their source writes in another shape.

    ZigZag reads such files, for example with the channels of a concatenation, and its own files
    differ in precision: both are warnings.
    """
    layers = {layer.name: layer for layer in made}
    for consumer in made:
        inputs = list[InputOperand]()
        for operand in consumer.inputs:
            inputs.append(operand)
            if operand.source is None:
                continue
            producer = layers[operand.source]
            where = fields[consumer.name][SOURCE].entries()[operand.name]
            shape = shape_contradiction(producer, consumer, operand)
            bits = precision_contradiction(producer, consumer, operand)
            if shape is not None:
                expected = f"{EXPECTED_SHAPE}; the input comes from the outermost memory"
                warn_of_input(where.where, shape, expected)
                inputs[-1] = copy_with(operand, {"source": None, "other_source": operand.source})
            elif bits is not None:
                warn_of_input(where.where, bits, EXPECTED_PRECISION)
        yield copy_with(consumer, {"inputs": tuple(inputs)})


def _names(layers: Collection[Fields]) -> dict[int, str]:
    """The name of each layer by its id, in file order; a second layer of a name gets its id."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for fields in layers:
        number = fields[ID].integer(ID.kind)
        if number in names:
            raise fields[ID].error("a different id for each layer", f"a second layer {number}")
        given = fields.get(NAME)
        name = given.text(NAME.kind) if given else f"Layer{number}"
        if name in taken:
            where, other = given or fields[ID], f"{name}_{number}"
            if other in taken:
                raise where.error("a different name for each layer", f"a second layer {name!r}")
            expected = f"a different name for each layer: this one is called {other}"
            warn_of_input(where.where, f"a second layer {name!r}", expected)
            name = other
        names[number] = name
        taken.add(name)
    return names


def _sources(number: int, fields: Fields, names: Mapping[int, str]) -> dict[str, int]:
    """The ids of the layers that produce inputs, by operand."""
    if SOURCE not in fields:
        return {}
    sources: dict[str, int] = {}
    for operand, node in fields[SOURCE].entries(SOURCE.kind).items():
        source = node.integer("the id of a layer")
        if source not in names:
            known = ", ".join(str(i) for i in list(names)[:20])
            raise node.error(
                f"the id of a layer in the file ({known}{', ...' if len(names) > 20 else ''}), or "
                f"{number}, its own, for an input from outside"
            )
        if source != number:
            sources[operand] = source
    return sources


def _check_acyclic(
    sources: Mapping[int, Mapping[str, int]],
    names: Mapping[int, str],
    layers: Mapping[int, Fields],
) -> None:
    try:
        TopologicalSorter({i: of.values() for i, of in sources.items()}).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]  # each layer feeds the next; the last one is the first one
        text = " -> ".join(repr(names[i]) for i in cycle)
        where = layers[min(cycle, key=list(names).index)][SOURCE]
        raise where.error("layers without a cycle", f"the cycle {text}") from None

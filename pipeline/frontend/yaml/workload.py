"""Reads workloads in ZigZag's YAML schema: a list of layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from nestmap.model import Workload
from nestmap.model.errors import warn_of_input
from nestmap.model.workload.consistency import EXPECTED_PRECISION, EXPECTED_SHAPE
from nestmap.model.workload.link import precision_contradiction, shape_contradiction
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.axes import Fields
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
    root = read_source(source, "workload")
    nodes = root.sequence("a list of layers")
    if not nodes:
        raise root.error("at least one layer")
    layers = [node.fields(LAYER) for node in nodes]
    names = _names(layers)
    sources = {i: _sources(i, layer, names) for i, layer in zip(names, layers, strict=True)}
    _check_acyclic(sources, names, dict(zip(names, layers, strict=True)))
    with root.locate_errors():
        workload = Workload.of(
            *(
                parse_layer(node, fields, names[i], {k: names[v] for k, v in sources[i].items()})
                for i, node, fields in zip(names, nodes, layers, strict=True)
            ),
            name=source.stem if isinstance(source, Path) else "workload",
        )
    _check_links(workload, dict(zip(names.values(), layers, strict=True)))
    return workload


def _check_links(workload: Workload, fields: Mapping[str, Fields]) -> None:
    """Checks that layers read what their sources write; ZigZag's own files differ in precision."""
    layers = {layer.name: layer for layer in workload.layers}
    for consumer in layers.values():
        for operand in consumer.inputs:
            if operand.source is None:
                continue
            producer = layers[operand.source]
            where = fields[consumer.name][SOURCE].entries()[operand.name]
            shape = shape_contradiction(producer, consumer, operand)
            if shape is not None:
                raise where.error(EXPECTED_SHAPE, shape)
            bits = precision_contradiction(producer, consumer, operand)
            if bits is not None:
                warn_of_input(where.where, bits, EXPECTED_PRECISION)


def _names(layers: Collection[Fields]) -> dict[int, str]:
    """The name of each layer by its id, in file order."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for fields in layers:
        number = fields[ID].integer(ID.kind)
        if number in names:
            raise fields[ID].error("a different id for each layer", f"a second layer {number}")
        given = fields.get(NAME)
        name = given.text(NAME.kind) if given else f"Layer{number}"
        if name in taken:
            where = given or fields[ID]
            raise where.error("a different name for each layer", f"a second layer {name!r}")
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

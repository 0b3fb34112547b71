"""Reads the networks of a design space: how often each counts, open sizes, densities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nestmap.model.design_space.space import DimensionSize, StatedDensity, WeightedNetwork
from nestmap.pipeline.frontend.yaml.design_space_values import known_entries
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form
from nestmap.pipeline.frontend.yaml.located_node import Node

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

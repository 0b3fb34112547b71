"""Gives converters access to an ONNX node: attributes, shapes, precisions and values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt
import onnx

from nestmap.model import InputError, Tensor
from nestmap.pipeline.frontend.onnx.load.graph import GraphNode, Origin
from nestmap.pipeline.frontend.onnx.load.opsets import NEWEST
from nestmap.pipeline.frontend.onnx.load.shapes import (
    LIMIT,
    UNSTATED,
    Shape,
    Sizes,
    TensorFacts,
    known_sizes,
    shape_text,
    whole_sizes,
)
from nestmap.pipeline.frontend.onnx.node.broadcast_axes import Axes

_A = onnx.AttributeProto

Array = npt.NDArray[np.generic]


@final
@dataclass(frozen=True)
class GraphFacts:
    """The known facts about the tensors of a graph: shape and type, bits per element, origin.

    ``names`` are those of all nodes; ``quantized`` tensors hold integers that represent real
    numbers; ``repeats`` are the axes with repeated values; ``values`` are those of small constant
    tensors; ``version`` is that of the standard operators. ``trusts_shapes``: shapes are as the
    model states them.
    """

    tensors: Mapping[str, TensorFacts]
    bits: Mapping[str, int]
    origins: Mapping[str, Origin]
    names: frozenset[str]
    quantized: frozenset[str] = frozenset()
    repeated_axes: Mapping[str, Axes] = field(default_factory=dict[str, Axes])
    values: Mapping[str, Array] = field(default_factory=dict[str, Array])
    version: int = NEWEST
    trusts_shapes: bool = False


@final
@dataclass(frozen=True)
class NodeReader:
    """A node of a graph, with the known facts about the graph's tensors.

    ``where`` names the model and the node at the start of every message.
    """

    where: str
    node: GraphNode
    graph: GraphFacts

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that the node and its subgraphs read, without duplicates."""
        return tuple(self._tensor(name) for name in self.node.reads)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that the node computes."""
        return tuple(self._tensor(name) for name in self.node.proto.output if name)

    @property
    def sources(self) -> tuple[str, ...]:
        """The nodes that compute the inputs, without duplicates."""
        makers = (self.graph.origins[name].node for name in self.node.reads)
        return tuple(dict.fromkeys(maker for maker in makers if maker is not None))

    def part(self, suffix: str) -> str:
        """A unique name for a part of the node, if the node becomes several."""
        name = f"{self.node.name}/{suffix}"
        while name in self.graph.names:
            name += "_"
        return name

    def has(self, position: int) -> bool:
        """Whether the node has that optional input."""
        names = self.node.proto.input
        return position < len(names) and bool(names[position])

    def shape(self, position: int) -> Shape | None:
        """The shape of an input as far as known."""
        facts = self.graph.tensors.get(self.input(position))
        return None if facts is None else facts.shape

    def bits(self, position: int) -> int:
        """The bits per element of an input."""
        return self.graph.bits.get(self.input(position), UNSTATED)

    def sizes(self, position: int) -> Sizes:
        """The sizes of an input.

        Raises:
            InputError: if the node has no such input or one of its sizes is unknown.
        """
        name = self.input(position)
        maker = self.graph.origins[name].node
        made_by = "an input of the network" if maker is None else f"computed by node {maker!r}"
        return known_sizes(self.shape(position), f"{self.where}: input {name!r}", made_by)

    def extents(self, position: int) -> Sizes:
        """The sizes of an input that may be empty, such as an initial cache.

        Raises:
            InputError: if the node has no such input or one of its sizes is unknown.
        """
        sizes = whole_sizes(self.shape(position))
        return self.sizes(position) if sizes is None else sizes

    def tensor(self, position: int) -> Tensor:
        """An input.

        Raises:
            InputError: if the node has no such input.
        """
        return self._tensor(self.input(position))

    def source(self, position: int) -> str | None:
        """The node that computes an input; ``None`` for an input or constant of the network.

        Raises:
            InputError: if the node has no such input.
        """
        return self.graph.origins[self.input(position)].node

    def output_extents(self, position: int) -> Sizes:
        """The sizes of an output; empty if the output is missing or one of its sizes is unknown."""
        names = self.node.proto.output
        facts = self.graph.tensors.get(names[position]) if position < len(names) else None
        return () if facts is None else whole_sizes(facts.shape) or ()

    def check_output(self, sizes: Sizes) -> None:
        """Compares the output sizes that follow from the inputs with those the model states.

        Raises:
            InputError: if they differ, or a size is too large.
        """
        name = self.node.proto.output[0] if self.node.proto.output else ""
        where = f"{self.where}: output {name!r}"
        known_sizes(sizes, where, "from its inputs")
        facts = self.graph.tensors.get(name)
        stated = None if facts is None else facts.shape
        if stated is not None and not _agree(stated, sizes) and not self.graph.trusts_shapes:
            raise InputError(
                where, f"shape {shape_text(stated)}", f"{shape_text(sizes)}, from its inputs"
            )

    def integer(self, name: str, default: int, *, least: int = 1) -> int:
        """An integer attribute, at least ``least``.

        Raises:
            InputError: if the attribute has another type or is too small.
        """
        attribute = self._attribute(name, "INT")
        return default if attribute is None else self._checked(name, (attribute.i,), least)[0]

    def number(self, name: str, default: float) -> float:
        """A floating-point attribute."""
        attribute = self._attribute(name, "FLOAT")
        return default if attribute is None else attribute.f

    def flag(self, name: str) -> bool:
        """An integer attribute used as a flag: true unless 0 or missing."""
        attribute = self._attribute(name, "INT")
        return attribute is not None and attribute.i != 0

    def integers(self, name: str, default: Sizes, *, least: int = 1) -> Sizes:
        """An attribute with as many integers as ``default``, each at least ``least``.

        Raises:
            InputError: if the attribute has another type or length, or an integer is too small.
        """
        attribute = self._attribute(name, "INTS")
        if attribute is None:
            return default
        values = self._checked(name, tuple(attribute.ints), least)
        if len(values) != len(default):
            raise self.error(f"{name} {list(values)}", f"{len(default)} numbers")
        return values

    def integer_list(self, name: str) -> Sizes | None:
        """An attribute with a list of integers; ``None`` if missing."""
        attribute = self._attribute(name, "INTS")
        return None if attribute is None else tuple(attribute.ints)

    def value(self, position: int) -> Array | None:
        """The value of a small constant input; ``None`` for others."""
        names = self.node.proto.input
        return self.graph.values.get(names[position]) if self.has(position) else None

    def text(self, name: str, default: str) -> str:
        """A text attribute."""
        attribute = self._attribute(name, "STRING")
        return default if attribute is None else attribute.s.decode(errors="replace")

    def error(self, found: str, expected: str) -> InputError:
        """An error located at this node."""
        return InputError(self.where, found, expected)

    def input(self, position: int) -> str:
        """The name of an input.

        Raises:
            InputError: if the node has no such input.
        """
        names = self.node.proto.input
        if position >= len(names) or not names[position]:
            raise self.error(
                f"no input number {position + 1}", "this input, which the operator requires"
            )
        return names[position]

    def _tensor(self, name: str) -> Tensor:
        facts, origin = self.graph.tensors.get(name), self.graph.origins.get(name)
        return Tensor(
            name=name,
            sizes=None if facts is None else whole_sizes(facts.shape),
            precision=self.graph.bits.get(name, UNSTATED),
            constant=origin is not None and origin.constant,
        )

    def _attribute(self, name: str, kind: str) -> onnx.AttributeProto | None:
        for attribute in self.node.proto.attribute:
            if attribute.name == name:
                if attribute.type != _A.AttributeType.Value(kind):
                    found = _A.AttributeType.Name(attribute.type)
                    raise self.error(f"attribute {name} of type {found}", f"type {kind}")
                return attribute
        return None

    def _checked(self, name: str, values: Sizes, least: int) -> Sizes:
        for value in values:
            if not least <= value < LIMIT:
                raise self.error(f"{name} {value}", f"{least} to 2**31 - 1")
        return values


def _agree(stated: Shape, sizes: Sizes) -> bool:
    """Whether a shape matches the given sizes as far as it is known."""
    return len(stated) == len(sizes) and all(
        not isinstance(known, int) or known == size
        for known, size in zip(stated, sizes, strict=True)
    )

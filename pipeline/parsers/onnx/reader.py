"""What the parser of a layer may ask about its ONNX node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import onnx

from nestmap.model import AffineIndex, InputError, InputOperand, NoCostNode, OutputOperand, Term
from nestmap.pipeline.parsers.onnx.graph import GraphNode, Origin
from nestmap.pipeline.parsers.onnx.shapes import LIMIT, Shape, Sizes, known_sizes, text

_BITS = 8
_A = onnx.AttributeProto


@final
@dataclass(frozen=True)
class NodeReader:
    """A node of a graph, with the shapes and origins of the graph's tensors.

    ``where`` names the model and the node and begins every message.
    """

    where: str
    node: GraphNode
    shapes: Mapping[str, Shape]
    origins: Mapping[str, Origin]

    def sizes(self, position: int) -> Sizes:
        """The sizes of an input.

        Raises:
            InputError: where there is no such input or its sizes are not all known.
        """
        name = self._input(position)
        maker = self.origins[name].node
        made_by = "it comes from outside" if maker is None else f"node {maker!r} makes it"
        return known_sizes(self.shapes.get(name), f"{self.where}: input {name!r}", made_by)

    def check_output(self, sizes: Sizes) -> None:
        """Compare the sizes that the inputs lead to with those the model states.

        Raises:
            InputError: where the model says something else, or a size is too large.
        """
        name = self.node.proto.output[0] if self.node.proto.output else ""
        where = f"{self.where}: output {name!r}"
        known_sizes(sizes, where, "from its inputs")
        stated = self.shapes.get(name)
        if stated is not None and not _agree(stated, sizes):
            raise InputError(where, f"shape {text(stated)}", f"{text(sizes)}, from its inputs")

    def input_operand(
        self, name: str, position: int, indices: tuple[AffineIndex, ...]
    ) -> InputOperand:
        """An input of the node as operand ``W`` or ``I``."""
        origin = self.origins[self._input(position)]
        return InputOperand(
            name=name,
            indices=indices,
            precision=self.integer("weight_size" if name == "W" else "act_size", _BITS),
            source=origin.node,
            constant=origin.constant,
        )

    def output_operand(self, indices: tuple[AffineIndex, ...]) -> OutputOperand:
        """The output ``O``: finished in ``act_size`` bits, partial sums in ``output_size``."""
        bits = self.integer("act_size", _BITS)
        partial = self.integer("output_size", 2 * bits)
        return OutputOperand(name="O", indices=indices, precision=bits, partial_precision=partial)

    def no_cost(self) -> NoCostNode:
        """The node as one that costs nothing."""
        makers = (self.origins[name].node for name in self.node.reads)
        return NoCostNode(
            name=self.node.name,
            operator=self.node.operator,
            sources=tuple(dict.fromkeys(maker for maker in makers if maker is not None)),
        )

    def integer(self, name: str, default: int) -> int:
        """A positive integer attribute.

        Raises:
            InputError: where it is something else.
        """
        attribute = self._attribute(name, "INT")
        return default if attribute is None else self._checked(name, (attribute.i,), 1)[0]

    def flag(self, name: str) -> bool:
        """An integer attribute that says yes (not 0) or no (0 or missing)."""
        attribute = self._attribute(name, "INT")
        return attribute is not None and attribute.i != 0

    def integers(self, name: str, default: Sizes, *, least: int = 1) -> Sizes:
        """An attribute of as many integers as ``default`` has, none below ``least``.

        Raises:
            InputError: where it is something else.
        """
        attribute = self._attribute(name, "INTS")
        if attribute is None:
            return default
        values = self._checked(name, tuple(attribute.ints), least)
        if len(values) != len(default):
            raise self.error(f"{name} {list(values)}", f"{len(default)} numbers")
        return values

    def text(self, name: str, default: str) -> str:
        """A text attribute."""
        attribute = self._attribute(name, "STRING")
        return default if attribute is None else attribute.s.decode(errors="replace")

    def error(self, found: str, expected: str) -> InputError:
        """An error located at this node."""
        return InputError(self.where, found, expected)

    def _input(self, position: int) -> str:
        names = self.node.proto.input
        if position >= len(names) or not names[position]:
            raise self.error(f"no input number {position + 1}", "at least two inputs")
        return names[position]

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
                raise self.error(f"{name} {value}", f"{least} up to 2**31 - 1")
        return values


def _agree(stated: Shape, sizes: Sizes) -> bool:
    """Whether a shape is the given one as far as it is known."""
    return len(stated) == len(sizes) and all(
        not isinstance(known, int) or known == size
        for known, size in zip(stated, sizes, strict=True)
    )


def plain_indices(*names: str) -> tuple[AffineIndex, ...]:
    """Indices that are loop dimensions by themselves."""
    return tuple(AffineIndex(terms=(Term(dimension=name),)) for name in names)

"""The record of an ONNX operator: all that nestmap knows of it.

Each step of the front end asks the record: of which sizes an output is where the onnx package
infers none, what must fit together, what is computed while the model is read, how many bits a
tensor has, and what the node becomes in the workload.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import final

from nestmap.model.workload.access import AccessRoute
from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.onnx.node.broadcast_axes import RepeatRule
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.axis_reads import ReadRule
from nestmap.pipeline.frontend.onnx.operators.checks import Check
from nestmap.pipeline.frontend.onnx.operators.output_shapes import (
    OF_FIRST_INPUT,
    ElementSource,
    ShapeRule,
)
from nestmap.pipeline.frontend.onnx.operators.work import WorkRule

Converter = Callable[[NodeReader], tuple[Node, ...]]
"""Converts an ONNX node to nodes of the workload; the last one computes its outputs.

Raises an InputError if shapes or attributes do not match.
"""

RouteRule = Callable[[NodeReader], Iterable[AccessRoute]]
"""Determines the routes of an ONNX node; positions are those of its inputs and outputs."""


@final
@dataclass(frozen=True)
class Layers:
    """The operator becomes layers, and whatever else it computes, by a converter."""

    convert: Converter


@final
@dataclass(frozen=True)
class Vector:
    """The operator becomes work of a vector unit.

    Without ``reads``, an element of the output may need all elements of the inputs. ``operands``
    is the number of inputs whose elements are read: of others only the type counts.
    """

    work: WorkRule
    reads: ReadRule | None = None
    operands: int | None = None


@final
@dataclass(frozen=True)
class Movement:
    """The operator moves data, at no cost. Without ``routes``, elements may come from anywhere."""

    routes: RouteRule | None = None


class Folding(Enum):
    """What an operator with which exporters compute shapes needs to be computed in advance."""

    VALUES = auto()
    """The values of its inputs."""

    SIZES = auto()
    """The sizes of its input."""

    OPEN = auto()
    """The values of its inputs, which also decide the sizes of its outputs; these have at most the
    elements of the input times its axes."""


class Bits(Enum):
    """How many bits the output of a vector operator has in a quantized network."""

    OF_TYPE = auto()
    """Those of its type."""

    KEPT = auto()
    """No more than the input: the output may be quantized later."""

    QUANTIZED = auto()
    """Those of its type, which the tensors before it share."""

    DEQUANTIZED = auto()
    """Those of the input, whatever the type."""


@final
@dataclass(frozen=True)
class Operator:
    """What nestmap knows of an ONNX operator.

    Args:
        becomes: what a node becomes; ``None``: only the shapes of its outputs are known.
        shapes: standard nodes with outputs of the same sizes, for operators without inference.
        element: the input whose element type the output has then, and the type without it.
        checks: what must fit that inference does not compare.
        folds: what it takes to compute the operator in advance; ``None``: it is not.
        sizes_from: the first of the inputs that hold sizes.
        bits: the bits of the output in quantized networks.
        joins: whether all inputs, and not only the first, are parts of the output.
        repeats: along which axes the output repeats its values.
        is_lenient: whether runtimes accept what the onnx package rejects.
    """

    becomes: Layers | Vector | Movement | None = None
    shapes: ShapeRule | None = None
    element: ElementSource = OF_FIRST_INPUT
    checks: tuple[Check, ...] = ()
    folds: Folding | None = None
    sizes_from: int | None = None
    bits: Bits = Bits.OF_TYPE
    joins: bool = False
    repeats: RepeatRule | None = None
    is_lenient: bool = False

"""Dataflows: what stays in the array while the other loops of a layer run.

Source: Chen, Emer, Sze, "Eyeriss: A Spatial Architecture for Energy-Efficient Dataflow for
Convolutional Neural Networks", ISCA 2016, section III (taxonomy) and IV (row stationary).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from nestmap.model.dims import OUTPUT, Dimension, LayerOperand, MemoryOperand, Relevance
from nestmap.model.workload.layer import Layer


class Dataflow(StrEnum):
    """What a mapping keeps in the innermost memories, for any layer.

    Weights are what memory operand ``I2`` carries, inputs what ``I1`` does, as by default.
    """

    WEIGHT_STATIONARY = "weight_stationary"
    """Weights enter their innermost memory once, and stay there for all that they are used for."""
    INPUT_STATIONARY = "input_stationary"
    """Inputs do."""
    OUTPUT_STATIONARY = "output_stationary"
    """Sums stay in their innermost memory until they are complete."""
    ROW_STATIONARY = "row_stationary"
    """Units convolve rows: see :data:`ROW_LOOPS` and :func:`least_unrollings`."""


ROW_LOOPS: Final[Mapping[MemoryOperand, tuple[Dimension, ...]]] = {
    "I2": ("FX", "OX"),
    OUTPUT: ("FX",),
}
"""The loops of a row: a row of weights stays while it moves along a row of inputs, and each sum
until the row of weights is added to it."""

_STATIONARY: Final[Mapping[Dataflow, MemoryOperand]] = {
    Dataflow.WEIGHT_STATIONARY: "I2",
    Dataflow.INPUT_STATIONARY: "I1",
    Dataflow.OUTPUT_STATIONARY: OUTPUT,
}


def held_dimensions(
    dataflow: Dataflow, layer: Layer, links: Mapping[LayerOperand, MemoryOperand]
) -> dict[LayerOperand, tuple[Dimension, ...]]:
    """The loop dimensions that run, as a whole, at or below the innermost memory of an operand.

    Operands without any are left out. With the only memory of an operand this says nothing.
    """
    held = {operand: _held(dataflow, layer, operand, carried) for operand, carried in links.items()}
    return {operand: dimensions for operand, dimensions in held.items() if dimensions}


def _held(
    dataflow: Dataflow, layer: Layer, operand: LayerOperand, carried: MemoryOperand
) -> tuple[Dimension, ...]:
    if dataflow is Dataflow.ROW_STATIONARY:
        return tuple(d for d in ROW_LOOPS.get(carried, ()) if d in layer.sizes)
    if _STATIONARY[dataflow] != carried:
        return ()
    irrelevant = Relevance.IRRELEVANT
    return tuple(d for d in layer.sizes if layer.relevance(operand, d) is irrelevant)


def least_unrollings(dataflow: Dataflow | None, layer: Layer) -> dict[Dimension, int]:
    """How often the array has to unroll loop dimensions at least.

    With :attr:`Dataflow.ROW_STATIONARY` all rows of the weights (``FY``), and some of the output
    (``OY``): then inputs are used along a diagonal of the array.
    """
    if dataflow is not Dataflow.ROW_STATIONARY:
        return {}
    sizes = layer.sizes
    least = {"FY": sizes.get("FY", 1), "OY": min(2, sizes.get("OY", 1))}
    return {dimension: number for dimension, number in least.items() if number > 1}

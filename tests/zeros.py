"""Problems with zeros: densities of operands, memories that compress, operations that are gated."""

from __future__ import annotations

from collections.abc import Mapping

from nestmap.model import Compression, Layer, MappingProblem, SpatialProblem
from nestmap.model.base import copy_with

NO_COMPRESSION: Mapping[str, tuple[Compression, ...]] = {}


def bitmask(operand: str) -> Compression:
    """A bit for each element."""
    return Compression(operand=operand)


def run_length(operand: str, run_bits: int) -> Compression:
    """The zeros before each element in so many bits."""
    return Compression(operand=operand, run_bits=run_bits)


def with_densities(layer: Layer, densities: Mapping[str, float]) -> Layer:
    """The layer with shares of elements that are not zero, by operand."""
    output = copy_with(layer.output, {"density": densities.get(layer.output.name, 1.0)})
    inputs = tuple(copy_with(x, {"density": densities.get(x.name, 1.0)}) for x in layer.inputs)
    return copy_with(layer, {"output": output, "inputs": inputs})


def with_zeros(
    spatial: SpatialProblem,
    densities: Mapping[str, float],
    *,
    gating: tuple[str, ...] = (),
    formats: Mapping[str, tuple[Compression, ...]] = NO_COMPRESSION,
) -> SpatialProblem:
    """The problem with densities by operand, and an accelerator that makes use of them.

    ``gating`` are memory operands, ``formats`` those of each memory.
    """
    problem = spatial.problem
    machine = problem.accelerator
    memories = tuple(
        copy_with(level, {"compression": formats.get(level.name, ())}) for level in machine.memories
    )
    array = copy_with(machine.array, {"zero_gating": gating})
    changed = MappingProblem(
        layer=with_densities(problem.layer, densities),
        accelerator=copy_with(machine, {"array": array, "memories": memories}),
        constraints=problem.constraints,
    )
    return copy_with(spatial, {"problem": changed})

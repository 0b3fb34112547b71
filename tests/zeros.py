"""Problems with zeros: densities of operands, memories that compress, operations that are gated."""

from collections.abc import Mapping

from nestmap.model import Compression, MappingProblem, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.model.workload.densities import set_layer_densities

NO_COMPRESSION: Mapping[str, tuple[Compression, ...]] = {}


def bitmask(operand: str) -> Compression:
    """A bit for each element."""
    return Compression(operand=operand)


def run_length(operand: str, run_bits: int) -> Compression:
    """The zeros before each element in so many bits."""
    return Compression(operand=operand, run_bits=run_bits)


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
        layer=set_layer_densities(problem.layer, densities),
        accelerator=copy_with(machine, {"array": array, "memories": memories}),
        constraints=problem.constraints,
    )
    return copy_with(spatial, {"problem": changed})

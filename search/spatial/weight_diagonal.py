"""Weight-diagonal mapping: unrolls output pixels next to output channels.

If inputs are multicast along one array dimension and outputs are summed along another
(in-memory-compute arrays), a convolution that unrolls its kernel along the sums often leaves
columns idle. A copy of the weights, shifted by the stride, lets an idle column compute the
neighbouring output pixel: it shares most of its inputs with the first, and the copies form a
diagonal of the array.

Source: Houshmand et al., "Benchmarking and modeling of analog and digital SRAM in-memory computing
architectures" (ZigZag-IMC).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import final

from nestmap.model import (
    Accelerator,
    AffineIndex,
    InputOperand,
    Loop,
    MappingProblem,
    MemoryLevel,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import ArrayDimension, Dimension
from nestmap.search.spatial.candidates import mappable_dimensions
from nestmap.search.spatial.unrolling import divisors


@final
@dataclass(frozen=True)
class _Multicast:
    """The array dimension that multicasts inputs, and the one that sums outputs.

    ``registers`` is the memory that multicasts the input.
    """

    operand: InputOperand
    registers: MemoryLevel
    columns: ArrayDimension
    rows: ArrayDimension


@final
@dataclass(frozen=True)
class _Window:
    """An index of the input along which a kernel dimension slides over an output dimension."""

    index: AffineIndex
    pixel: Dimension
    kernel: Dimension


def weight_diagonal(spatial: SpatialProblem) -> SpatialProblem:
    """Unrolls as many output pixels as possible over the input's multicast dimension.

    Every distinct input needs its own row. Idle rows and columns are used if the user's mapping and
    hints allow pixels on the columns. One input register per used row then represents those of
    several rows: it holds and delivers as many words as there are pixels, at the same energy per
    bit. If no pixel can be added, the problem is returned unchanged.
    """
    found = _multicast(spatial.problem)
    added = _added(spatial, found) if found else ()
    if found is None or not added:
        return spatial
    accelerator = _with_registers(spatial.accelerator, found, prod(x.size for x in added))
    return SpatialProblem(
        problem=copy_with(spatial.problem, {"accelerator": accelerator}),
        spatial_mapping=_extended(spatial, found.columns, added),
    )


def _multicast(problem: MappingProblem) -> _Multicast | None:
    """The multicast dimension of a layer with a sliding input, if the array has one."""
    layer = problem.layer
    summing = problem.levels(layer.output.name)[0].served_dimensions
    for operand in layer.inputs:
        registers = problem.levels(operand.name)[0]
        served = registers.served_dimensions
        apart = len(served) == len(summing) == 1 and served != summing
        alone = registers.operands == (problem.links[operand.name],)
        if apart and alone and any(len(x.terms) == 2 for x in operand.indices):
            return _Multicast(operand, registers, columns=served[0], rows=summing[0])
    return None


def _windows(spatial: SpatialProblem, found: _Multicast) -> tuple[_Window, ...]:
    """The indices with a kernel along the sums and pixels that columns may unroll."""
    layer, mapping = spatial.layer, spatial.spatial_mapping
    others = (x for x in layer.inputs if x != found.operand)
    weights = {d for x in others for index in x.indices for d in index.dimensions}
    outputs = {d for index in layer.output.indices for d in index.dimensions}
    kernels = {x.dimension for x in mapping.on(found.rows) if x.size > 1} & weights - outputs
    there = {x.dimension for x in mapping.on(found.columns) if x.size > 1}
    pixels = (
        outputs.intersection(mappable_dimensions(spatial.problem, found.columns)) - weights - there
    )
    return tuple(
        _Window(index, pixel, kernel)
        for index in found.operand.indices
        if len(index.terms) == 2
        for pixel, kernel in (index.dimensions, index.dimensions[::-1])
        if pixel in pixels and kernel in kernels
    )


def _added(spatial: SpatialProblem, found: _Multicast) -> tuple[Loop, ...]:
    """The pixels to unroll: as many as idle rows and columns allow."""
    mapping, array = spatial.spatial_mapping, spatial.accelerator.array.sizes
    idle = array[found.columns] // prod(x.size for x in mapping.on(found.columns))
    windows = _windows(spatial, found)
    most = [min(idle, spatial.layer.sizes[x.pixel] // mapping.factor_of(x.pixel)) for x in windows]
    fitting = (
        factors
        for factors in product(*([1, *divisors(n)] for n in most))
        if prod(factors) <= idle
        and _rows(spatial, found, dict(zip(windows, factors, strict=True))) <= array[found.rows]
    )
    pairs = zip(windows, max(fitting, key=prod), strict=True)
    return tuple(Loop(dimension=x.pixel, size=n) for x, n in pairs if n > 1)


def _rows(spatial: SpatialProblem, found: _Multicast, pixels: Mapping[_Window, int]) -> int:
    """The rows in use.

    Distinct inputs along the sums if so many pixels are added to the windows.
    """
    sizes = spatial.layer.sizes
    unrolled = dict.fromkeys(sizes, 1)
    for loop in spatial.spatial_mapping.on(found.rows):
        unrolled[loop.dimension] *= loop.size
    count = 1
    for window, number in pixels.items():
        unrolled[window.pixel] *= number
        dimensions = window.index.dimensions
        part = tuple(unrolled.pop(d) for d in dimensions)
        count *= window.index.touched(part, tuple(sizes[d] for d in dimensions))
    return count * prod(unrolled.values())


def _with_registers(accelerator: Accelerator, found: _Multicast, words: int) -> Accelerator:
    """The accelerator with input registers ``words`` times as large and as wide."""
    instance = found.registers.instance
    wider = copy_with(
        instance,
        {
            "size": instance.size * words,
            "read_energy": instance.read_energy * words,
            "write_energy": instance.write_energy * words,
            "ports": tuple(
                copy_with(x, {"width_min": x.width_min * words, "width_max": x.width_max * words})
                for x in instance.ports
            ),
        },
    )
    level = copy_with(found.registers, {"instance": wider})
    memories = tuple(level if x == found.registers else x for x in accelerator.memories)
    return copy_with(accelerator, {"memories": memories})


def _extended(
    spatial: SpatialProblem, columns: ArrayDimension, added: tuple[Loop, ...]
) -> SpatialMapping:
    mapping = spatial.spatial_mapping
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(
                array_dimension=side.name,
                loops=mapping.on(side.name) + (added if side.name == columns else ()),
            )
            for side in spatial.accelerator.array.sides
        )
    )

"""Which elements of its inputs an operator reads for a part of its output.

Layers define it by affine indices, vector operators by a :class:`VectorNest`, operators that only
move data by :class:`Route` s. Regions are products of sets along the axes of a tensor.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import Loop
from nestmap.model.units import Bits, Count
from nestmap.model.workload.affine import AffineIndex

# --- the tensors that the nodes of a workload exchange: their names and sizes ---

Extent = Annotated[int, Field(ge=0, lt=2**31)]
"""The length of a tensor axis; an empty tensor has an axis of length 0."""


class Tensor(Frozen, frozen=True):
    """A tensor: its name in the network, its axes, and its bits per element.

    ``sizes`` is ``None`` if they are only known when the network runs. A ``constant`` tensor
    (weights, shapes) is known before that.
    """

    name: str = Field(min_length=1)
    sizes: tuple[Extent, ...] | None
    precision: Bits
    constant: bool = False

    @property
    def elements(self) -> Count:
        """The number of elements; 0 if it is unknown."""
        return 0 if self.sizes is None else prod(self.sizes)

    @property
    def bits(self) -> Count:
        """Its size in bits: ``elements * precision``."""
        return self.elements * self.precision


AxisIndex = AffineIndex | None
"""Where the loops read along an axis of an input; ``None``: along the whole axis, wherever, so also
its one element where it is broadcast."""

Position = Annotated[int, Field(ge=0)]
"""The index of an axis, an input or an output, from 0."""


class InputAccess(Frozen, frozen=True):
    """How a vector operator reads an input: an index for each axis of the tensor."""

    axes: tuple[AxisIndex, ...]


class VectorNest(Frozen, frozen=True):
    """The loops of a vector operator, and how they index its first output and its inputs.

    ``output`` has an index for each axis of the output: one loop, or two loops that count it like
    digits (resampling). ``inputs`` has an access for each input, in the order of the operator's
    tensors; ``None`` for one that is read as a whole. Loops that do not index the output run for
    each of its elements (pooling windows). Further outputs of the same sizes are written together
    with the first; those of other sizes only at the end of all loops.
    """

    loops: tuple[Loop, ...]
    output: tuple[AffineIndex, ...]
    inputs: tuple[InputAccess | None, ...]

    @model_validator(mode="after")
    def _check_dimensions(self) -> VectorNest:
        known = [loop.dimension for loop in self.loops]
        if len(set(known)) != len(known):
            raise ValueError(f"loops {', '.join(known)} are not all different")
        read = [axis for access in self.inputs if access for axis in access.axes if axis]
        for index in (*self.output, *read):
            for dimension in index.dimensions:
                if dimension not in known:
                    raise ValueError(
                        f"index {index} has {dimension}; expected a loop of {', '.join(known)}"
                    )
        return self


class Reshape(Frozen, frozen=True):
    """The same elements in row-major order in a tensor of other ``sizes``."""

    kind: Literal["reshaped"] = "reshaped"
    sizes: tuple[Extent, ...]


class Permute(Frozen, frozen=True):
    """Axis ``i`` after the step is axis ``axes[i]`` before it."""

    kind: Literal["permuted"] = "permuted"
    axes: tuple[Position, ...]

    @model_validator(mode="after")
    def _check_permutation(self) -> Permute:
        if sorted(self.axes) != list(range(len(self.axes))):
            raise ValueError(f"axes {self.axes}; expected each of 0 to {len(self.axes) - 1} once")
        return self


class Shift(Frozen, frozen=True):
    """Index ``j`` along the axis becomes ``start + step * j``.

    Indices outside ``0 .. size - 1`` come from padding or from another input.
    """

    kind: Literal["shifted"] = "shifted"
    axis: Position
    start: int = 0
    step: int = 1
    size: Extent


class Repeat(Frozen, frozen=True):
    """Index ``j`` along the axis becomes ``j`` modulo ``size``."""

    kind: Literal["repeated"] = "repeated"
    axis: Position
    size: Extent


class Gather(Frozen, frozen=True):
    """Index ``j`` along the axis becomes ``indices[j]``, on an axis of ``size``."""

    kind: Literal["taken"] = "taken"
    axis: Position
    indices: tuple[Extent, ...]
    size: Extent


class AnyIndex(Frozen, frozen=True):
    """Any index along the axis may become any other, on an axis of ``size``."""

    kind: Literal["any"] = "any"
    axis: Position
    size: Extent


class AnyElement(Frozen, frozen=True):
    """Any element may come from any element of a tensor of other ``sizes``."""

    kind: Literal["anywhere"] = "anywhere"
    sizes: tuple[Extent, ...]


AccessStep = Annotated[
    Reshape | Permute | Shift | Repeat | Gather | AnyIndex | AnyElement, Field(discriminator="kind")
]


class AccessRoute(Frozen, frozen=True):
    """The steps that lead from the elements of an output back to those of an input.

    ``output`` and ``input`` are positions among the tensors of the operator. Without a route
    between them, an output does not depend on an input.
    """

    output: Position = 0
    input: Position = 0
    steps: tuple[AccessStep, ...] = ()

    def input_sizes(self, output: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of the input, given those of the output.

        Raises:
            ValueError: if a step does not fit the sizes before it.
        """
        sizes = output
        for step in self.steps:
            sizes = _sizes_after(step, sizes)
        return sizes


def _sizes_after(step: AccessStep, sizes: tuple[int, ...]) -> tuple[int, ...]:
    match step:
        case Reshape():
            if prod(step.sizes) != prod(sizes):
                raise ValueError(f"{sizes} as {step.sizes}; expected the same number of elements")
            return step.sizes
        case AnyElement():
            return step.sizes
        case Permute():
            if len(step.axes) != len(sizes):
                raise ValueError(f"axes {step.axes} of {sizes}; expected {len(sizes)} axes")
            return tuple(sizes[axis] for axis in step.axes)
        case _:
            return _sizes_along_axis(step, sizes)


def _sizes_along_axis(
    step: Shift | Repeat | Gather | AnyIndex, sizes: tuple[int, ...]
) -> tuple[int, ...]:
    if step.axis >= len(sizes):
        raise ValueError(f"axis {step.axis} of {sizes}; expected one of its {len(sizes)} axes")
    if isinstance(step, Gather) and len(step.indices) != sizes[step.axis]:
        raise ValueError(
            f"{len(step.indices)} indices for an axis of {sizes[step.axis]}; expected one each"
        )
    return (*sizes[: step.axis], step.size, *sizes[step.axis + 1 :])

"""The loop nest of a contraction (Einstein sum) of two tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import gcd
from typing import Final

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.dims import Dimension, Loop
from nestmap.model.units import Size
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.loop_nests import (
    Channels,
    InputIndices,
    LoopNest,
    batch_names,
    plain_indices,
)

Label = str
"""The name of an axis; axes with the same name share a loop."""

Axes = Mapping[Label, int]
"""The axes of a tensor with their sizes; 1 if the tensor is broadcast along a longer axis."""


def contraction(left: Axes, right: Axes, output: Sequence[Label]) -> LoopNest:
    """The nest of ``output[..] += left[..] * right[..]``, summed over the axes not in the output.

    Dimensions are named as in a matrix product. ``D`` is the last output axis that only the left
    tensor has, ``K`` the last one that only the right tensor has; all others are batch axes ``B``,
    ``H``, ``B3`` .. in order. ``C`` is the last axis of the left tensor that both tensors have and
    that is summed; other sums are ``C2``, ``C3`` ... ``C``, ``D`` and ``K`` always exist.

    Args:
        left: axes of the left tensor, in order.
        right: axes of the right tensor.
        output: axes of the result, all different, each in one of the tensors.
    """
    sizes = {label: max(left.get(label, 1), right.get(label, 1)) for label in (*left, *right)}
    rows = [label for label in output if label not in right][-1:]
    columns = [label for label in output if label not in left][-1:]
    batch = [label for label in output if label not in (*rows, *columns)]
    inner = [label for label in reversed(list(left)) if label in right and label not in output]
    inner += [label for label in sizes if label not in (*output, *inner)]
    sums = ("C", *(f"C{i}" for i in range(2, len(inner) + 1)))
    name: dict[Label, Dimension] = dict(zip(batch, batch_names(len(batch)), strict=True))
    name |= dict(zip(inner, sums, strict=False))

    def own(axes: Axes, labels: Sequence[Label]) -> list[Dimension]:
        return [name[label] for label in labels if axes.get(label) == sizes[label]]

    def size(labels: Sequence[Label]) -> int:
        return sizes[labels[0]] if labels else 1

    loops = [(d, size(inner[i : i + 1])) for i, d in enumerate(sums)]
    loops += [("D", size(rows)), ("K", size(columns))]
    loops += [(name[label], sizes[label]) for label in batch]
    inner_left, inner_right = (own(axes, inner) if inner else ["C"] for axes in (left, right))
    return LoopNest(
        loops=tuple(Loop(dimension=d, size=n) for d, n in loops),
        output=plain_indices(*(name[label] for label in batch), "D", "K"),
        inputs=(
            InputIndices(operand="I", indices=plain_indices(*own(left, batch), "D", *inner_left)),
            InputIndices(operand="W", indices=plain_indices(*own(right, batch), *inner_right, "K")),
        ),
    )


# The loop nests of transposed convolutions, one for all outputs that sum equally many products

MAX_PHASES: Final = 2**16
"""The largest number of phases of an axis."""


class PhaseGroup(Frozen, frozen=True):
    """Equal phases of one axis: their number, and the outputs and kernel elements of each."""

    letter: str = Field(pattern="^[XYZ]$")
    count: Size
    outputs: Size
    kernel: Size
    dilation: Size
    input: Size

    @property
    def index(self) -> AffineIndex:
        """The affine input index over output and kernel element."""
        reach = self.outputs + self.dilation * (self.kernel - 1)
        around = max(0, reach - self.input)
        return AffineIndex(
            name=f"I{self.letter}",
            terms=(
                Term(dimension=f"O{self.letter}"),
                Term(dimension=f"F{self.letter}", coefficient=self.dilation),
            ),
            size=self.input,
            padding=(around - around // 2, around // 2),
        )

    def names(self, kind: str) -> tuple[Dimension, ...]:
        """The dimensions of an output axis (``O``) or a kernel axis (``F``)."""
        phase = (f"P{self.letter}",) if self.count > 1 else ()
        return (*phase, f"{kind}{self.letter}")


class TransposedAxis(Frozen, frozen=True):
    """One spatial axis: input, kernel, stride, dilation, output, and ``before`` cropped outputs.

    A negative ``before`` adds outputs at the front.
    """

    letter: str = Field(pattern="^[XYZ]$")
    input: Size
    kernel: Size = 1
    stride: Size = 1
    dilation: Size = 1
    before: int = 0
    output: Size

    @property
    def phases(self) -> tuple[PhaseGroup, ...]:
        """The phases that some kernel element reaches, with equal phases combined.

        Raises:
            ValueError: if there are more than :data:`MAX_PHASES`.
        """
        common = gcd(self.stride, self.dilation)
        period = self.stride // common
        if min(period, self.kernel) > MAX_PHASES:
            raise ValueError(
                f"a kernel of {self.kernel} with stride {self.stride} has more than {MAX_PHASES} "
                "phases; expected no more"
            )
        alike = Counter(self._outputs_and_kernel(period))
        return tuple(
            PhaseGroup(
                letter=self.letter,
                count=count,
                outputs=outputs,
                kernel=kernel,
                dilation=self.dilation // common,
                input=self.input,
            )
            for (outputs, kernel), count in alike.items()
            if outputs > 0
        )

    def _outputs_and_kernel(self, period: int) -> Iterator[tuple[int, int]]:
        """The number of outputs and of kernel elements of each phase."""
        for first in range(min(period, self.kernel)):
            begin = (first * self.dilation - self.before) % self.stride
            outputs = -(-(self.output - begin) // self.stride)
            yield outputs, -(-(self.kernel - first) // period)


def transposed_convolution(
    axes: Sequence[TransposedAxis], channels: Channels
) -> tuple[LoopNest, ...]:
    """The nests of a transposed convolution; axes from the outermost to the width.

    Raises:
        ValueError: if an axis has more than :data:`MAX_PHASES` phases.
    """
    return tuple(_nest(each, channels) for each in product(*(axis.phases for axis in axes)))


def _nest(axes: Sequence[PhaseGroup], channels: Channels) -> LoopNest:
    inner = {f"P{axis.letter}": axis.count for axis in reversed(axes) if axis.count > 1}
    outer = {"B": channels.batch, "K": channels.outputs, "G": channels.groups}
    outputs = {f"O{axis.letter}": axis.outputs for axis in reversed(axes)}
    kernels = {f"F{axis.letter}": axis.kernel for axis in reversed(axes)}
    sizes = outer | inner | outputs | {"C": channels.inputs} | kernels
    places = [name for axis in axes for name in axis.names("O")]
    elements = [name for axis in axes for name in axis.names("F")]
    image = (*plain_indices("B", "G", "C"), *(axis.index for axis in axes))
    return LoopNest(
        loops=tuple(Loop(dimension=name, size=size) for name, size in sizes.items()),
        output=plain_indices("B", "G", "K", *places),
        inputs=(
            InputIndices(operand="W", indices=plain_indices("G", "C", "K", *elements)),
            InputIndices(operand="I", indices=image),
        ),
    )

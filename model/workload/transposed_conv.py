"""The loop nests of transposed convolutions, one for all outputs that sum equally many products.

A transposed convolution adds ``I[i] * W[f]`` to ``O[stride * i + dilation * f - before]``. Seen
from an output, the remainder of ``o + before`` by the stride (its *phase*) decides which kernel
elements reach it: ``f0, f0 + p, f0 + 2p ...`` for ``p`` phases that any element reaches. So each
phase is a convolution of stride 1 with part of the kernel (sub-pixel decomposition). Phases with
equally many kernel elements and outputs form one nest, with a loop ``PX`` over the phases that
indexes weights and outputs but not the input: ``O[b][g][k][py][oy][px][ox] +=
W[g][c][k][py][fy][px][fx] * I[b][g][c][iy][ix]``.

An axis has one nest if the stride divides kernel and output, otherwise up to four. The kernel is
not padded, and no product counts twice. As in convolutions, products with zeros around the input
count; products for cropped outputs do not.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from math import gcd
from typing import Final

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.dims import Dimension, Loop
from nestmap.model.units import Size
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.loop_nests import Channels, InputIndices, LoopNest, plain_indices

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

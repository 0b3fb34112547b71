"""The loop nests of convolutions and matrix products: loops and operand indices.

Convolutions, with ``K`` and ``C`` counted per group: ``O[b][g][k][oy][ox] += W[g][k][c][fy][fx] *
I[b][g][c][iy][ix]``; for transposed convolutions see :mod:`nestmap.model.workload.transposed_conv`.
Matrix products, whose stacks have the batch axes ``B``, ``H`` and, further in, ``B3``, ``B4``:
``O[..][d][k] += I[..][d][c] * W[..][c][k]``.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.dims import Dimension, LayerOperand, Loop
from nestmap.model.units import Size
from nestmap.model.workload.affine import AffineIndex, Term

Indices = tuple[AffineIndex, ...]


class InputIndices(Frozen, frozen=True):
    """The indices of one input."""

    operand: LayerOperand
    indices: Indices


class LoopNest(Frozen, frozen=True):
    """Loops and operand indices of a layer, without names and precisions."""

    loops: tuple[Loop, ...]
    output: Indices
    inputs: tuple[InputIndices, ...]


class Axis(Frozen, frozen=True):
    """One spatial axis: input and kernel size, stride, dilation, and padding on both sides."""

    letter: str = Field(pattern="^[XYZ]$")
    input: Size
    kernel: Size = 1
    stride: Size = 1
    dilation: Size = 1
    padding: tuple[int, int] = (0, 0)

    @property
    def span(self) -> int:
        """Input elements from the first to the last that the kernel covers."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def output_size(self) -> int:
        """Output size: positions of the kernel."""
        return (self.input + sum(self.padding) - self.span) // self.stride + 1

    @property
    def index(self) -> AffineIndex:
        """The affine input index over output position and kernel element."""
        return AffineIndex(
            name=f"I{self.letter}",
            terms=(
                Term(dimension=f"O{self.letter}", coefficient=self.stride),
                Term(dimension=f"F{self.letter}", coefficient=self.dilation),
            ),
            size=self.input,
            padding=self.padding,
        )


class Channels(Frozen, frozen=True):
    """Batch, groups, and the channels of one group."""

    batch: Size = 1
    groups: Size = 1
    outputs: Size
    inputs: Size


def plain_indices(*names: Dimension) -> Indices:
    """Indices that are single loop dimensions."""
    return tuple(AffineIndex(terms=(Term(dimension=name),)) for name in names)


def convolution(axes: Sequence[Axis], channels: Channels) -> LoopNest:
    """The nest of a convolution; axes are ordered from the outermost (depth) to the width."""
    outputs = {f"O{axis.letter}": axis.output_size for axis in axes}
    kernels = {f"F{axis.letter}": axis.kernel for axis in axes}
    outer = {"B": channels.batch, "K": channels.outputs, "G": channels.groups}
    loops = [*outer.items(), *reversed(outputs.items()), ("C", channels.inputs)]
    loops.extend(reversed(kernels.items()))
    image = (*plain_indices("B", "G", "C"), *(axis.index for axis in axes))
    return LoopNest(
        loops=tuple(Loop(dimension=name, size=size) for name, size in loops),
        output=plain_indices("B", "G", "K", *outputs),
        inputs=(
            InputIndices(operand="W", indices=plain_indices("G", "K", "C", *kernels)),
            InputIndices(operand="I", indices=image),
        ),
    )


def gathered_convolution(axes: Sequence[Axis], channels: Channels) -> LoopNest:
    """The nest of a convolution that reads a separate input for each output and kernel element.

    There is no input reuse: ``I[b][g][c][fy][fx][oy][ox]``.
    """
    nest = convolution(axes, channels)
    columns = [f"{kind}{axis.letter}" for kind in "FO" for axis in axes]
    weights, _ = nest.inputs
    gathered = InputIndices(operand="I", indices=plain_indices("B", "G", "C", *columns))
    return LoopNest(loops=nest.loops, output=nest.output, inputs=(weights, gathered))


def with_channels_last(nest: LoopNest, axes: int) -> LoopNest:
    """The nest of a convolution along so many axes for images with their channels behind these."""

    def moved(indices: Indices) -> Indices:
        return (*indices[:1], *indices[-axes:], *indices[1:-axes])

    weights, image = nest.inputs
    image = InputIndices(operand=image.operand, indices=moved(image.indices))
    return LoopNest(loops=nest.loops, output=moved(nest.output), inputs=(weights, image))


def matrix_product(
    sizes: Mapping[Dimension, int], left: Sequence[int], right: Sequence[int]
) -> LoopNest:
    """The nest of a product of two stacks of matrices.

    Args:
        sizes: rows ``D`` of the left matrix, columns ``K`` of the right one, ``C`` inner elements.
        left: batch axes of the left stack. The batch axes of both stacks are aligned at their ends;
            a missing axis, or one of size 1, is broadcast: the operand is reused along it.
        right: batch axes of the right stack.
    """
    rank = max(len(left), len(right))
    pairs = zip(_pad_rank(left, rank), _pad_rank(right, rank), strict=True)
    stack = dict(zip(batch_names(rank), (b if a == 1 else a for a, b in pairs), strict=True))
    loops = {"C": sizes["C"], "D": sizes["D"], "K": sizes["K"]} | stack
    return LoopNest(
        loops=tuple(Loop(dimension=name, size=size) for name, size in loops.items()),
        output=plain_indices(*stack, "D", "K"),
        inputs=(
            InputIndices(
                operand="I", indices=plain_indices(*_own_dimensions(left, stack), "D", "C")
            ),
            InputIndices(
                operand="W", indices=plain_indices(*_own_dimensions(right, stack), "C", "K")
            ),
        ),
    )


def with_right_first(nest: LoopNest) -> LoopNest:
    """The nest of a matrix product for matrices that are given as their transposes.

    With the right matrix in place of the left one, it is the same product: the transpose of
    ``A B`` is that of ``B`` times that of ``A``.
    """
    inputs = tuple(_transposed(x) for x in nest.inputs)
    return LoopNest(loops=nest.loops, output=_swapped(nest.output), inputs=inputs)


def with_right_transposed(nest: LoopNest) -> LoopNest:
    """The nest of a matrix product with the transpose of the right one, as of queries and keys."""
    left, right = nest.inputs
    return LoopNest(loops=nest.loops, output=nest.output, inputs=(left, _transposed(right)))


def _transposed(given: InputIndices) -> InputIndices:
    return InputIndices(operand=given.operand, indices=_swapped(given.indices))


def _swapped(indices: Indices) -> Indices:
    return (*indices[:-2], indices[-1], indices[-2])


def _pad_rank(sizes: Sequence[int], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(sizes)) + tuple(sizes)


def batch_names(count: int) -> tuple[Dimension, ...]:
    """The dimension names of ``count`` batch axes, outermost first."""
    return ("B", "H", *(f"B{i}" for i in range(3, count + 1)))[:count]


def _own_dimensions(sizes: Sequence[int], stack: Mapping[Dimension, int]) -> tuple[Dimension, ...]:
    """The batch dimensions that an input has itself; it is broadcast along the others."""
    names = tuple(stack)[len(stack) - len(sizes) :]
    return tuple(name for name, n in zip(names, sizes, strict=True) if n == stack[name])

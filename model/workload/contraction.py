"""The loop nest of a contraction (Einstein sum) of two tensors."""

from collections.abc import Mapping, Sequence

from nestmap.model.dims import Dimension, Loop
from nestmap.model.workload.loop_nests import InputIndices, LoopNest, batch_names, plain_indices

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

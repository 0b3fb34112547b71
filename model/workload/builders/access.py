"""The loop nests of operators whose output has the sizes of their first input."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model.dims import Loop
from nestmap.model.workload.access import InputAccess, VectorNest
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.loop_nests import batch_names

Sizes = Sequence[int]


def elementwise_nest(output: Sizes, inputs: Sequence[Sizes], *, rows: bool = False) -> VectorNest:
    """The nest of an element-wise operator or, with ``rows``, of a row-wise one.

    Smaller inputs are broadcast; an input that does not fit is read as a whole.

    Args:
        output: the sizes of the output.
        inputs: the sizes of the inputs.
        rows: whether each element depends on all elements along the last axis.
    """
    rank = len(output)
    names = (*batch_names(max(0, rank - 2)), *("D", "K")[max(0, 2 - rank) :])
    indices = tuple(AffineIndex(terms=(Term(dimension=name),)) for name in names)
    return VectorNest(
        loops=tuple(Loop(dimension=d, size=n) for d, n in zip(names, output, strict=True)),
        output=indices,
        inputs=tuple(_access(indices, output, sizes, rows) for sizes in inputs),
    )


def _access(
    indices: Sequence[AffineIndex], output: Sizes, sizes: Sizes, rows: bool
) -> InputAccess | None:
    missing = len(output) - len(sizes)
    if missing < 0 or any(n not in (1, m) for n, m in zip(sizes, output[missing:], strict=True)):
        return None
    last = len(sizes) - 1
    axes = tuple(
        None if n != output[missing + axis] or (rows and axis == last) else indices[missing + axis]
        for axis, n in enumerate(sizes)
    )
    return InputAccess(axes=axes)

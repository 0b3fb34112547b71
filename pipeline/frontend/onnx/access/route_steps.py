"""Routes and their steps, those left out that change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nestmap.model.workload.access import (
    AnyIndex,
    Anywhere,
    Permuted,
    Repeated,
    Reshaped,
    Route,
    Shifted,
    Step,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import read

Steps = tuple[Step, ...]


def reshaped(before: Sizes, after: Sizes) -> Steps:
    """The same elements, in row-major order."""
    return () if before == after else (Reshaped(sizes=after),)


def permuted(order: Sequence[int]) -> Steps:
    """Back from a tensor whose axis ``i`` was axis ``order[i]``."""
    back = tuple(order.index(axis) for axis in range(len(order)))
    return () if back == tuple(range(len(back))) else (Permuted(axes=back),)


def shifted(axis: int, lengths: tuple[int, int], start: int, step: int = 1) -> Steps:
    """Along an axis, whose lengths before and after this step are given."""
    before, after = lengths
    if before == after and (start, step) == (0, 1):
        return ()
    return (Shifted(axis=axis, start=start, step=step, size=after),)


def resized(before: Sizes, after: Sizes, free: Iterable[int] = ()) -> Steps:
    """The same indices, of axes that are longer or shorter; any along those that are free."""
    anywhere = frozenset(free)
    return tuple(_resized(before, after, anywhere))


def _resized(before: Sizes, after: Sizes, free: frozenset[int]) -> Iterator[Step]:
    for axis, lengths in enumerate(zip(before, after, strict=True)):
        if axis in free:
            yield AnyIndex(axis=axis, size=lengths[1])
        else:
            yield from shifted(axis, lengths, 0)


def single(sizes: Sizes, axes: Iterable[int]) -> Steps:
    """The first element along some axes, whichever comes before."""
    return tuple(Repeated(axis=axis, size=1) for axis in axes if sizes[axis] != 1)


def without(sizes: Sizes, axes: Iterable[int]) -> Steps:
    """To a tensor that does not have some of the axes."""
    lost = frozenset(axes)
    ones = tuple(1 if axis in lost else size for axis, size in enumerate(sizes))
    kept = tuple(size for axis, size in enumerate(sizes) if axis not in lost)
    return (*single(sizes, sorted(lost)), *reshaped(ones, kept))


def route(position: int, *steps: Steps, output: int = 0) -> Route:
    """A route to an input of the ONNX node from one of its outputs."""
    return Route(output=output, input=position, steps=tuple(x for part in steps for x in part))


def anywhere(reader: NodeReader, position: int, output: int = 0) -> Route:
    """Any element may depend on any of that input.

    Raises:
        InputError: where its sizes are not known.
    """
    return route(position, (Anywhere(sizes=read(reader, position)),), output=output)


def parameters(reader: NodeReader, *positions: int) -> Iterator[Route]:
    """Routes to the inputs that say how the data moves, unless that is known beforehand.

    Raises:
        InputError: where their sizes are not known.
    """
    for position in positions:
        if reader.has(position) and not reader.tensor(position).constant:
            for output, name in enumerate(reader.node.proto.output):
                if name:
                    yield anywhere(reader, position, output)

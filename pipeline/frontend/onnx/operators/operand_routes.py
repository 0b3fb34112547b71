"""Determines the routes of data movement within an array operator."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from nestmap.model.workload.access import (
    AccessRoute,
    AccessStep,
    AnyElement,
    AnyIndex,
    Permute,
    Repeat,
    Reshape,
    Shift,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import input_sizes

# --- builds routes from steps and omits steps without effect ---

Steps = tuple[AccessStep, ...]


def reshape_step(before: Sizes, after: Sizes) -> Steps:
    """The same elements in row-major order."""
    return () if before == after else (Reshape(sizes=after),)


def permute_step(order: Sequence[int]) -> Steps:
    """The step back from a tensor whose axis ``i`` was axis ``order[i]``."""
    back = tuple(order.index(axis) for axis in range(len(order)))
    return () if back == tuple(range(len(back))) else (Permute(axes=back),)


def shift_step(axis: int, lengths: tuple[int, int], start: int, step: int = 1) -> Steps:
    """A shift along an axis; ``lengths`` are its sizes before and after the step."""
    before, after = lengths
    if before == after and (start, step) == (0, 1):
        return ()
    return (Shift(axis=axis, start=start, step=step, size=after),)


def resize_steps(before: Sizes, after: Sizes, free: Iterable[int] = ()) -> Steps:
    """The same indices along axes of other lengths; any index along the ``free`` axes."""
    anywhere = frozenset(free)
    return tuple(_resized(before, after, anywhere))


def _resized(before: Sizes, after: Sizes, free: frozenset[int]) -> Iterator[AccessStep]:
    for axis, lengths in enumerate(zip(before, after, strict=True)):
        if axis in free:
            yield AnyIndex(axis=axis, size=lengths[1])
        else:
            yield from shift_step(axis, lengths, 0)


def single(sizes: Sizes, axes: Iterable[int]) -> Steps:
    """The single element along some axes, for any index."""
    return tuple(Repeat(axis=axis, size=1) for axis in axes if sizes[axis] != 1)


def drop_axes(sizes: Sizes, axes: Iterable[int]) -> Steps:
    """The steps to a tensor without some of the axes."""
    lost = frozenset(axes)
    ones = tuple(1 if axis in lost else size for axis, size in enumerate(sizes))
    kept = tuple(size for axis, size in enumerate(sizes) if axis not in lost)
    return (*single(sizes, sorted(lost)), *reshape_step(ones, kept))


def route(position: int, *steps: Steps, output: int = 0) -> AccessRoute:
    """A route from an output of the ONNX node to one of its inputs."""
    return AccessRoute(
        output=output, input=position, steps=tuple(x for part in steps for x in part)
    )


def anywhere(reader: NodeReader, position: int, output: int = 0) -> AccessRoute:
    """A route along which any element may depend on any element of the input.

    Raises:
        InputError: if the sizes of the input are unknown.
    """
    return route(position, (AnyElement(sizes=input_sizes(reader, position)),), output=output)


def parameters(reader: NodeReader, *positions: int) -> Iterator[AccessRoute]:
    """Routes to the inputs that control the movement, unless they are constant.

    Raises:
        InputError: if their sizes are unknown.
    """
    for position in positions:
        if reader.has(position) and not reader.tensor(position).constant:
            for output, name in enumerate(reader.node.proto.output):
                if name:
                    yield anywhere(reader, position, output)


Routes = tuple[AccessRoute, ...]


def concat_routes(axis: int, parts: Sequence[Sizes | None]) -> Routes | None:
    """The routes of a concatenation; ``None`` if sizes are unknown or do not match.

    A tensor ``[batch, length, heads * size]`` counts as ``[batch, heads, length, size]``.
    """
    known = [part for part in parts if part is not None]
    four = next((part for part in known if len(part) == 4), None)
    whole = [part if four is None else _with_heads(part, four) for part in known]
    lengths = [part[axis] for part in whole if len(part) > axis]
    if len(lengths) < len(parts) or len({len(part) for part in whole}) > 1:
        return None
    ends = list(accumulate(lengths, initial=0))
    return tuple(
        route(i, shift_step(axis, (ends[-1], part[axis]), -ends[i]), _without_heads(part, known[i]))
        for i, part in enumerate(whole)
    )


def _with_heads(part: Sizes, like: Sizes) -> Sizes:
    if len(part) != 3 or part[2] != like[1] * like[3]:
        return part
    return (part[0], like[1], part[1], like[3])


def _without_heads(part: Sizes, flat: Sizes) -> Steps:
    if part == flat:
        return ()
    batch, heads, length, size = part
    return (*permute_step((0, 2, 1, 3)), *reshape_step((batch, length, heads, size), flat))


def interleave_routes(output: Sizes | None, parts: Sequence[tuple[Sizes, Sizes]]) -> Routes | None:
    """The routes of images whose pixels are interleaved, with any pixel as the source of any other.

    Args:
        output: the sizes of batch, channels and spatial axes.
        parts: the sizes of each image's tensor, and its sizes along the output's spatial axes.
    """
    if output is None:
        return None
    return tuple(route(i, _pixels(output, *part)) for i, part in enumerate(parts))


def _pixels(output: Sizes, tensor: Sizes, spatial: Sizes) -> Steps:
    anywhere = tuple(AnyIndex(axis=axis, size=size) for axis, size in enumerate(spatial, 2))
    return (*anywhere, *reshape_step((*output[:2], *spatial), tensor))


def transpose_routes(axes: Sequence[str], output: Sequence[str]) -> Routes:
    """The route of a transposition.

    Args:
        axes: the names of the input's axes.
        output: the same names in the order of the output.
    """
    return (route(0, permute_step([axes.index(axis) for axis in output])),)

"""Determines the routes of data movement within an array operator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from nestmap.model.workload.access import AccessRoute, AnyIndex
from nestmap.pipeline.frontend.onnx.access.route_steps import (
    Steps,
    permute_step,
    reshape_step,
    route,
    shift_step,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes

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

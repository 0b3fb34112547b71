"""Builds the error about unknown sizes that the array needs."""

from collections.abc import Sequence
from typing import Final

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.dims import free_dimensions
from nestmap.pipeline.frontend.onnx.load.shapes import UnknownSizesError, shape_text, tensor_facts
from nestmap.pipeline.frontend.onnx.load.skeleton import Skeleton
from nestmap.pipeline.frontend.onnx.resolve.resolve import ResolvedGraph

_SHOWN: Final = 5


def unknown_sizes_error(
    errors: Sequence[UnknownSizesError], graph: ResolvedGraph, small: Skeleton, where: str
) -> InputError:
    """One error that lists the tensors, the first operator to blame and the dimensions to set."""
    places = [f"{error.where.removeprefix(f'{where}: ')}: {error.found}" for error in errors]
    more = f"; and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    found = f"unknown sizes that the array needs: {'; '.join(places[:_SHOWN])}{more}"
    blocker = _blocker(graph)
    if blocker:
        found += f" (the first operator that leaves a size open is {blocker})"
    return InputError(where, found, _remedy(free_dimensions(small.model.graph, small.constants)))


def _remedy(free: Sequence[str]) -> str:
    if not free:
        return "a size for every dimension: export with fixed shapes or add value_info entries"
    shown = " ".join(f"--dim {name}=..." for name in free[:_SHOWN])
    more = f" and so on ({len(free)} dimensions)" if len(free) > _SHOWN else ""
    return f"sizes for the network's symbolic dimensions: {shown}{more}"


def _blocker(graph: ResolvedGraph) -> str:
    """The first node with an output of unknown size although all its inputs are known."""
    known = graph.known
    for node in graph.nodes:
        if all(known.is_known(name) for name in node.reads):
            for name in filter(None, node.proto.output):
                if not known.is_known(name):
                    shape = tensor_facts(known.types[name]).shape if name in known.types else None
                    sizes = "no shape" if shape is None else f"shape {shape_text(shape)}"
                    return f"{node}: output {name!r} has {sizes}"
    return ""

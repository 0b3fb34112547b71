"""Converts an ONNX model into a workload."""

import gc
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Final

import onnx
from pydantic import ValidationError

from nestmap.model import InputError, NoCostNode, Tensor, Workload
from nestmap.model.errors import violation, warn_of_input
from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.onnx.densities import with_measured_densities
from nestmap.pipeline.frontend.onnx.load.dims import free_dimensions, set_dimensions
from nestmap.pipeline.frontend.onnx.load.functions import inline_functions
from nestmap.pipeline.frontend.onnx.load.input_values import set_values
from nestmap.pipeline.frontend.onnx.load.onnx_file import load_model
from nestmap.pipeline.frontend.onnx.load.opsets import as_text
from nestmap.pipeline.frontend.onnx.load.shapes import (
    UNSTATED,
    Sizes,
    UnknownSizesError,
    shape_text,
    tensor_facts,
)
from nestmap.pipeline.frontend.onnx.load.skeleton import Skeleton, skeleton
from nestmap.pipeline.frontend.onnx.node.broadcast_axes import repeated_axes
from nestmap.pipeline.frontend.onnx.node.equal_steps import with_steps
from nestmap.pipeline.frontend.onnx.node.reader import GraphFacts, NodeReader
from nestmap.pipeline.frontend.onnx.operators.convert import converted
from nestmap.pipeline.frontend.onnx.operators.registry import operator_of
from nestmap.pipeline.frontend.onnx.resolve.precision import tensor_precisions
from nestmap.pipeline.frontend.onnx.resolve.resolve import ResolvedGraph, resolve_graph
from nestmap.pipeline.frontend.onnx_bytes import InputValue, default_name


def parse_onnx(  # noqa: PLR0913 (keywords of the single entry point)
    source: Path | onnx.ModelProto,
    *,
    name: str | None = None,
    dims: Mapping[str, int] | None = None,
    float_bits: int = UNSTATED,
    where: str | None = None,
    measures_density: bool = False,
    values: Mapping[str, InputValue] | None = None,
    trust_shapes: bool = False,
) -> Workload:
    """The workload of an ONNX model: layers, vector operators and data movement.

    Missing shapes are inferred. The data of weights is not kept. The bits per
    element follow from the types of tensors and from QuantizeLinear and DequantizeLinear around
    them; integer attributes of a node override them: ``weight_size`` for ``W``, ``act_size`` for
    ``I`` and the final ``O``, ``output_size`` for partial sums of ``O`` (default: 32 for quantized
    inputs, else twice the bits of activations and at most 32). Biases, such as ``C`` of a Gemm, and
    what computes them are left out.

    Args:
        source: a file or a model, left unchanged.
        name: the name of the workload (default: the name of the file or of the graph).
        dims: sizes of symbolic dimensions by name (``batch``), or by graph input and axis
            (``x[0]``) for dimensions without a name.
        float_bits: the bits counted for a float32 or float64 element: frameworks export networks
            in these types whatever precision they run in.
        where: the name of the model in messages (default: that of the file or of the graph).
        measures_density: whether to count the zeros of constants, whose data is needed then.
        values: the values of inputs that decide what runs, such as a condition: ``{"n": 12}``.
        trust_shapes: whether shapes are as the model states them where others follow.

    Raises:
        InputError: if the file or the model is invalid; the error names node and tensor.
    """
    if float_bits < 1:
        raise InputError("float_bits", str(float_bits), "at least 1 bit")
    own_label, default = _labels(source)
    where = own_label if where is None else where
    with _collector_paused():
        whole = load_model(source, where) if isinstance(source, Path) else source
        small = skeleton(whole, where)
        model = inline_functions(small.model, where)
        set_dimensions(model, small.constants, dims or {}, where)
        small = replace(small, model=model, trusts_shapes=trust_shapes)
        small = set_values(small, values or {}, where)
        made = _workload(small, where, name or default, float_bits)
        return with_measured_densities(made, whole, where) if measures_density else made


@contextmanager
def _collector_paused() -> Generator[None]:
    """Pauses garbage collection, which doubles the time of large graphs and frees nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _labels(source: Path | onnx.ModelProto) -> tuple[str, str]:
    """The name of the model in messages, and the default name of its workload."""
    if isinstance(source, Path):
        return str(source), default_name(source)
    name = as_text(source.graph.name) or "onnx"
    return f"model {name!r}", name


def _workload(small: Skeleton, where: str, name: str, float_bits: int) -> Workload:
    graph = resolve_graph(small, where)
    tensors = {name: tensor_facts(kind) for name, kind in graph.known.types.items()}
    outputs = [value.name for value in small.model.graph.output]
    precisions = tensor_precisions(graph.nodes, tensors, outputs, float_bits)
    facts = GraphFacts(
        tensors,
        precisions.bits,
        graph.origins,
        frozenset(node.name for node in graph.nodes),
        precisions.quantized,
        repeated_axes(graph.nodes, tensors, lambda name: operator_of(name).repeats),
        graph.known.values,
        graph.known.version,
        small.trusts_shapes,
    )
    made: list[Node] = []
    steps: dict[str, Sizes] = {}
    unknown: list[UnknownSizesError] = []
    for node in graph.nodes:
        reader = NodeReader(f"{where}: {node}", node, facts)
        parts: tuple[Node, ...] = ()
        try:
            parts = with_steps(reader, converted(reader, graph.constants), steps)
        except UnknownSizesError as error:
            unknown.append(error)
        except ValidationError as error:
            raise reader.error(*violation(error)) from None
        if node.name in graph.contradictions:  # the converter's own message says more
            raise graph.contradictions[node.name].error(reader.where)
        if not parts:
            continue
        made.extend(parts)
        # The last of several nodes computes the outputs of the ONNX node.
        for output in filter(None, node.proto.output):
            graph.origins[output] = replace(graph.origins[output], node=parts[-1].name)
    if unknown:
        raise _unknown_sizes_error(unknown, graph, small, where)
    read = {source for node in made for source in node.sources}
    given = dict.fromkeys(graph.origins[x].node for x in outputs if x in graph.origins)
    inner = tuple(node for node in given if node is not None and node in read)
    workload = Workload(name=name, nodes=tuple(made), outputs=inner)
    _warn_of_uncounted(workload, where)
    return workload


def _warn_of_uncounted(workload: Workload, where: str) -> None:
    """Warns of unrecognized operators that seem to compute, with their share of the weights."""
    missing = workload.uncounted_operators
    if not missing:
        return
    stored = {x.name: (n, x) for n in workload.nodes for x in _constants(n)}
    left_out = sum(
        prod(x.sizes or ())
        for n, x in stored.values()
        if isinstance(n, NoCostNode) and n.seems_to_multiply
    )
    share = left_out / max(1, sum(prod(x.sizes or ()) for _, x in stored.values()))
    counted = ", ".join(f"{name} ({n})" for name, n in sorted(missing.items()))
    found = f"unrecognized operators with {share:.1%} of the parameters: {counted}"
    warn_of_input(where, found, "operators that nestmap computes: all totals are without them")


def _constants(node: Node) -> Iterator[Tensor]:
    """What a node reads that is known before the network runs."""
    return (tensor for tensor in node.inputs if tensor.constant)


# --- the error about unknown sizes that the array needs ---

_SHOWN: Final = 5


def _unknown_sizes_error(
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

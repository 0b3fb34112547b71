"""Converts ONNX nodes to nodes of the workload, as the records of their operators say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from nestmap.model import InputError, NoCostNode, Tensor, VectorNode
from nestmap.model.base import copy_with
from nestmap.model.workload.access import AccessRoute, VectorNest
from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import output_sizes
from nestmap.pipeline.frontend.onnx.operators.axis_reads import Axes, ReadRule, vector_nest
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Movement, RouteRule, Vector
from nestmap.pipeline.frontend.onnx.operators.registry import operator_of


def converted(reader: NodeReader, constants: frozenset[str]) -> tuple[Node, ...]:
    """Converts an ONNX node to nodes of the workload.

    Args:
        reader: the ONNX node.
        constants: the tensors that are known before the network runs.

    Raises:
        InputError: if shapes or attributes do not match.
    """
    outputs = [name for name in reader.node.proto.output if name]
    computed = bool(outputs) and constants.issuperset(outputs)
    becomes = operator_of(reader.node.operator).becomes
    match becomes:
        case Layers():
            return becomes.convert(reader)
        case Vector() if not computed:
            node = _vector_node(reader, becomes)
            return (_without_cost(reader, known=True),) if node is None else (node,)
        case _:
            known = computed or becomes is not None
            rule = becomes.routes if isinstance(becomes, Movement) else None
            routes = () if computed else _routes(reader, rule)
            return (_without_cost(reader, known=known, routes=routes),)


def _without_cost(
    reader: NodeReader, *, known: bool, routes: tuple[AccessRoute, ...] | None = None
) -> NoCostNode:
    return NoCostNode(
        name=reader.node.name,
        operator=reader.node.operator,
        sources=reader.sources,
        inputs=reader.inputs,
        outputs=reader.outputs,
        known=known,
        routes=routes,
    )


# --- vector work ---


def _vector_node(reader: NodeReader, vector: Vector) -> VectorNode | None:
    """The node of a vector operator.

    ``None`` if a tensor has an unknown size, or if nothing is computed when the network runs: there
    are no elements, or all inputs are constants.
    """
    inputs, outputs = reader.inputs[: vector.operands], reader.outputs
    if not outputs or all(tensor.constant for tensor in inputs):
        return None
    if any(tensor.sizes is None for tensor in (*inputs, *outputs)):
        return None
    work = vector.work(reader)
    if 0 in work.iterations:
        return None
    return VectorNode(
        name=reader.node.name,
        operator=reader.node.operator,
        sources=reader.sources,
        iterations=work.iterations,
        operations=work.operations,
        inputs=inputs,
        outputs=outputs,
        nest=_nest(reader, vector.reads, inputs),
    )


def _nest(
    reader: NodeReader, rule: ReadRule | None, tensors: Sequence[Tensor]
) -> VectorNest | None:
    """The nest of a node; ``None`` if an output element may need all elements of the inputs.

    If attributes are inconsistent, the model is still parsed, and the reads are unknown.

    Args:
        reader: the ONNX node, with known sizes.
        rule: the reads of its operator.
        tensors: the inputs of the nest.
    """
    if rule is None:
        return None
    try:
        output, reads = output_sizes(reader), rule(reader)
        return vector_nest(output, reads, tuple(_accesses(reader, reads.inputs, tensors)))
    except (InputError, ValueError, LookupError):  # inconsistent shapes
        return None


def _accesses(
    reader: NodeReader, inputs: Mapping[int, Axes], tensors: Sequence[Tensor]
) -> Iterator[Axes | None]:
    """The indices of each tensor, which may be several inputs of the node at once.

    Raises:
        ValueError: if a rule is for another number of axes.
    """
    ways = dict[str, list[Axes | None]]()
    for position, name in enumerate(reader.node.proto.input):
        ways.setdefault(name, []).append(inputs.get(position))
    for tensor in tensors:
        axes = _joined(ways[tensor.name])
        if axes is not None and len(axes) != len(tensor.sizes or ()):
            raise ValueError(
                f"indices {axes} of a tensor {tensor.sizes}; expected one for each axis"
            )
        yield axes


def _joined(ways: Sequence[Axes | None]) -> Axes | None:
    """The union of several reads: an axis that they index differently is read whole."""
    known = [axes for axes in ways if axes is not None]
    if len(known) < len(ways):
        return None
    return tuple(same[0] if len({*same}) == 1 else None for same in zip(*known, strict=True))


# --- data movement ---


def _routes(reader: NodeReader, rule: RouteRule | None) -> tuple[AccessRoute, ...] | None:
    """The routes of a node; ``None`` if the elements of its outputs may come from anywhere.

    Positions refer to ``reader.inputs`` and ``reader.outputs``.
    """
    if rule is None:
        return None
    try:
        return tuple(_placed(reader, rule(reader)))
    except (InputError, ValueError, LookupError):  # inconsistent shapes
        return None


def _placed(reader: NodeReader, routes: Iterable[AccessRoute]) -> Iterator[AccessRoute]:
    """The routes with positions among the tensors that are present, without duplicates.

    Raises:
        ValueError: if a route does not match the sizes of its output and input.
    """
    places = {name: i for i, name in enumerate(reader.node.reads)}
    read = [places.get(name, -1) for name in reader.node.proto.input]
    made = list(accumulate(map(bool, reader.node.proto.output), initial=0))
    inputs, outputs = reader.inputs, reader.outputs
    for each in routes:
        place = made[each.output], read[each.input]
        begin, end = outputs[place[0]].sizes, inputs[place[1]].sizes
        if begin is None or end is None or each.input_sizes(begin) != end:
            raise ValueError(f"route {each} from {begin} to {end}; expected matching sizes")
        if place != (each.output, each.input):
            yield copy_with(each, {"output": place[0], "input": place[1]})
        else:
            yield each

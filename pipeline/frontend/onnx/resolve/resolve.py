"""Resolves an ONNX graph to the nodes that run and the known types and values of their tensors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast, final

import onnx
from onnx import helper, inliner

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.graph import (
    GraphNode,
    Names,
    Origin,
    sort_nodes,
    tensor_origins,
)
from nestmap.pipeline.frontend.onnx.load.onnx_file import LIBRARY_ERRORS, is_safe_alone
from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, LARGEST_BLOCK, schema_of
from nestmap.pipeline.frontend.onnx.load.shapes import infer_types
from nestmap.pipeline.frontend.onnx.load.skeleton import Skeleton, all_nodes, subgraphs
from nestmap.pipeline.frontend.onnx.operators.checks import Contradiction
from nestmap.pipeline.frontend.onnx.operators.record import Layers
from nestmap.pipeline.frontend.onnx.operators.registry import operator_of, operators_that_become
from nestmap.pipeline.frontend.onnx.resolve.attributes import check_attributes, check_equations
from nestmap.pipeline.frontend.onnx.resolve.control_flow import EQUAL_STEPS, EXPANSIONS
from nestmap.pipeline.frontend.onnx.resolve.inference import TensorKnowledge
from nestmap.pipeline.frontend.onnx.resolve.inline_subgraphs import (
    Body,
    CannotExpandError,
    Scope,
    identity_nodes,
)
from nestmap.pipeline.frontend.onnx.resolve.statements import take_statements

# --- decomposes operators that ONNX defines by functions of other operators ---

_Builder = Callable[[bytes, Sequence[bytes]], bytes]


def decomposed_nodes(node: GraphNode, scope: Scope) -> Iterator[GraphNode]:
    """The nodes of an operator's definition in the ONNX standard.

    Raises:
        CannotExpandError: if the operator has no definition, or one without array operators.
    """
    if any(True for _ in subgraphs(node.proto)):
        raise CannotExpandError("a body that runs an unknown number of times", "one run")
    function = _definition(node, scope)
    array = operators_that_become(Layers)
    if not any(inner.op_type in array for inner in all_nodes(function)):
        raise CannotExpandError("no operators of the array", "operators of the array")
    graph = _opened(node, function)
    bound = {value.name: value.name for value in graph.input}
    nodes, outputs = Body(graph, scope).inline(f"{node.name}/", bound)
    # ONNX defines them, so they fit together, in whatever version of their operators.
    yield from (replace(inner, synthetic=True) for inner in nodes)
    yield from identity_nodes(node, node.proto.output, outputs, scope)


def _definition(node: GraphNode, scope: Scope) -> onnx.FunctionProto:
    """The definition; without nodes if there is none."""
    schema = schema_of(node.proto, scope.known.opsets)
    if schema is None or schema.function_body.node:
        return onnx.FunctionProto() if schema is None else schema.function_body
    if not scope.known.is_valid(node):
        return onnx.FunctionProto()
    types = [scope.known.types.get(name, onnx.TypeProto()) for name in node.proto.input]
    values = [kind.SerializeToString() for kind in types]
    # Some definitions depend on attributes and types. (The inliner would build them itself, but
    # fails if an input is left out.)
    build = cast("_Builder", schema.get_context_dependent_function)  # type: ignore[attr-defined]
    try:
        return onnx.FunctionProto.FromString(build(node.proto.SerializeToString(), values))
    except LIBRARY_ERRORS:
        return onnx.FunctionProto()


def _opened(node: GraphNode, function: onnx.FunctionProto) -> onnx.GraphProto:
    """The definition, inlined with the inputs, outputs and attributes of the node."""
    names = dict.fromkeys(filter(None, node.proto.input))
    graph = helper.make_graph(
        [node.proto],
        "definition",
        [onnx.ValueInfoProto(name=name) for name in names],
        [onnx.ValueInfoProto(name=name) for name in node.proto.output],
    )
    versions = {entry.domain: entry.version for entry in function.opset_import}
    versions.setdefault(node.proto.domain, 1)
    opsets = [helper.make_opsetid(*entry) for entry in versions.items()]
    model = helper.make_model(graph, functions=[function], opset_imports=opsets)
    try:
        return inliner.inline_local_functions(model).graph
    except LIBRARY_ERRORS as error:
        raise CannotExpandError(str(error), "a node that fits its definition") from None


# --- finds nodes on which inference of a whole graph crashes the onnx library ---

_CHECKED: Final = frozenset({"EyeLike", "RegexFullMatch", "GatherND", "Slice"})


def is_safe_in_graph(node: onnx.NodeProto) -> bool:
    """Whether inference of a whole graph handles the node, whatever its inputs are.

    Only the inference of a single node includes the library's own checks. Without them, operators
    outside the standard domain and some inside it crash the library if their inputs are unknown or
    a size is negative.
    """
    inside = [inner for body in subgraphs(node) for inner in all_nodes(body)]
    return not any(
        part.domain or part.op_type in _CHECKED or not is_safe_alone(part)
        for part in (node, *inside)
    )


# --- takes from stored weights the channels that fill blocks ---


def trim_blocks(graph: onnx.GraphProto) -> None:
    """Takes from stored weights the outputs that only fill the last block of channels.

    The node that leaves the layout states how many there are.
    """
    makers = {name: node for node in graph.node for name in node.output}
    stored = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if (node.domain, node.op_type) != (BLOCKED, "ReorderOutput"):
            continue
        channels = next((x.i for x in node.attribute if x.name == "channels"), 0)
        conv = _convolution_before(node, makers)
        for tensor in (stored[name] for name in conv.input[1:3] if name in stored):
            if tensor.dims and 0 < tensor.dims[0] - channels < LARGEST_BLOCK and channels > 0:
                tensor.dims[0] = channels


def _convolution_before(
    node: onnx.NodeProto, makers: Mapping[str, onnx.NodeProto]
) -> onnx.NodeProto:
    """The convolution in one group that makes what a node reads, possibly through pooling.

    A node without inputs if there is none.
    """
    nothing = onnx.NodeProto()
    maker = makers.get(next(iter(node.input), ""), nothing)
    while maker.domain == BLOCKED and maker.op_type.endswith("Pool"):  # the graph has no cycles
        maker = makers.get(next(iter(maker.input), ""), nothing)
    grouped = any(x.name == "group" and x.i > 1 for x in maker.attribute)
    return maker if (maker.domain, maker.op_type) == (BLOCKED, "Conv") and not grouped else nothing


# --- resolves an ONNX graph to the nodes that run, with the types and values of their tensors ---

_STORED: Final = "the stored tensor"


@final
@dataclass(frozen=True)
class ResolvedGraph:
    """Nodes in topological order, with If, Loop and Scan expanded where possible.

    ``constants`` are the tensors known before the network runs, stored or computed.
    """

    nodes: tuple[GraphNode, ...]
    known: TensorKnowledge
    origins: dict[str, Origin]
    constants: frozenset[str]

    @property
    def contradictions(self) -> Mapping[str, Contradiction]:
        """What is wrong with nodes, by name."""
        return self.known.contradictions


@final
@dataclass
class _Frame:
    """The remaining nodes of an expansion, the node they replace, and where they start.

    ``otherwise`` are the nodes that replace it if these cannot; ``reason``: why others could not.
    """

    nodes: Iterator[GraphNode]
    replaced: GraphNode | None
    start: int
    otherwise: Iterator[GraphNode] | None = None
    reason: str = ""


def resolve_graph(small: Skeleton, where: str) -> ResolvedGraph:
    """Resolves a model to the nodes that run.

    Operators that nestmap does not know are replaced by their ONNX definition if it contains
    operators of the array. Shapes are inferred, and small constant tensors are computed, which
    gives the sizes and conditions that depend on them.

    Args:
        small: the model.
        where: the model, for messages.

    Raises:
        InputError: if the graph cannot run, or it is unknown how often operators of the array run.
    """
    graph = small.model.graph
    nodes = sort_nodes(graph.node, where)
    trim_blocks(graph)
    if not nodes:
        raise InputError(where, "a graph without nodes", "an ONNX model with at least one node")
    tensor_origins(graph, nodes, small.constants, where)
    check_equations(nodes, where)
    check_attributes(nodes, small.model.opset_import, where)
    known = _knowledge(small, nodes, where)
    names = Names(node.name for node in nodes)
    tensors = Names(name for node in nodes for name in (*node.reads, *node.proto.output))
    scope = Scope(where, known, names, tensors, set(small.constants))
    made = _expanded(nodes, scope)
    constants = scope.constants | scope.known.values.keys()
    origins = tensor_origins(graph, made, constants, where)
    return ResolvedGraph(tuple(made), scope.known, origins, frozenset(constants))


def _knowledge(small: Skeleton, nodes: Sequence[GraphNode], where: str) -> TensorKnowledge:
    """The types and values from one pass over the graph; the rest is inferred node by node.

    The pass knows nothing of what the model states, which may be false.
    """
    graph = small.model.graph
    stated = take_statements(graph, where, are_trusted=small.trusts_shapes)
    # Inference visits nodes in the given order.
    plain = [node.proto for node in nodes if is_safe_in_graph(node.proto)]
    del graph.node[:]
    graph.node.extend(plain)
    types = infer_types(graph, small.model)
    known = TensorKnowledge(tuple(small.model.opset_import), types, stated)
    for tensor in graph.initializer:
        known.store(tensor, tensor.name)
    _check_sources(graph, known)
    return known


def _check_sources(graph: onnx.GraphProto, known: TensorKnowledge) -> None:
    """Compares what is stated of inputs and stored tensors with their types.

    Raises:
        InputError: if they contradict each other.
    """
    stored, stated = {tensor.name for tensor in graph.initializer}, known.stated
    for value in graph.input:
        if value.name in stored:  # a default that may be replaced
            stated.compare(value.name, value.type, known.types[value.name], _STORED)
        else:
            stated.check_source(value.name, value.type, "the input of the graph")
    for name in sorted(stored & stated.types.keys()):
        stated.check_source(name, known.types[name], _STORED)


def _expanded(nodes: Sequence[GraphNode], scope: Scope) -> list[GraphNode]:
    """The nodes, with nodes that have a body or a definition expanded where possible."""
    made: list[GraphNode] = []
    stack = [_Frame(iter(nodes), None, 0)]
    while stack:
        try:
            _expand(stack, made, scope)
        except InputError as error:  # within one step of many, which may not be equal
            if not any(frame.otherwise for frame in stack):
                raise
            while stack[-1].otherwise is None:
                stack.pop()
            _replace_frame(stack, made, error.found)
    return made


def _expand(stack: list[_Frame], made: list[GraphNode], scope: Scope) -> None:
    """Takes the next node of the innermost expansion."""
    try:
        node = next(stack[-1].nodes, None)
    except CannotExpandError as error:
        _give_up(stack, made, error, scope)
        return
    if node is None:
        stack.pop()
        return
    outer = stack[-1].replaced
    if outer is not None and outer.steps:
        node = replace(node, steps=(*outer.steps, *node.steps))
    if operator_of(node.operator).becomes is not None:
        _take(node, made, scope)
        return
    unrolled = EXPANSIONS.get(node.operator, decomposed_nodes)(node, scope)
    equal = EQUAL_STEPS.get(node.operator)
    if equal is None:
        stack.append(_Frame(unrolled, node, len(made)))
    else:
        stack.append(_Frame(equal(node, scope), node, len(made), unrolled))


def _give_up(
    stack: list[_Frame], made: list[GraphNode], error: CannotExpandError, scope: Scope
) -> None:
    """Expands the node in another way, or keeps it as it is."""
    if stack[-1].otherwise is not None:
        _replace_frame(stack, made, error.found)
        return
    frame = stack.pop()
    del made[frame.start :]
    if frame.replaced is not None:
        if frame.reason not in ("", error.found):
            error = CannotExpandError(f"{error.found} ({frame.reason})", error.expected)
        _keep(frame.replaced, error, scope)
        _take(frame.replaced, made, scope)


def _replace_frame(stack: list[_Frame], made: list[GraphNode], reason: str) -> None:
    frame = stack.pop()
    del made[frame.start :]
    if frame.otherwise is not None:
        stack.append(_Frame(frame.otherwise, frame.replaced, frame.start, reason=reason))


def _take(node: GraphNode, made: list[GraphNode], scope: Scope) -> None:
    if not node.carried:
        scope.known.infer(node)
    scope.makers.update((name, node) for name in node.proto.output)
    made.append(node)


def _keep(node: GraphNode, error: CannotExpandError, scope: Scope) -> None:
    """Checks that a node that cannot be expanded contains no operators of the array."""
    inside = {n.op_type for body in subgraphs(node.proto) for n in all_nodes(body)}
    array = sorted(inside & operators_that_become(Layers))
    if array:
        raise InputError(
            f"{scope.where}: {node}",
            f"{error.found}, with {', '.join(array)} in its body",
            f"{error.expected}, which determines how often they run",
        )

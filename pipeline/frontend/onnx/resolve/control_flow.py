"""Replaces If, Loop and Scan by the nodes that run, if these are known statically."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import onnx
from onnx import helper

from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.resolve.inline_subgraphs import (
    Body,
    CannotExpandError,
    Scope,
    identity_nodes,
)

MOST_ITERATIONS: Final = 1000
"""Loops with more iterations are not unrolled."""

_FIRST_PLAIN_SCAN: Final = 9  # older Scans have a batch axis and sequences of different lengths

Expansion = Callable[[GraphNode, Scope], Iterator[GraphNode]]


def if_nodes(node: GraphNode, scope: Scope) -> Iterator[GraphNode]:
    """The nodes of the branch that an If takes.

    Raises:
        CannotExpandError: if the condition is not known statically.
    """
    condition = node.proto.input[0] if node.proto.input else ""
    branch = "then_branch" if _holds(condition, scope, "a condition") else "else_branch"
    body = Body(_graph(node, branch), scope)
    nodes, outputs = body.inline(f"{node.name}/{branch}/", {})
    yield from nodes
    yield from identity_nodes(node, node.proto.output, outputs, scope)


def loop_nodes(node: GraphNode, scope: Scope) -> Iterator[GraphNode]:
    """The nodes of all iterations of a Loop.

    Raises:
        CannotExpandError: if the number of iterations is not known statically or too large.
    """
    limit, condition, *carried = (*node.proto.input, "", "")[: max(2, len(node.proto.input))]
    most = _number(limit, scope, "a trip count") if limit else None
    goes_on = not condition or _holds(condition, scope, "a condition")
    body, count = Body(_graph(node, "body"), scope), len(carried)
    steps: list[list[str]] = []
    while goes_on and len(steps) != most:
        _check_iterations(len(steps) + 1)
        prefix = f"{node.name}/{len(steps)}/"
        here = _constants(prefix, len(steps), scope)
        nodes, outputs = body.inline(prefix, _bound(body.graph, [*here, *carried]))
        yield from nodes
        goes_on = _holds(outputs[0] if outputs else "", scope, "a condition")
        carried = outputs[1 : count + 1]
        steps.append(outputs[count + 1 :])
    yield from identity_nodes(node, node.proto.output[:count], carried, scope)
    yield from _stacks(node, node.proto.output[count:], steps, scope)


def scan_nodes(node: GraphNode, scope: Scope) -> Iterator[GraphNode]:
    """The nodes of all steps of a Scan.

    Raises:
        CannotExpandError: if the length of its sequences is not known statically or too large.
    """
    if scope.known.version < _FIRST_PLAIN_SCAN:
        raise CannotExpandError("a Scan of operator set 8", "operator set 9 or later")
    body, inputs = Body(_graph(node, "body"), scope), list(node.proto.input)
    count = len(inputs) - _attribute(node, "num_scan_inputs").i
    carried, sequences = inputs[: max(count, 0)], inputs[max(count, 0) :]
    axes = _attribute(node, "scan_input_axes").ints or (0,) * len(sequences)
    length = _length(sequences, axes, scope)
    steps: list[list[str]] = []
    while len(steps) < length:
        prefix = f"{node.name}/{len(steps)}/"
        slices = [
            _slice(prefix, name, axis, scope) for name, axis in zip(sequences, axes, strict=True)
        ]
        yield from slices
        now = [name for piece in slices for name in piece.proto.output]
        nodes, outputs = body.inline(prefix, _bound(body.graph, [*carried, *now]))
        yield from nodes
        carried = outputs[:count]
        steps.append(outputs[count:])
    yield from identity_nodes(node, node.proto.output[:count], carried, scope)
    yield from _stacks(node, node.proto.output[count:], steps, scope)


EXPANSIONS: Final[Mapping[str, Expansion]] = {
    "If": if_nodes,
    "Loop": loop_nodes,
    "Scan": scan_nodes,
}
"""The function that expands each operator with a body."""


def _check_iterations(count: int) -> None:
    if count > MOST_ITERATIONS:
        raise CannotExpandError(
            f"more than {MOST_ITERATIONS} iterations", f"at most {MOST_ITERATIONS}"
        )


def _holds(name: str, scope: Scope, what: str) -> bool:
    return bool(_number(name, scope, what))


def _number(name: str, scope: Scope, what: str) -> int:
    value = scope.known.values.get(name)
    if value is None or value.size != 1 or not np.isfinite(value).all():
        maker = scope.makers.get(name)
        made_by = "an input of the network" if maker is None else f"computed by {maker}"
        found = f"{what} {name!r} that is not constant ({made_by})"
        option = f": --value {name}=..." if maker is None else ""
        raise CannotExpandError(found, f"{what} known before the network runs{option}")
    return int(value.reshape(()).item())


def _graph(node: GraphNode, name: str) -> onnx.GraphProto:
    return _attribute(node, name).g


def _attribute(node: GraphNode, name: str) -> onnx.AttributeProto:
    found = (attribute for attribute in node.proto.attribute if attribute.name == name)
    return next(found, onnx.AttributeProto())


def _bound(graph: onnx.GraphProto, actual: Sequence[str]) -> dict[str, str]:
    """The names of a body's inputs in the enclosing graph."""
    if len(graph.input) != len(actual):
        raise CannotExpandError(
            f"a body with {len(graph.input)} inputs", f"{len(actual)} inputs, as the node has"
        )
    return {value.name: name for value, name in zip(graph.input, actual, strict=True)}


def _constants(prefix: str, iteration: int, scope: Scope) -> list[str]:
    """Constants for the number of an iteration and the condition at its start."""
    names: list[str] = []
    for name, value in (("iteration", np.array(iteration)), ("condition", np.array(True))):
        names.append(scope.tensors.fresh(prefix + name))
        scope.constants.add(names[-1])
        scope.known.set_value(names[-1], value)
    return names


def _length(sequences: Sequence[str], axes: Sequence[int], scope: Scope) -> int:
    """The common length of all sequences along the scanned axis."""
    lengths: set[int] = set()
    for name, axis in zip(sequences, axes, strict=False):
        sizes = scope.known.sizes(name)
        if sizes is None or not -len(sizes) <= axis < len(sizes):
            raise CannotExpandError(
                f"a sequence {name!r} of unknown length", "a length known before the network runs"
            )
        lengths.add(sizes[axis])
    if len(lengths) != 1 or len(axes) != len(sequences):
        raise CannotExpandError(f"sequences of lengths {sorted(lengths)}", "one length")
    _check_iterations(max(lengths))
    return max(lengths)


def _slice(prefix: str, sequence: str, axis: int, scope: Scope) -> GraphNode:
    """A node that reads the next element of a sequence."""
    name = scope.tensors.fresh(prefix + sequence)
    sizes = list(scope.known.sizes(sequence) or ())
    del sizes[axis]
    _declare(name, sequence, tuple(sizes), scope)
    return scope.node(name, "Gather", [sequence], [name])


def _stacks(
    node: GraphNode, outputs: Sequence[str], steps: Sequence[Sequence[str]], scope: Scope
) -> Iterator[GraphNode]:
    """Nodes that concatenate the results of all iterations for each output."""
    for i, name in enumerate(outputs):
        parts = [step[i] for step in steps if i < len(step)]
        if name:
            sizes = scope.known.sizes(parts[0]) if parts else None
            if sizes is not None:
                _declare(name, parts[0], (len(parts), *sizes), scope)
            yield scope.node(f"{node.name}/{name}", "Concat", parts, [name])


def _declare(name: str, like: str, sizes: Sizes, scope: Scope) -> None:
    """Records the sizes of a tensor whose element type is that of another one."""
    element = scope.known.types[like].tensor_type.elem_type
    scope.known.types[name] = helper.make_tensor_type_proto(element, sizes)

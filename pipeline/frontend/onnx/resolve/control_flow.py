"""Replaces If, Loop and Scan by the nodes that run, if these are known statically.

Few steps of a Loop or Scan become nodes of their own. Many equal ones become one, whose nodes have
the steps as iterations; as in recurrent networks, dependences between steps are not modelled then.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
import onnx
from onnx import helper

from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.shapes import LIMIT, Sizes
from nestmap.pipeline.frontend.onnx.resolve.inline_subgraphs import (
    Body,
    CannotExpandError,
    Scope,
    identity_nodes,
)

MOST_UNROLLED: Final = 100
"""More equal steps than these become one."""

MOST_ITERATIONS: Final = 1000
"""Loops with more iterations that are not equal are not unrolled."""

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
    most, goes_on, carried = _loop_inputs(node, scope)
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
    carried, sequences, axes = _scan_inputs(node, scope)
    body, count = Body(_graph(node, "body"), scope), len(carried)
    length = _length(sequences, axes, scope)
    _check_iterations(length)
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


@final
@dataclass(frozen=True)
class _EqualSteps:
    """Many equal steps of a Loop or Scan."""

    node: GraphNode
    scope: Scope
    count: int

    def __post_init__(self) -> None:
        if not MOST_UNROLLED < self.count < LIMIT:
            expected = f"{MOST_UNROLLED + 1} to 2**31 - 1 steps"
            raise CannotExpandError(f"{self.count} steps", expected)

    def source(self, operator: str, like: str, *, carried: bool) -> GraphNode:
        """A node whose output differs from step to step, of the type of another tensor."""
        name = self.scope.tensors.fresh(f"{self.node.name}/{like}")
        if like in self.scope.known.types:
            self.scope.known.types[name] = self.scope.known.types[like]
        made = self.scope.node(name, operator, [like], [name])
        return replace(made, synthetic=True, carried=carried)

    def step(self, inputs: Sequence[str]) -> Generator[GraphNode, None, list[str]]:
        """The nodes of one step; returns its outputs."""
        body = Body(_graph(self.node, "body"), self.scope)
        nodes, outputs = body.inline(f"{self.node.name}/", _bound(body.graph, inputs))
        yield from (replace(inner, steps=(self.count,)) for inner in nodes)
        made = {name for inner in nodes for name in inner.proto.output if name}
        for name in sorted(made):
            if self.scope.known.sizes(name) is None:
                raise CannotExpandError(f"a tensor {name!r} of unknown shape", "equal steps")
        return outputs

    def results(self, states: Sequence[str], outputs: Sequence[str]) -> Iterator[GraphNode]:
        """Nodes that hand on the last states, and the other outputs of all steps."""
        scope, count, names = self.scope, len(states), self.node.proto.output
        for before, after in zip(states, outputs, strict=False):
            if scope.known.sizes(before) != scope.known.sizes(after):
                raise CannotExpandError(f"a tensor {after!r} of another shape", "equal steps")
        yield from identity_nodes(self.node, names[:count], outputs, scope)
        for name, part in zip(names[count:], outputs[count:], strict=False):
            if name:
                _declare(name, part, (self.count, *(scope.known.sizes(part) or ())), scope)
                yield scope.node(f"{self.node.name}/{name}", "Concat", [part], [name])


def equal_loop_nodes(node: GraphNode, scope: Scope) -> Iterator[GraphNode]:
    """The nodes of a single step of a Loop with many equal ones.

    Raises:
        CannotExpandError: if there are few steps, or they differ as far as is known.
    """
    most, goes_on, starts = _loop_inputs(node, scope)
    if most is None:
        raise CannotExpandError("no trip count", "a trip count")
    steps = _EqualSteps(node, scope, most if goes_on else 0)
    number, holds = _constants(f"{node.name}/", 0, scope)
    inputs = [steps.source("Gather", number, carried=False)]
    inputs += [steps.source("Identity", name, carried=True) for name in starts]
    yield from (replace(each, steps=(steps.count,)) for each in inputs)
    step, *states = (each.proto.output[0] for each in inputs)
    goes_on_after, *outputs = (yield from steps.step([step, holds, *states])) or [""]
    if not _holds(goes_on_after, scope, "a condition"):
        raise CannotExpandError("a loop that ends early", "equal steps")
    yield from steps.results(states, outputs)


def equal_scan_nodes(node: GraphNode, scope: Scope) -> Iterator[GraphNode]:
    """The nodes of a single step of a Scan with many equal ones.

    Raises:
        CannotExpandError: if there are few steps, or they differ as far as is known.
    """
    starts, sequences, axes = _scan_inputs(node, scope)
    steps = _EqualSteps(node, scope, _length(sequences, axes, scope))
    inputs = [steps.source("Identity", name, carried=True) for name in starts]
    pairs = zip(sequences, axes, strict=True)
    inputs += [_slice(f"{node.name}/", name, axis, scope) for name, axis in pairs]
    yield from (replace(each, steps=(steps.count,)) for each in inputs)
    names = [each.proto.output[0] for each in inputs]
    outputs = yield from steps.step(names)
    yield from steps.results(names[: len(starts)], outputs)


EXPANSIONS: Final[Mapping[str, Expansion]] = {
    "If": if_nodes,
    "Loop": loop_nodes,
    "Scan": scan_nodes,
}
"""The function that expands each operator with a body."""

EQUAL_STEPS: Final[Mapping[str, Expansion]] = {"Loop": equal_loop_nodes, "Scan": equal_scan_nodes}
"""The function that makes one step of many equal ones; tried first."""


def _loop_inputs(node: GraphNode, scope: Scope) -> tuple[int | None, bool, list[str]]:
    """The number of iterations at most, whether there is one, and the carried tensors."""
    limit, condition, *carried = (*node.proto.input, "", "")[: max(2, len(node.proto.input))]
    most = _number(limit, scope, "a trip count") if limit else None
    return most, not condition or _holds(condition, scope, "a condition"), carried


def _scan_inputs(node: GraphNode, scope: Scope) -> tuple[list[str], list[str], Sequence[int]]:
    """The carried tensors, the sequences, and the axes along which these are scanned."""
    if scope.known.version < _FIRST_PLAIN_SCAN:
        raise CannotExpandError("a Scan of operator set 8", "operator set 9 or later")
    inputs = list(node.proto.input)
    count = max(0, len(inputs) - _attribute(node, "num_scan_inputs").i)
    axes = _attribute(node, "scan_input_axes").ints or (0,) * len(inputs[count:])
    return inputs[:count], inputs[count:], axes


def _check_iterations(count: int) -> None:
    if count > MOST_ITERATIONS:
        raise CannotExpandError(
            f"more than {MOST_ITERATIONS} iterations",
            f"at most {MOST_ITERATIONS}, or fewer than 2**31 equal ones with known shapes",
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

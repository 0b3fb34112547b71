"""The producers of each node's inputs, with the operators in between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from nestmap.model import LayerNode, NoCostNode, Tensor, VectorNode, Workload
from nestmap.model.multicore.cn_layer import LayerNest, TensorUse
from nestmap.model.workload.access import (
    AccessRoute,
    AccessStep,
    AnyElement,
    AnyIndex,
    Repeat,
    VectorNest,
)

AnyNode = LayerNode | VectorNode | NoCostNode


@final
@dataclass(frozen=True)
class Producer:
    """An input of a node, the node that produces it, and the path from one tensor to the other.

    ``through`` are the operators in between.
    """

    read: TensorUse
    writer: str
    steps: tuple[AccessStep, ...]
    through: tuple[str, ...]


@final
class Producers:
    """Finds the producers within a workload; only the nodes with these names are split."""

    def __init__(self, workload: Workload, nests: Mapping[str, LayerNest]) -> None:
        self._nests = nests
        self._nodes: dict[str, AnyNode] = {node.name: node for node in workload.nodes}
        self._makers: dict[str, tuple[str, int]] = {
            tensor.name: (node.name, place)
            for node in workload.nodes
            for place, tensor in enumerate(node.outputs)
        }

    def of(self, nest: LayerNest) -> Iterator[Producer]:
        """The producers of a node's inputs."""
        for read in nest.inputs:
            maker = self._maker(read.tensor, read.source)
            if maker is not None:
                for writer, steps, through in self._back(*maker):
                    yield Producer(read, writer, steps, through)

    def _maker(self, tensor: str | None, source: str | None) -> tuple[str, int] | None:
        if tensor is not None and tensor in self._makers:
            return self._makers[tensor]
        return (source, 0) if source is not None else None

    def _back(
        self, name: str, output: int
    ) -> Iterator[tuple[str, tuple[AccessStep, ...], tuple[str, ...]]]:
        """The nodes that produce an output of a node, with the paths to their tensors."""
        if name in self._nests:
            yield name, (), ()
            return
        node = self._nodes[name]
        for tensor, source, steps in _inputs(node, output):
            maker = self._maker(tensor, source)
            for writer, more, through in self._back(*maker) if maker else ():
                yield writer, (*steps, *more), (node.operator, *through)


Inputs = Iterator[tuple[str | None, str | None, tuple[AccessStep, ...]]]


def _inputs(node: AnyNode, output: int) -> Inputs:
    """The tensors or nodes that an output of a node comes from, and the path to each."""
    if not node.inputs:
        yield from ((None, source, ()) for source in node.sources)
        return
    for route in _routes(node, output):
        yield node.inputs[route.input].name, None, route.steps


def _routes(node: AnyNode, output: int) -> Iterator[AccessRoute]:
    if isinstance(node, NoCostNode) and node.routes is not None:
        yield from (route for route in node.routes if route.output == output)
        return
    nest = node.nest if isinstance(node, VectorNode) else None
    for place, tensor in enumerate(node.inputs):
        if not tensor.constant:
            yield AccessRoute(output=output, input=place, steps=_steps(nest, place, tensor))


def _steps(nest: VectorNest | None, place: int, tensor: Tensor) -> tuple[AccessStep, ...]:
    """The path back through an operator that computes but is not split."""
    sizes = tensor.sizes or ()
    access = nest.inputs[place] if nest else None
    if nest is None or access is None or len(nest.output) != len(sizes):
        return (AnyElement(sizes=sizes),)
    return tuple(_aligned(nest, access.axes, sizes))


def _aligned(
    nest: VectorNest, axes: Sequence[object], sizes: Sequence[int]
) -> Iterator[AccessStep]:
    for place, size in enumerate(sizes):
        if axes[place] != nest.output[place]:
            step = Repeat if size == 1 else AnyIndex
            yield step(axis=place, size=size)

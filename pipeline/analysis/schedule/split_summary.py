"""Summarizes a split network layer by layer, with the layers too large for some cores."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from nestmap.model import NoCostNode
from nestmap.model.arrays import Ints
from nestmap.model.dims import OUTPUT, LayerOperand, MemoryOperand
from nestmap.model.hardware.memory import MemoryInstance
from nestmap.model.mapping.problem import resolve_links
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.cn_layer import CnLayer, LayerNest, TensorUse
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.problem import StreamProblem


class Span(NamedTuple):
    """The minimum and maximum."""

    low: int
    high: int


@final
class Allowed:
    """The cores that each layer of a problem may run on."""

    def __init__(self, problem: StreamProblem) -> None:
        self._problem = problem
        self._nodes = {node.name: node for node in problem.workload.nodes}

    def __call__(self, nest: LayerNest) -> tuple[ComputeCore, ...]:
        """The cores of one layer."""
        node = self._nodes[nest.name]
        return () if isinstance(node, NoCostNode) else self._problem.cores_of(node)


@final
@dataclass(frozen=True, slots=True)
class LayerSummary:
    """A layer: nodes and groups, bits of a node's tensors, edges with data, bits on edges.

    The constants of a node are those of its group.
    """

    layer: CnLayer
    nodes: int
    groups: int
    constants: Span
    inputs: Span
    output: Span
    edges: int
    bits: int


@final
@dataclass(frozen=True, slots=True)
class LargeTensor:
    """The largest tile of an operand that a node of a layer needs, in bits."""

    layer: CnLayer
    use: TensorUse
    bits: int


@final
@dataclass(frozen=True, slots=True)
class TooLarge:
    """A layer whose node exceeds the outermost memory of some equal cores.

    ``needs`` are the bits of each operand in that memory, the smallest first; ``left_out`` are the
    operands that do not fit together with the smaller ones.
    """

    layer: CnLayer
    cores: tuple[ComputeCore, ...]
    memory: MemoryInstance
    needs: tuple[tuple[LayerOperand, int], ...]
    left_out: tuple[LayerOperand, ...]


def layer_splits(split: CnWorkload) -> tuple[LayerSummary, ...]:
    """The summary of each layer, in their order."""
    brings = split.edges.read >= 0
    reader = np.searchsorted(split.first_nodes, split.edges.consumer[brings], side="right") - 1
    edges = np.bincount(reader, minlength=len(split.layers))
    bits = np.zeros(len(split.layers), dtype=np.int64)
    np.add.at(bits, reader, split.edges.bits[brings])
    return tuple(
        _summary(split, layer, int(edges[place]), int(bits[place]))
        for place, layer in enumerate(split.layers)
    )


def _summary(split: CnWorkload, layer: CnLayer, edges: int, bits: int) -> LayerSummary:
    nest = layer.nest
    return LayerSummary(
        layer=layer,
        nodes=layer.tiling.count,
        groups=int(layer.groups.max()) + 1,
        constants=_span(split, layer, nest.constants),
        inputs=_span(split, layer, [x for x in nest.inputs if not x.constant]),
        output=_span(split, layer, [nest.output]),
        edges=edges,
        bits=bits,
    )


def _span(split: CnWorkload, layer: CnLayer, uses: Iterable[TensorUse]) -> Span:
    total: Ints = np.zeros(layer.tiling.count, dtype=np.int64)
    for use in uses:
        total += layer.bits_of(use, split.counting)
    return Span(int(total.min()), int(total.max()))


def largest_tensors(split: CnWorkload, most: int) -> list[LargeTensor]:
    """The operands with the largest tiles, a row for each layer and operand."""
    rows = (
        LargeTensor(layer, use, _most(split, layer, use))
        for layer in split.layers
        for use in (layer.nest.output, *layer.nest.inputs)
    )
    return sorted(rows, key=lambda row: -row.bits)[:most]


def _most(split: CnWorkload, layer: CnLayer, use: TensorUse) -> int:
    return int(layer.bits_of(use, split.counting).max())


def too_large(split: CnWorkload, allowed: Allowed) -> Iterator[TooLarge]:
    """The layers that do not fit; cores that differ only in name and number share a row."""
    for layer in split.layers:
        alike: dict[tuple[object, ...], TooLarge] = {}
        for core in allowed(layer.nest):
            for found in _unfit(split, layer, core):
                key = (found.memory.content_hash, found.needs)
                there = alike.get(key)
                cores = (*there.cores, core) if there else (core,)
                alike[key] = TooLarge(layer, cores, found.memory, found.needs, found.left_out)
        yield from alike.values()


def _unfit(split: CnWorkload, layer: CnLayer, core: ComputeCore) -> Iterator[TooLarge]:
    tops, links = core.top_levels, operand_links(layer.nest, tuple(core.top_levels))
    uses = (layer.nest.output, *layer.nest.inputs)
    for memory in dict.fromkeys(level.instance for level in tops.values()):
        needs = sorted(
            (
                (use.operand, _most(split, layer, use))
                for use in uses
                if (link := links[use.operand]) in tops and tops[link].instance == memory
            ),
            key=lambda need: need[1],
        )
        room, left_out = memory.size, list[LayerOperand]()
        for operand, bits in needs:
            if bits <= room:
                room -= bits
            else:
                left_out.append(operand)
        if left_out:
            yield TooLarge(layer, (core,), memory, tuple(needs), tuple(left_out))


def operand_links(
    nest: LayerNest, known: Sequence[MemoryOperand]
) -> dict[LayerOperand, MemoryOperand]:
    """The memory operand of each operand in a mapping without operand links.

    If there are more inputs than memory operands, the last one is shared.
    """
    output = nest.output.operand
    names = [output, *(use.operand for use in nest.inputs)]
    links = resolve_links(names, known, {output: OUTPUT})
    last = max((x for x in known if x != OUTPUT), default=OUTPUT)
    return {name: link or last for name, link in links.items()}

"""The bits in which cores hold and send tensors that outermost memories compress.

A tensor has one form in the whole schedule: in every memory that may hold it, and on the way from
one to another. That is the largest form in which one of these memories stores it, so that a tensor
is compressed if all of them compress it. Of two densities, that of the layer that writes it and the
largest of those that read it, the smaller counts: a density of 1 may just not be stated.

Source of the formats: docs/cost-model.md#compressed-tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from nestmap.costmodel.zeros import stored_bits
from nestmap.model import Compression, LayerNode, MultiCoreAccelerator, Workload
from nestmap.model.base import copy_with
from nestmap.model.dims import OUTPUT, LayerOperand, MemoryOperand
from nestmap.model.multicore.cn_layer import LayerNest, TensorUse
from nestmap.model.multicore.top_memories import memory_operands
from nestmap.search.multicore.split.producers import Producers

Formats = Mapping[MemoryOperand, frozenset[Compression | None]]
"""How outermost memories store a memory operand; ``None``: as it is."""


def top_formats(accelerator: MultiCoreAccelerator) -> Formats:
    """The formats of all outermost memories of an accelerator, by memory operand.

    Cores that only store keep operands as they are that they do not list.
    """
    computing = [core.top_levels for core in accelerator.compute_cores]
    known = {operand for levels in computing for operand in levels}
    storing = [x.top_levels for x in accelerator.cores if x not in accelerator.compute_cores]
    return {
        operand: frozenset(
            levels[operand].compression_of(operand) if operand in levels else None
            for levels in (*(x for x in computing if operand in x), *storing)
        )
        for operand in known
    }


def with_stored_bits(
    workload: Workload, nests: Mapping[str, LayerNest], accelerator: MultiCoreAccelerator
) -> dict[str, LayerNest]:
    """The nests with the bits of tensors as outermost memories of the accelerator store them."""
    formats = top_formats(accelerator)
    if not any(form is not None for found in formats.values() for form in found):
        return dict(nests)
    return _Forms(workload, nests, accelerator, formats).nests()


@final
class _Forms:
    """The forms of the tensors of a workload."""

    def __init__(
        self,
        workload: Workload,
        nests: Mapping[str, LayerNest],
        accelerator: MultiCoreAccelerator,
        formats: Formats,
    ) -> None:
        self._nests, self._accelerator, self._formats = nests, accelerator, formats
        self._layers = {x.name: x.layer for x in workload.nodes if isinstance(x, LayerNode)}
        self._writers: dict[tuple[str, LayerOperand], set[str]] = {}
        self._carried: dict[str, set[MemoryOperand]] = {name: {OUTPUT} for name in nests}
        self._read: dict[str, float] = {}
        producers = Producers(workload, nests)
        for name, nest in nests.items():
            for feed in producers.of(nest):
                place = name, feed.read.operand
                self._writers.setdefault(place, set()).add(feed.writer)
                self._carried[feed.writer] |= self._carriers(nest, feed.read.operand)
                density = max(self._read.get(feed.writer, 0.0), self._stated(*place))
                self._read[feed.writer] = density

    def nests(self) -> dict[str, LayerNest]:
        """All nests, with the form of each tensor."""
        return {
            name: copy_with(
                nest,
                {
                    "output": self._output(nest),
                    "inputs": tuple(self._input(nest, read) for read in nest.inputs),
                },
            )
            for name, nest in self._nests.items()
        }

    def _output(self, nest: LayerNest) -> TensorUse:
        return copy_with(
            nest.output, {"stored": self._stored(nest.output, [(nest.name, nest.output.operand)])}
        )

    def _input(self, nest: LayerNest, read: TensorUse) -> TensorUse:
        """A tensor that is read, with the zeros and in the form of those who write it, if any."""
        writers = self._writers.get((nest.name, read.operand))
        made = [(name, self._nests[name].output.operand) for name in sorted(writers or ())]
        return copy_with(read, {"stored": self._stored(read, made or [(nest.name, read.operand)])})

    def _stored(self, use: TensorUse, origins: Iterable[tuple[str, LayerOperand]]) -> float | None:
        """The bits of an element in the largest form; ``None``: it stays as it is."""
        forms = (
            stored_bits(use.precision, self._density(*origin), form)
            for origin in origins
            for carried in self._operands(*origin)
            for form in self._formats[carried]
        )
        largest = max(forms, default=float(use.precision))
        return largest if largest < use.precision else None

    def _operands(self, name: str, operand: LayerOperand) -> set[MemoryOperand]:
        """The memory operands that carry a tensor: where it is written, and where it is read."""
        nest = self._nests[name]
        if operand == nest.output.operand:
            return self._carried[name]
        return self._carriers(nest, operand)

    def _carriers(self, nest: LayerNest, operand: LayerOperand) -> set[MemoryOperand]:
        """The memory operands that carry an input on the cores; of cores without one, none."""
        place = 1 + [read.operand for read in nest.inputs].index(operand)
        found = (memory_operands(nest, core) for core in self._accelerator.compute_cores)
        return {links[place] for links in found if links is not None}

    def _density(self, name: str, operand: LayerOperand) -> float:
        """The share of the elements of a written tensor or a constant that are not zero."""
        is_output = operand == self._nests[name].output.operand
        read = self._read.get(name, 1.0) if is_output else 1.0
        return min(self._stated(name, operand), read)

    def _stated(self, name: str, operand: LayerOperand) -> float:
        """The density that a layer states; vector operators state none."""
        layer = self._layers.get(name)
        return 1.0 if layer is None else layer.operand(operand).density

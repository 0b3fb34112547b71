"""Mapping constraints: what a user fixes about the mapping of layers."""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from functools import cached_property
from typing import Final

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import ArrayDimension, Dimension, LayerOperand, MemoryOperand
from nestmap.model.errors import InputError
from nestmap.model.mapping.dataflow import Dataflow
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.units import Count, PositiveCount, Size
from nestmap.model.workload.layer import Layer


class OperandLink(Frozen, frozen=True):
    """The memory operand that carries a layer operand, such as ``I2`` for ``W``."""

    operand: LayerOperand
    memory_operand: MemoryOperand


class UnrollingHint(Frozen, frozen=True):
    """The loop dimensions that may be unrolled over an array dimension."""

    array_dimension: ArrayDimension
    dimensions: tuple[Dimension, ...] = Field(min_length=1)


class OrderedLoop(Frozen, frozen=True):
    """One item of a temporal ordering: a loop of that size.

    ``size`` ``None``: any one of the loop factors of the dimension.
    """

    dimension: Dimension
    size: Size | None = None

    def __str__(self) -> str:
        return f"[{self.dimension}, {'*' if self.size is None else self.size}]"


class PinnedMemory(Frozen, frozen=True):
    """The number of loops of a complete temporal ordering at or below a memory."""

    memory: str = Field(min_length=1)
    loops: Count


class PinnedLevels(Frozen, frozen=True):
    """For each memory of an operand, the number of loops at or below it."""

    operand: LayerOperand
    memories: tuple[PinnedMemory, ...]

    @model_validator(mode="after")
    def _check_unique_memories(self) -> PinnedLevels:
        names = [entry.memory for entry in self.memories]
        if len(set(names)) != len(names):
            raise ValueError(f"memories {', '.join(names)} are not all different")
        return self


class FieldPlaces(Frozen, frozen=True):
    """File and line of each field that a file states; no content, so that all are equal."""

    known: tuple[tuple[str, str], ...] = ()

    def of(self, field: str, otherwise: str = "") -> str:
        """The file and line of a field; ``otherwise`` if they are not known."""
        return dict(self.known).get(field, otherwise)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldPlaces)

    def __hash__(self) -> int:
        return 0


class LayerConstraints(Frozen, frozen=True):
    """The constraints of the layers that match ``target``: a layer name, operator, or ``default``.

    ``temporal_ordering`` pins the innermost loops, ``outer_ordering`` the outermost ones; both
    start with the inner loop, and loops that neither names lie between them in any order.
    ``memory_levels`` requires a complete ordering, whose items it counts. ``dataflow`` limits both
    the unrollings that are searched and the loops that memories hold. ``places`` are for errors.
    """

    target: str = "default"
    spatial_mapping: SpatialMapping | None = None
    spatial_hints: tuple[UnrollingHint, ...] = ()
    links: tuple[OperandLink, ...] = ()
    temporal_ordering: tuple[OrderedLoop, ...] = ()
    outer_ordering: tuple[OrderedLoop, ...] = ()
    memory_levels: tuple[PinnedLevels, ...] = ()
    dataflow: Dataflow | None = None
    places: FieldPlaces = Field(default=FieldPlaces(), exclude=True, repr=False)

    def place_for(self, field: str, layer: str) -> str:
        """How errors name a field that does not suit a layer."""
        place = self.places.of(field)
        return f"{place}: {field} for layer {layer}" if place else f"{field} for layer {layer}"

    @model_validator(mode="after")
    def _check_unique_operands(self) -> LayerConstraints:
        for named in (self.links, self.memory_levels):
            names = [entry.operand for entry in named]
            if len(set(names)) != len(names):
                raise ValueError(f"operands {', '.join(names)} are not all different")
        return self

    @model_validator(mode="after")
    def _check_memory_levels(self) -> LayerConstraints:
        items = len(self.temporal_ordering) + len(self.outer_ordering)
        for levels in self.memory_levels:
            for entry in levels.memories:
                if entry.loops > items:
                    raise ValueError(
                        f"{entry.loops} loops of {levels.operand} at or below {entry.memory}; "
                        f"expected at most the {items} of the temporal ordering"
                    )
        return self


# --- segments of layers that run together ---

FETCHED: Final = "fetched"
"""Stands for the memory of weights where each tile fetches them."""


_SIZE: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,31}) +([1-9][0-9]{0,8})")


class SegmentInputs(StrEnum):
    """Where a segment reads its inputs from the outermost memory."""

    COPIED = "copied"
    OUTSIDE = "outside"


class TileSize(Frozen, frozen=True):
    """The size of a tile of the last output of a segment along a dimension."""

    dimension: Dimension
    size: PositiveCount

    @classmethod
    def parse(cls, text: str) -> tuple[TileSize, ...]:
        """Sizes as they are printed.

        >>> [(x.dimension, x.size) for x in TileSize.parse("OY 4 x OX 60")]
        [('OY', 4), ('OX', 60)]

        Raises:
            InputError: where the text has another form.
        """
        found = [_SIZE.fullmatch(x.strip()) for x in text.split(" x ")]
        sizes = {x[1].upper(): int(x[2]) for x in found if x is not None}
        if len(sizes) < len(found):
            raise InputError("tiles", repr(text), "sizes along different dimensions: OY 4 x OX 60")
        return tuple(cls(dimension=d, size=size) for d, size in sizes.items())


class SegmentPin(Frozen, frozen=True):
    """What a mapping fixes of the segment that ends with a layer: ``None`` or nothing is searched.

    ``last`` and ``first`` are its layers; without ``first``, the last one runs by itself, as a
    whole. ``tiles``: dimensions that are not among them, if there are any, are not cut.
    ``recomputed``: the dimensions along which tiles compute again what they share. ``home``: the
    memory of the tensors within; ``weights`` that of constants, or :data:`FETCHED`. ``places``
    are for errors.
    """

    last: str
    first: str | None = None
    tiles: tuple[TileSize, ...] = ()
    recomputed: tuple[Dimension, ...] | None = None
    home: str | None = None
    weights: str | None = None
    inputs: SegmentInputs | None = None
    places: FieldPlaces = Field(default=FieldPlaces(), exclude=True, repr=False)

    @property
    def place(self) -> str:
        """How errors name it."""
        return self.places.of("fused", f"segment that ends with {self.last}")

    @property
    def residence(self) -> str | None:
        """The memory of weights, where it is fixed."""
        return None if self.weights == FETCHED else self.weights


# --- the constraints of a network ---

DEFAULT_TARGET = "default"
"""The target of the constraints for layers that match no other entry."""


class MappingConstraints(Frozen, frozen=True):
    """The constraints for a whole workload; ``segments`` of layers that run together."""

    entries: tuple[LayerConstraints, ...] = Field(default=())
    segments: tuple[SegmentPin, ...] = ()

    @model_validator(mode="after")
    def _check_unique_targets(self) -> MappingConstraints:
        for name, count in Counter(entry.target for entry in self.entries).items():
            if count > 1:
                raise ValueError(f"mapping for {name!r} occurs twice; expected it once")
        return self

    def refuse_segments(self, expected: str) -> None:
        """Checks that no segments are fixed, where layers run one by one.

        Raises:
            InputError: where there are some; it says what is expected instead.
        """
        if self.segments:
            raise InputError(self.segments[0].place, "a segment of a fused network", expected)

    def of(self, layer: Layer) -> LayerConstraints:
        """The entry for a layer: by its name or alias, its operator, or the default entry."""
        for target in (layer.name, layer.alias, layer.operator, DEFAULT_TARGET):
            if target in self._by_target:
                return self._by_target[target]
        return LayerConstraints()

    @cached_property
    def _by_target(self) -> dict[str, LayerConstraints]:
        return {entry.target: entry for entry in self.entries}

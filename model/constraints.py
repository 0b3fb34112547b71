"""Mapping constraints: what a user fixes about how layers are mapped."""

from __future__ import annotations

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import ArrayDimension, Dimension, LayerOperand, MemoryOperand
from nestmap.model.layer import Layer
from nestmap.model.spatial_mapping import SpatialMapping
from nestmap.model.units import Size


class OperandLink(Frozen, frozen=True):
    """Which memory operand carries a layer operand: ``W`` travels as ``I2``."""

    operand: LayerOperand
    memory_operand: MemoryOperand


class UnrollingHint(Frozen, frozen=True):
    """The loop dimensions that may be unrolled over an array dimension."""

    array_dimension: ArrayDimension
    dimensions: tuple[Dimension, ...]


class OrderedLoop(Frozen, frozen=True):
    """One item of a temporal ordering, innermost first.

    ``size`` ``None``: all of the dimension's temporal loops stand here together.
    """

    dimension: Dimension
    size: Size | None = None

    def __str__(self) -> str:
        return f"[{self.dimension}, {'*' if self.size is None else self.size}]"


class LayerConstraints(Frozen, frozen=True):
    """What is fixed for the layers with this name, else this operator, else ``default``."""

    target: str = "default"
    spatial_mapping: SpatialMapping | None = None
    spatial_hints: tuple[UnrollingHint, ...] = ()
    links: tuple[OperandLink, ...] = ()
    temporal_ordering: tuple[OrderedLoop, ...] = ()

    @model_validator(mode="after")
    def _each_operand_once(self) -> LayerConstraints:
        names = [link.operand for link in self.links]
        if len(set(names)) != len(names):
            raise ValueError(f"operands {', '.join(names)} are not all different")
        return self


DEFAULT = "default"
"""The target of the constraints for layers that no other entry matches."""


class MappingConstraints(Frozen, frozen=True):
    """The constraints for a whole workload."""

    entries: tuple[LayerConstraints, ...] = Field(default=())

    @model_validator(mode="after")
    def _each_target_once(self) -> MappingConstraints:
        names = [entry.target for entry in self.entries]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"mapping for {name!r} occurs twice; expected it once")
        return self

    def of(self, layer: Layer) -> LayerConstraints:
        """The entry for a layer: by its name, else its operator, else the default one."""
        by_target = {entry.target: entry for entry in self.entries}
        for target in (layer.name, layer.operator, DEFAULT):
            if target in by_target:
                return by_target[target]
        return LayerConstraints()

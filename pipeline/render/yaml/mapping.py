"""Writes mapping files, mainly for the mappings that an exploration has found."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import yaml

from nestmap.model import (
    CostModelEvaluation,
    LayerConstraints,
    MappingConstraints,
    NetworkEvaluation,
    OrderedLoop,
    PinnedLevels,
    PinnedMemory,
    SpatialMapping,
)
from nestmap.pipeline.util.atomic_files import write_text

_HEAD: Final = """\
# The mapping of every layer. temporal_ordering: the loops, the innermost one first;
# memory_levels: how many of them lie at or below each memory.
# To evaluate it: nestmap evaluate WORKLOAD --accelerator MACHINE --mapping-file THIS_FILE
"""
_NO_WRAPPING: Final = 10**6

Value = str | int | list["Value"] | dict[str, "Value"]


def write_mapping(path: Path, evaluation: NetworkEvaluation) -> None:
    """Writes the mappings of all layers as a mapping file for later evaluation.

    Raises:
        InputError: if the file cannot be written.
    """
    write_text(path, _HEAD + mapping_text(found_mapping(evaluation)))


def found_mapping(evaluation: NetworkEvaluation) -> MappingConstraints:
    """Constraints that allow exactly the evaluated mapping of each layer."""
    return MappingConstraints(entries=tuple(_pinned(x.cme) for x in evaluation.layers))


def mapping_text(constraints: MappingConstraints) -> str:
    """Constraints as the text of a mapping file; unset ones are left out.

    :func:`~nestmap.pipeline.frontend.yaml.mapping.parse_mapping` reads it back.
    """
    entries: Value = [_entry(entry) for entry in constraints.entries]
    text: str = yaml.safe_dump(
        entries,
        sort_keys=False,
        default_flow_style=None,  # leaf collections take one line
        width=_NO_WRAPPING,
    )
    return text


def _pinned(cme: CostModelEvaluation) -> LayerConstraints:
    return LayerConstraints(
        target=cme.layer,
        spatial_mapping=cme.spatial_mapping,
        links=cme.links,
        temporal_ordering=tuple(
            OrderedLoop(dimension=loop.dimension, size=loop.size)
            for loop in cme.temporal_mapping.order
        ),
        memory_levels=tuple(
            PinnedLevels(operand=cuts.operand, memories=_memories(cme, cuts.operand))
            for cuts in cme.temporal_mapping.cuts
        ),
    )


def _memories(cme: CostModelEvaluation, operand: str) -> tuple[PinnedMemory, ...]:
    positions = cme.temporal_mapping.cuts_of(operand)
    return tuple(
        PinnedMemory(memory=cme.level(operand, level).memory, loops=position)
        for level, position in enumerate(positions)
    )


def _entry(entry: LayerConstraints) -> Value:
    fields: dict[str, Value] = {"name": entry.target}
    if entry.dataflow is not None:
        fields["dataflow"] = str(entry.dataflow)
    if entry.spatial_mapping is not None:
        fields["spatial_mapping"] = _unrollings(entry.spatial_mapping)
    if entry.spatial_hints:
        fields["spatial_mapping_hint"] = {
            hint.array_dimension: list(hint.dimensions) for hint in entry.spatial_hints
        }
    if entry.links:
        fields["memory_operand_links"] = {x.operand: x.memory_operand for x in entry.links}
    if entry.temporal_ordering or entry.outer_ordering:
        fields["temporal_ordering"] = _ordering(entry)
    if entry.memory_levels:
        fields["memory_levels"] = {
            levels.operand: {held.memory: held.loops for held in levels.memories}
            for levels in entry.memory_levels
        }
    return fields


def _unrollings(mapping: SpatialMapping) -> Value:
    return {
        unrolling.array_dimension: [f"{loop.dimension}, {loop.size}" for loop in unrolling.loops]
        for unrolling in mapping.unrollings
    }


def _ordering(entry: LayerConstraints) -> Value:
    inner: list[Value] = [_item(loop) for loop in entry.temporal_ordering]
    outer: list[Value] = [_item(loop) for loop in entry.outer_ordering]
    return [*inner, "*", *outer] if outer else inner


def _item(loop: OrderedLoop) -> Value:
    return [loop.dimension, "*" if loop.size is None else loop.size]

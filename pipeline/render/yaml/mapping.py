"""Writes mapping files, mainly for the mappings that an exploration has found."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import yaml

from nestmap.model import (
    CostModelEvaluation,
    FusedSegment,
    LayerConstraints,
    MappingConstraints,
    NetworkEvaluation,
    OrderedLoop,
    PinnedLevels,
    PinnedMemory,
    SegmentInputs,
    SegmentPin,
    SpatialMapping,
    TileSize,
)
from nestmap.model.mapping.constraints import FETCHED
from nestmap.pipeline.util.atomic_files import write_text

_HEAD: Final = """\
# The mapping of every layer. temporal_ordering: the loops, the innermost one first;
# memory_levels: how many of them lie at or below each memory.
# To evaluate it: nestmap evaluate WORKLOAD --accelerator MACHINE --mapping-file THIS_FILE
"""
_HEAD_FUSED: Final = """\
# The spatial mapping of every layer, and the segments of those that run together; {} : by itself.
# To run it again: nestmap explore WORKLOAD --accelerator MACHINE --mapping THIS_FILE --fuse
"""
_NO_WRAPPING: Final = 10**6

Value = str | int | list["Value"] | dict[str, "Value"]


def write_mapping(path: Path, evaluation: NetworkEvaluation) -> None:
    """Writes the mappings of all layers as a mapping file for later evaluation.

    Raises:
        InputError: if the file cannot be written.
    """
    found = found_mapping(evaluation)
    write_text(path, (_HEAD_FUSED if found.segments else _HEAD) + mapping_text(found))


def found_mapping(evaluation: NetworkEvaluation) -> MappingConstraints:
    """Constraints that allow exactly the evaluated mapping of each layer.

    Of a fused network they allow its segments with their tiles and memories.
    """
    if evaluation.on_chip is None or evaluation.on_chip.segments is None:
        return MappingConstraints(entries=tuple(_pinned(x.cme) for x in evaluation.layers))
    layers = [x.cme for x in evaluation.layers]
    names = [x.layer for x in layers]
    pins = [_segment(x, names) for x in evaluation.on_chip.segments]
    together = {name for x in evaluation.on_chip.segments for name in x.nodes}
    pins += [SegmentPin(last=name) for name in names if name not in together]
    entries = (
        LayerConstraints(target=x.layer, spatial_mapping=x.spatial_mapping, links=x.links)
        for x in layers
    )
    segments = sorted(pins, key=lambda x: names.index(x.last))
    return MappingConstraints(entries=tuple(entries), segments=tuple(segments))


def mapping_text(constraints: MappingConstraints) -> str:
    """Constraints as the text of a mapping file; unset ones are left out.

    :func:`~nestmap.pipeline.frontend.yaml.mapping.parse_mapping` reads it back.
    """
    fused = {x.last: _fused(x) for x in constraints.segments}
    entries: Value = [
        _entry(x) | ({"fused": fused[x.target]} if x.target in fused else {})
        for x in constraints.entries
    ]
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


def _segment(segment: FusedSegment, layers: Collection[str]) -> SegmentPin:
    return SegmentPin(
        last=[x for x in segment.nodes if x in layers][-1],
        first=segment.nodes[0],
        tiles=tuple(TileSize(dimension=x.dimension, size=x.size) for x in segment.axes),
        recomputed=tuple(x.dimension for x in segment.axes if not x.retained),
        home=segment.home,
        weights=segment.residence or FETCHED,
        inputs=SegmentInputs.COPIED if segment.staged else SegmentInputs.OUTSIDE,
    )


def _fused(pin: SegmentPin) -> Value:
    stated = {"first": pin.first, "home": pin.home, "weights": pin.weights, "inputs": pin.inputs}
    fields: dict[str, Value] = {name: str(x) for name, x in stated.items() if x is not None}
    if pin.tiles:
        fields["tiles"] = {x.dimension: x.size for x in pin.tiles}
    if pin.recomputed is not None:
        fields["recomputed"] = list(pin.recomputed)
    return fields


def _entry(entry: LayerConstraints) -> dict[str, Value]:
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

"""Builds the loop nest of a mapping: unrolled loops, temporal loops, tiles in memories."""

from __future__ import annotations

from math import prod

from nestmap.model import CostModelEvaluation, LevelEvaluation, SpatialProblem
from nestmap.pipeline.analysis.mapping.explanation import LoopNest, ParallelLoops, Tile
from nestmap.pipeline.analysis.mapping.records import Evaluated
from nestmap.pipeline.analysis.mapping.traffic import stays


def loop_nest(spatial: SpatialProblem, cme: CostModelEvaluation, records: Evaluated) -> LoopNest:
    """The loop nest; tiles are sorted by operand (output first), then innermost level first."""
    rows = {operand.name: x for x, operand in enumerate(spatial.layer.operands)}
    tiles = tuple(
        _tile(spatial, cme, entry, stays(records, rows[entry.operand], entry.level))
        for entry in cme.levels
    )
    return LoopNest(
        statement=spatial.layer.equation,
        order=cme.temporal_mapping.order,
        parallel=_parallel(spatial),
        tiles=tiles,
        dataflows=cme.dataflows,
    )


def _parallel(spatial: SpatialProblem) -> tuple[ParallelLoops, ...]:
    return tuple(
        ParallelLoops(
            array_dimension=side.name,
            units=side.size,
            loops=spatial.spatial_mapping.on(side.name),
        )
        for side in spatial.accelerator.array.sides
    )


def _tile(
    spatial: SpatialProblem, cme: CostModelEvaluation, entry: LevelEvaluation, stays_for: int
) -> Tile:
    memory, mapping = spatial.problem.levels(entry.operand)[entry.level], cme.temporal_mapping
    return Tile(
        operand=entry.operand,
        memory=entry.memory,
        level=entry.level,
        cut=mapping.cuts_of(entry.operand)[entry.level],
        stays=stays_for,
        fills=prod(loop.size for loop in mapping.order[stays_for:]),
        elements=entry.elements,
        bits=entry.bits,
        capacity=memory.instance.size,
        share=entry.utilization,
        instances=spatial.accelerator.instances_of(memory),
        double_buffered=entry.double_buffered,
    )

"""Whole schedules and split networks as JSON: energies in pJ, times in cycles, sizes in bits.

Long tables are columns, lists of equal length: the first node is the first item of each column of
``nodes``. References to nodes, tensors, channels and memories are positions in those columns or
lists, counted from 0; references to cores and layers are their own numbers. In ``ranges``, a node
runs a loop from the first number up to, but not including, the second. ``until`` of a residency is
``null`` if it lasts to the end; ``operand`` of a tensor is that of its node.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nestmap.model.multicore.accelerator import ComputeCore, CoreId
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.interconnect import Channel
from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.pipeline.analysis.schedule.names import ScheduleNames
from nestmap.pipeline.analysis.schedule.split_summary import LayerSummary, TooLarge
from nestmap.pipeline.util.atomic_files import Json

FORMAT: Final = "nestmap schedule"
VERSION: Final = 1
"""The version of the format, raised with every incompatible change."""


def schedule_json(schedule: Schedule) -> Json:
    """A summary of the problem, the allocation, and all columns of the schedule."""
    names = ScheduleNames(schedule)
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": _problem(schedule),
        "latency": schedule.latency,
        "energy": _energy(schedule),
        "cores": [_core(names, core.id) for core in schedule.problem.accelerator.cores],
        "wires": [_wire(wire) for wire in names.ways.channels],
        "memories": _memories(names),
        "layers": _layers(names),
        "allocation": _allocation(schedule),
        "nodes": _nodes(names),
        "tensors": _tensors(names),
        "transfers": _transfers(names),
        "streams": _streams(names),
        "stays": _stays(schedule),
    }


def _problem(schedule: Schedule) -> Json:
    problem = schedule.problem
    return {
        "workload": problem.nodes.name,
        "workload_hash": problem.nodes.content_hash,
        "accelerator": problem.accelerator.name,
        "accelerator_hash": problem.accelerator.content_hash,
        "counting": problem.counting.value,
        "rule": problem.options.rule.value,
        "prefetch": list(problem.options.prefetch),
    }


def _energy(schedule: Schedule) -> Json:
    parts: dict[str, Json] = dict(schedule.energy.parts)
    return {"total": schedule.energy.total, "parts": parts}


def _core(names: ScheduleNames, number: CoreId) -> Json:
    accelerator = names.schedule.problem.accelerator
    core = accelerator.core(number)
    return {
        "core": core.id,
        "name": core.name,
        "computes": isinstance(core, ComputeCore),
        "offchip": core.id == accelerator.offchip,
    }


def _wire(wire: Channel) -> Json:
    return {
        "name": wire.name,
        "bits_per_cycle": wire.bandwidth,
        "energy_per_bit": wire.energy_per_bit,
        "energy_per_cycle": wire.energy_per_cycle,
    }


def _memories(names: ScheduleNames) -> list[Json]:
    """Each memory with the times at which its usage changes, and the bits from then on."""
    usage = names.schedule.memory_usage
    nothing = np.zeros(0, dtype=np.int64)
    found: list[Json] = []
    for place, home in enumerate(names.memories):
        times, used = usage[place] if place < len(usage) else (nothing, nothing)
        found.append(
            {
                "name": home.name,
                "cores": list(home.cores),
                "size": home.level.instance.size,
                "peak": int(used.max(initial=0)),
                "times": _numbers(times),
                "bits": _numbers(used),
            }
        )
    return found


def _layers(names: ScheduleNames) -> list[Json]:
    found: list[Json] = []
    for place, layer in enumerate(names.nodes.layers):
        tiling = layer.tiling
        ranges: dict[str, Json] = {
            d: [
                list(pair)
                for pair in zip(tiling.starts(d).tolist(), tiling.ends(d).tolist(), strict=True)
            ]
            for d in tiling.sizes
            if tiling.tiles[d] > 1
        }
        found.append(
            {
                "layer": layer.nest.number,
                "name": layer.nest.name,
                "operator": layer.nest.operator,
                "first_node": int(names.nodes.first_nodes[place]),
                "nodes": layer.tiling.count,
                "ranges": ranges,
            }
        )
    return found


def _allocation(schedule: Schedule) -> list[Json]:
    genes = zip(schedule.problem.space.groups, schedule.allocation, strict=True)
    return [{"layer": gene.layer, "group": gene.group, "core": core} for gene, core in genes]


def _nodes(names: ScheduleNames) -> Json:
    schedule, layers = names.schedule, names.nodes.layers
    numbers = np.array([layer.nest.number for layer in layers], dtype=np.int64)
    nodes = range(len(schedule.core))
    return {
        "layer": _numbers(numbers[names.layer_of]),
        "node": [names.number(node) for node in nodes],
        "group": _numbers(np.concatenate([layer.groups for layer in layers])),
        "core": _numbers(schedule.core),
        "start": _numbers(schedule.start),
        "end": _numbers(schedule.end),
        "core_energy": [names.onchip(node) for node in nodes],
        "offchip_energy": [names.offchip(node) for node in nodes],
    }


def _tensors(names: ScheduleNames) -> Json:
    tensors = names.schedule.tensors
    return {
        "node": _numbers(tensors.node),
        "operand": [names.operand(tensor) for tensor in range(len(tensors))],
        "bits": _numbers(tensors.bits),
    }


def _transfers(names: ScheduleNames) -> Json:
    sent = names.schedule.transfers
    ends = zip(sent.sending.tolist(), sent.receiving.tolist(), strict=True)
    return {
        "tensor": _numbers(sent.tensor),
        "kind": [TransferKind(kind).name.lower() for kind in sent.kind.tolist()],
        "sender": _numbers(sent.sender),
        "receiver": _numbers(sent.receiver),
        "from_core": _numbers(sent.sending),
        "to_core": _numbers(sent.receiving),
        "wires": [list(names.path(*pair)) for pair in ends],
        "start": _numbers(sent.start),
        "end": _numbers(sent.end),
        "node": _numbers(sent.node),
        "wire_energy": _figures(sent.link_energy),
        "memory_energy": _figures(sent.memory_energy),
    }


def _streams(names: ScheduleNames) -> Json:
    streams = names.schedule.streams
    ends = zip(streams.sending.tolist(), streams.receiving.tolist(), strict=True)
    return {
        "node": _numbers(streams.node),
        "from_core": _numbers(streams.sending),
        "to_core": _numbers(streams.receiving),
        "wires": [list(names.path(*pair)) for pair in ends],
        "start": _numbers(streams.start),
        "end": _numbers(streams.end),
        "bits_per_cycle": _numbers(streams.rate),
        "wire_energy": _figures(streams.link_energy),
    }


def _stays(schedule: Schedule) -> Json:
    stays = schedule.residencies
    return {
        "tensor": _numbers(stays.tensor),
        "memory": _numbers(stays.memory),
        "since": _numbers(stays.since),
        "available": _numbers(stays.available),
        "until": [None if time < 0 else int(time) for time in stays.until.tolist()],
    }


def _numbers(values: NDArray[np.int64]) -> Json:
    return [int(x) for x in values.tolist()]


def _figures(values: NDArray[np.float64]) -> Json:
    return [float(x) for x in values.tolist()]


# --- a split network: its nodes, the edges between them, and what does not fit ---


def split_json(split: CnWorkload, rows: Sequence[LayerSummary], unfit: Sequence[TooLarge]) -> Json:
    """The whole report, sizes in bits; nodes and edges as columns. Edges count nodes from 0."""
    edges = split.edges
    layers: list[Json] = [_layer_json(split, row) for row in rows]
    return {
        "name": split.name,
        "counting": split.counting.value,
        "nodes": len(split),
        "layers": layers,
        "edges": {
            "producer": _numbers(edges.producer),
            "consumer": _numbers(edges.consumer),
            "operand": [_operand(split, row) for row in range(len(edges))],
            "bits": _numbers(edges.bits),
        },
        "too_large": [_too_large_json(row) for row in unfit],
    }


def _operand(split: CnWorkload, row: int) -> str | None:
    read = int(split.edges.read[row])
    if read < 0:
        return None
    layer, _ = split.layer_of(int(split.edges.consumer[row]))
    return layer.nest.inputs[read].operand


def _layer_json(split: CnWorkload, row: LayerSummary) -> Json:
    layer, tiling = row.layer, row.layer.tiling
    uses = (layer.nest.output, *layer.nest.inputs)
    ranges: dict[str, Json] = {
        d: [
            list(pair)
            for pair in zip(tiling.starts(d).tolist(), tiling.ends(d).tolist(), strict=True)
        ]
        for d in tiling.sizes
    }
    bits: dict[str, Json] = {
        use.operand: _numbers(layer.bits_of(use, split.counting)) for use in uses
    }
    return {
        "number": layer.nest.number,
        "name": layer.nest.name,
        "operator": layer.nest.operator,
        "outer_loops": [[loop.dimension, loop.size] for loop in layer.outer],
        "nodes": row.nodes,
        "groups": row.groups,
        "edges_in": row.edges,
        "bits_in": row.bits,
        "node": {
            "group": _numbers(layer.groups),
            "final": [bool(x) for x in layer.is_final.tolist()],
            "ranges": ranges,
            "bits": bits,
        },
    }


def _too_large_json(row: TooLarge) -> Json:
    needs: dict[str, Json] = dict(row.needs)
    return {
        "layer": row.layer.nest.name,
        "cores": [core.id for core in row.cores],
        "memory": row.memory.name,
        "size": row.memory.size,
        "needs": needs,
        "no_room_for": list(row.left_out),
    }

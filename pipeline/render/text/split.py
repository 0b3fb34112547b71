"""Sentences about a split network, and the whole of it as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from nestmap.model import VectorNode, Workload
from nestmap.model.arrays import Ints
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.pipeline.analysis.schedule.split_summary import LayerSummary, TooLarge
from nestmap.pipeline.format.numbers import capacity, count
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.pipeline.util.atomic_files import Json

DEFINITIONS: Final = (
    "Nodes: parts of a layer that run one after the other; those of a group use the same constants "
    "and run on one core. Constants, inputs, output: what one node needs, from the least to the "
    "most. Edges: nodes of other layers whose output a node waits for, with the bits they send."
)


def split_totals(split: CnWorkload) -> str:
    """The totals in one sentence."""
    brings = split.edges.read >= 0
    sent = int(split.edges.bits[brings].sum())
    return (
        f"Total: {count(len(split))} nodes of {count(len(split.layers))} layers, "
        f"{count(len(split.edges))} edges: {count(int(brings.sum()))} bring {capacity(sent)}, "
        f"{count(int((~brings).sum()))} keep the order within a group."
    )


def passing_note(workload: Workload, split: CnWorkload) -> str:
    """The vector operators that no core runs and that are not split; empty if there are none."""
    made = {layer.nest.name for layer in split.layers}
    passing = Counter(
        node.operator
        for node in workload.nodes
        if isinstance(node, VectorNode) and node.name not in made
    )
    if not passing:
        return ""
    counted = ", ".join(f"{printable(name)} ({n})" for name, n in sorted(passing.items()))
    return f"Operators that no core runs pass their data on at no cost: {counted}."


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


def _numbers(values: Ints) -> Json:
    return [int(x) for x in np.asarray(values).tolist()]

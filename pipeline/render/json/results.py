"""Results as JSON: energies in pJ, latencies in cycles, sizes in bits."""

import json
from collections.abc import Sequence
from uuid import UUID

from nestmap.model import (
    CostModelEvaluation,
    Frozen,
    Infeasibility,
    InfeasibleLayer,
    LayerFront,
    LayerResult,
    LimitedCost,
    NetworkEvaluation,
    NetworkFront,
)
from nestmap.pipeline.analysis.network.reduced_unrollings import ReducedUnrolling
from nestmap.pipeline.util.atomic_files import Json


def summary_json(evaluation: NetworkEvaluation, run: UUID | None = None) -> Json:
    """The totals, and energy and latency of each layer."""
    layers: list[Json] = [_headline(result) | _bound(result) for result in evaluation.layers]
    return {
        "run": _text(run),
        "total": _total(evaluation),
        "layers": layers,
        "vector": _vector_total(evaluation),
        "infeasible_layers": _infeasible(evaluation.infeasible),
    }


def full_json(
    evaluation: NetworkEvaluation, run: UUID | None = None, reduced: Sequence[ReducedUnrolling] = ()
) -> Json:
    """The totals, all results of each layer, unrollings that do not fit, and what stays on chip."""
    layers: list[Json] = [
        _headline(result) | _bound(result) | _details(result.cme) | _statistics(result)
        for result in evaluation.layers
    ]
    vector = _vector_total(evaluation) | _vector_nodes(evaluation)
    return {
        "run": _text(run),
        "total": _total(evaluation),
        "layers": layers,
        "vector": vector,
        "infeasible_layers": _infeasible(evaluation.infeasible),
        "reduced_unrollings": _models(reduced),
        "on_chip": _models(evaluation.on_chip.tensors if evaluation.on_chip else ()),
        "segments": _models((evaluation.on_chip and evaluation.on_chip.segments) or ()),
        "segment_ends": _models(evaluation.on_chip.ends if evaluation.on_chip else ()),
    }


def front_json(
    front: NetworkFront, run: UUID | None = None, reduced: Sequence[ReducedUnrolling] = ()
) -> Json:
    """The Pareto front of each layer, with all results of each mapping."""
    layers: list[Json] = [_front(layer) for layer in front.layers]
    counted: dict[str, Json] = {"counted": front.vector_counted}
    return {
        "run": _text(run),
        "layers": layers,
        "vector": counted | _vector_nodes(front),
        "infeasible_layers": _infeasible(front.infeasible),
        "reduced_unrollings": _models(reduced),
        "on_chip": _models(front.on_chip.tensors if front.on_chip else ()),
    }


def _models(entries: Sequence[Frozen]) -> list[Json]:
    return [entry.model_dump() for entry in entries]


def _infeasible(layers: Sequence[InfeasibleLayer]) -> list[Json]:
    """The layers without a mapping, which the totals leave out, with the reason of each."""
    return [
        {
            "name": entry.layer,
            "operator": entry.operator,
            "reason": entry.reason,
            "infeasible": _causes(entry.causes),
            "repeats": entry.repeats,
        }
        for entry in layers
    ]


def _causes(causes: Sequence[Infeasibility]) -> Json:
    return {entry.reason: entry.count for entry in causes}


def _front(layer: LayerFront) -> Json:
    results = [
        LayerResult(cme=cme, statistics=layer.statistics, repeats=layer.repeats)
        for cme in layer.cmes
    ]
    front: list[Json] = [_headline(result) | _details(result.cme) for result in results]
    named: dict[str, Json] = {"name": layer.layer, "front": front, "front_gap": layer.gap}
    return named | _statistics(results[0])


def _text(run: UUID | None) -> str | None:
    return None if run is None else str(run)


def _total(evaluation: NetworkEvaluation) -> Json:
    return {
        "energy": evaluation.energy,
        "latency": evaluation.latency,
        "edp": evaluation.edp,
        "static_energy": evaluation.static_energy,
        "area": evaluation.area,
        "area_unit": evaluation.largest.area_unit,
        "clock_period": evaluation.clock_period,
        "macs": evaluation.macs,
        "utilization": evaluation.utilization,
        "evaluations": evaluation.evaluations,
        "gap": evaluation.gap,
        "at_most": None if evaluation.limited is None else _limit(evaluation.limited),
    }


def _limit(limited: LimitedCost) -> Json:
    return {
        "quantity": limited.limit.quantity.value,
        "value": limited.value,
        "least": limited.least,
    }


def _vector_total(evaluation: NetworkEvaluation) -> dict[str, Json]:
    """The cost of all vector operators, and whether the totals include it."""
    return {
        "counted": evaluation.vector_counted,
        "energy": evaluation.vector_energy,
        "latency": evaluation.vector_latency,
    }


def _vector_nodes(found: NetworkEvaluation | NetworkFront) -> dict[str, Json]:
    nodes: list[Json] = [
        entry.model_dump() | {"energy": entry.energy, "latency": entry.latency}
        for entry in found.vector
    ]
    return {"nodes": nodes}


def _headline(result: LayerResult) -> dict[str, Json]:
    cme = result.cme
    return {
        "name": cme.layer,
        "operator": cme.operator,
        "energy": cme.energy,
        "latency": cme.latency,
    }


def _bound(result: LayerResult) -> dict[str, Json]:
    """The lower bound of the objective and the gap to it; null if they are not known."""
    return {"bound": None if result.bound is None else result.bound.value, "gap": result.gap}


def _details(cme: CostModelEvaluation) -> dict[str, Json]:
    """All fields of the evaluation, the mappings in short form."""
    fields: dict[str, Json] = json.loads(cme.model_dump_json(exclude={"layer", "operator"}))
    spatial: dict[str, Json] = {
        unrolling.array_dimension: [[loop.dimension, loop.size] for loop in unrolling.loops]
        for unrolling in cme.spatial_mapping.unrollings
    }
    temporal: dict[str, Json] = {
        "order": [[loop.dimension, loop.size] for loop in cme.temporal_mapping.order],
        "cuts": {cuts.operand: list(cuts.positions) for cuts in cme.temporal_mapping.cuts},
    }
    derived: dict[str, Json] = {
        "latency0": cme.latency0,
        "latency1": cme.latency1,
        "latency2": cme.latency2,
        "static_energy": cme.static_energy,
        "spatial_utilization": cme.spatial_utilization,
        "utilization": cme.utilization,
    }
    mappings: dict[str, Json] = {"spatial_mapping": spatial, "temporal_mapping": temporal}
    return fields | mappings | derived


def _statistics(result: LayerResult) -> dict[str, Json]:
    statistics = result.statistics
    return {
        "evaluations": statistics.evaluations,
        "infeasible": _causes(statistics.infeasible),
        "pruned_spatial_mappings": statistics.pruned,
        "bounds": None if statistics.bounds is None else statistics.bounds.model_dump(),
        "unproven": statistics.unproven,
        "repeats": result.repeats,
    }

"""Results on several cores as JSON: energies in pJ, times in cycles, sizes in bits."""

from uuid import UUID

from nestmap.model.multicore.allocation import Individual
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads, wire_loads
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.multicore.api import StreamResult
from nestmap.pipeline.util.atomic_files import Json


def stream_json(
    result: StreamResult, layers: StreamResult | None = None, run: UUID | None = None
) -> Json:
    """The front, the reported schedule, and those to compare it with.

    These are the best one on a single core and, if there is one, the layer-by-layer schedule.
    ``run`` is the run in the store, if there is one; all else is the same for every run.
    """
    front: list[Json] = [_individual(x) for x in result.front]
    return {
        "run": None if run is None else str(run),
        "workload": result.workload,
        "accelerator": result.accelerator,
        "problem": _problem(result),
        "search": {
            "generation": result.search.generation.number,
            "evaluations": result.search.generation.evaluations,
            "complete": result.search.is_complete,
        },
        "bound": _bound(result),
        "front": front,
        "best": _best(result),
        "single_core": _single_core(result),
        "layer_by_layer": None if layers is None else _best(layers),
    }


def _problem(result: StreamResult) -> Json:
    problem = result.problem
    genes: list[Json] = [
        {"layer": gene.layer, "group": gene.group, "cores": list(gene.cores)}
        for gene in problem.space.groups
    ]
    return {
        "nodes": len(problem.nodes),
        "edges": len(problem.nodes.edges),
        "kinds": len(problem.costs.runtime),
        "counting": problem.counting.value,
        "genes": genes,
    }


def _individual(individual: Individual) -> Json:
    fitness = individual.fitness
    return {
        "allocation": list(individual.allocation),
        "latency": None if fitness is None else fitness.latency,
        "energy": None if fitness is None else fitness.energy,
        "memory": None if fitness is None else fitness.memory,
    }


def _single_core(result: StreamResult) -> Json:
    found = result.single_core
    if found is None:
        return None
    individual = Individual(allocation=found.allocation, fitness=found.fitness)
    return {"core": found.core, "schedule": _individual(individual)}


def _bound(result: StreamResult) -> Json:
    bound = result.bound
    if bound is None:
        return None
    return {
        "latency": bound.bound,
        "proven": bound.proven,
        "gap": bound.gap,
        "evaluations": bound.evaluations,
        "best": None if bound.best is None else _individual(bound.best),
    }


def _best(result: StreamResult) -> Json:
    schedule = result.schedule
    energies: dict[str, Json] = dict(schedule.energy.parts)
    return {
        "allocation": list(schedule.allocation),
        "latency": schedule.latency,
        "energy": schedule.energy.total,
        "energies": energies,
        "layers": _layers(schedule),
        "cores": _cores(schedule),
        "links": _links(schedule),
        "memories": _memories(schedule),
    }


def _layers(schedule: Schedule) -> list[Json]:
    nodes = schedule.problem.nodes
    return [
        {
            "name": layer.nest.name,
            "operator": layer.nest.operator,
            "nodes": int(nodes.first_nodes[i + 1] - nodes.first_nodes[i]),
            "cores": sorted(
                set(schedule.core[nodes.first_nodes[i] : nodes.first_nodes[i + 1]].tolist())
            ),
            "begins": int(schedule.start[nodes.first_nodes[i] : nodes.first_nodes[i + 1]].min()),
            "ends": int(schedule.end[nodes.first_nodes[i] : nodes.first_nodes[i + 1]].max()),
        }
        for i, layer in enumerate(nodes.layers)
    ]


def _cores(schedule: Schedule) -> list[Json]:
    return [
        {
            "core": load.core.id,
            "name": load.core.name,
            "nodes": load.nodes,
            "busy": load.busy,
            "energy": load.energy,
        }
        for load in core_loads(schedule)
    ]


def _links(schedule: Schedule) -> list[Json]:
    return [
        {"name": load.wire.name, "transfers": load.transfers, "bits": load.bits, "busy": load.busy}
        for load in wire_loads(schedule)
    ]


def _memories(schedule: Schedule) -> list[Json]:
    return [
        {
            "name": use.home.name,
            "cores": list(use.home.cores),
            "size": use.capacity,
            "peak": use.peak,
        }
        for use in memory_uses(schedule)
    ]

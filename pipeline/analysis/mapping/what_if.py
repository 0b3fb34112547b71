"""Evaluates a layer under other spatial mappings, with wider ports and larger memories."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, final

import numpy as np

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import copy_record
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    EvaluationBatch,
    MappingProblem,
    MappingType,
    MemoryLevel,
    Objective,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.explanation import Change, PortName, PortTraffic, WhatIf
from nestmap.pipeline.analysis.mapping.records import Evaluated, evaluated
from nestmap.search import best_of
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.temporal.exact.fitting_rows import first_different
from nestmap.search.temporal.loma import feasible_orders
from nestmap.search.temporal.pinned import allocate_order

# --- evaluates a layer under other spatial mappings than that of a result ---

TRIED: Final = 3
"""Spatial mappings that are tried for latency, and for energy: those with the lowest bounds."""

FACTORS: Final = 6
"""Loop factors of LOMA's orders under each of them."""


def other_spatial_mappings(
    spatial: SpatialProblem, cme: CostModelEvaluation, every: SpatialCandidates
) -> Iterator[WhatIf]:
    """The fastest and the thriftiest mapping found under other spatial mappings.

    ``every``: :func:`unfixed_spatial_mappings` of the problem. Empty if none is better. The spatial
    mapping and the order of loops that the user fixed do not hold here, but hints do. The search is
    short: a full one may find better mappings.
    """
    found = [best for other in _promising(spatial, every) for best in _best_orders(other)]
    answers: list[WhatIf] = []
    for objective in (Objective.LATENCY, Objective.ENERGY):
        better = [x for x in found if x.values(objective)[0] < objective.of(cme)]
        if better:
            answers.append(_answer_of_row(min(better, key=partial(_costs, objective))))
    yield from dict.fromkeys(answers)


def unfixed_spatial_mappings(spatial: SpatialProblem) -> SpatialCandidates:
    """All spatial mappings of a layer, whatever the user fixed; hints hold."""
    problem = _unfixed(spatial.problem)
    # bounds of arrays that compute in memory are made one by one, and mixed mappings are many
    return all_spatial_mappings(problem, mixed=problem.accelerator.array.imc is None)


def _promising(spatial: SpatialProblem, every: SpatialCandidates) -> Iterator[SpatialProblem]:
    if not len(every):
        return
    bounds = every.bounds
    by_latency = np.lexsort((bounds.energy, bounds.latency))
    by_energy = np.lexsort((bounds.latency, bounds.energy))
    first = [first_different(every, order, TRIED).tolist() for order in (by_latency, by_energy)]
    for row in dict.fromkeys(chain.from_iterable(first)):
        other = every.spatial(row)
        if other.spatial_mapping != spatial.spatial_mapping:
            yield other


def _unfixed(problem: MappingProblem) -> MappingProblem:
    """The layer without the spatial mapping, ordering and dataflow that the user fixed."""
    freed: dict[str, object] = {
        "spatial_mapping": None,
        "temporal_ordering": (),
        "outer_ordering": (),
        "memory_levels": (),
        "dataflow": None,
    }
    return copy_with(problem, {"constraints": copy_with(problem.constraints, freed)})


def _best_orders(spatial: SpatialProblem) -> Iterator[EvaluationBatch]:
    """The fastest and the thriftiest of LOMA's orders, as batches of one; none if none fits."""
    batches = [evaluate_batch(x) for x in feasible_orders(spatial, FACTORS, MappingType.UNEVEN)]
    for objective in (Objective.LATENCY, Objective.ENERGY):
        best = best_of(batches, objective)
        if len(best):
            yield best


def _costs(objective: Objective, best: EvaluationBatch) -> tuple[float, float, float]:
    return float(best.values(objective)[0]), float(best.latency2[0]), float(best.energy[0])


def _answer_of_row(best: EvaluationBatch) -> WhatIf:
    spatial = best.mappings.problem
    records = evaluated(spatial, best.mappings.row(0))
    return WhatIf(
        change=Change.SPATIAL,
        spatial_mapping=spatial.spatial_mapping,
        latency=records.latency,
        energy=records.dynamic_energy + records.static_energy,
        stall=records.stall,
    )


# --- evaluates a layer under other spatial mappings, with wider ports and larger memories ---

FACTOR: Final = 2
"""The factor by which ports are widened and memories enlarged."""


def what_ifs(
    spatial: SpatialProblem,
    cme: CostModelEvaluation,
    ports: Sequence[PortTraffic],
    every: SpatialCandidates,
) -> tuple[WhatIf, ...]:
    """All changes: other spatial mappings, ports one by one and together, hops, each memory.

    ``every``: :func:`unfixed_spatial_mappings` of the problem.
    """
    wider = _WiderPorts(spatial, cme, tuple(port.name for port in ports))
    return (
        *other_spatial_mappings(spatial, cme, every),
        *(wider.answer(Change.PORT, (port.name,)) for port in ports if port.transfers),
        *wider.while_they_bind(),
        wider.answer(Change.EVERY_PORT, wider.ports),
        *_faster_hops(spatial, cme),
        *_refilled(Change.FILLED, None, spatial, cme.temporal_mapping),
        *(x for level in spatial.accelerator.memories for x in _larger(level, spatial, cme)),
    )


def binding_ports(cme: CostModelEvaluation) -> tuple[PortName, ...]:
    """The ports with the largest stall, if any."""
    return tuple(
        PortName(memory=x.memory, port=x.port)
        for x in cme.port_stalls
        if cme.stall > 0 and x.stall == cme.stall
    )


@final
class _WiderPorts:
    """A mapping whose cost is evaluated with wider ports; ``ports`` are all of them.

    Such accelerators are not built: the widths are changed in the record that kernels read.
    """

    def __init__(
        self, spatial: SpatialProblem, cme: CostModelEvaluation, ports: tuple[PortName, ...]
    ) -> None:
        self._spatial, self._cme, self.ports = spatial, cme, ports

    def answer(self, change: Change, ports: tuple[PortName, ...]) -> WhatIf:
        """Doubles the width of these ports.

        ``width_max`` is doubled. ``width_min`` stays: it only sets the granularity in which
        accesses are counted, and does not affect the latency. Energies are per access of the full
        width, so they double to keep the energy per bit, and the energy of accesses does not
        change. Leakage follows the latency.
        """
        return self._answer(change, ports, self._evaluated(ports))

    def while_they_bind(self) -> Iterator[WhatIf]:
        """Doubles all bottleneck ports, then the new bottlenecks, and so on.

        Stops when the latency no longer falls. A single port is left out: it has its own answer.
        """
        ports, latency = binding_ports(self._cme), self._cme.latency
        while ports:
            after = self._evaluated(ports)
            if len(ports) > 1:
                yield self._answer(Change.BINDING_PORTS, ports, after)
            following = tuple(port for port in self._binding(after) if port not in ports)
            if not following or after.latency >= latency:
                return
            ports, latency = (*ports, *following), after.latency

    def _evaluated(self, ports: tuple[PortName, ...]) -> Evaluated:
        wider = copy_record(flatten(self._spatial))
        for port in ports:
            wider.port_max[self.ports.index(port)] *= FACTOR
        return evaluated(self._spatial, self._cme.temporal_mapping, wider)

    def _binding(self, after: Evaluated) -> tuple[PortName, ...]:
        """As :func:`binding_ports`."""
        stalls = [after.stall_of(p) for p in range(len(self.ports))] if after.stall > 0 else []
        return tuple(self.ports[p] for p, stall in enumerate(stalls) if stall == after.stall)

    def _answer(self, change: Change, ports: tuple[PortName, ...], after: Evaluated) -> WhatIf:
        return WhatIf(
            change=change,
            ports=ports,
            latency=after.latency,
            energy=self._cme.dynamic_energy + after.static_energy,
            stall=after.stall,
        )


def _faster_hops(spatial: SpatialProblem, cme: CostModelEvaluation) -> Iterator[WhatIf]:
    """Doubles what links between units move, if they are limited and used."""
    if cme.hop_stalls:
        faster = copy_record(flatten(spatial))
        faster.hop_bandwidth *= FACTOR
        yield _answer(Change.HOPS, None, evaluated(spatial, cme.temporal_mapping, faster))


def _larger(
    level: MemoryLevel, spatial: SpatialProblem, cme: CostModelEvaluation
) -> Iterator[WhatIf]:
    """Doubles the memory, first for the same mapping, then with reallocated memories."""
    problem, mapping = spatial.problem, cme.temporal_mapping
    machine = with_larger_memory(problem.accelerator, level.name)
    larger = copy_with(spatial, {"problem": copy_with(problem, {"accelerator": machine})})
    yield _answer(Change.CAPACITY, level.name, evaluated(larger, mapping))
    yield from _refilled(Change.CAPACITY_FILLED, level.name, larger, mapping)


def _refilled(
    change: Change, memory: str | None, spatial: SpatialProblem, mapping: TemporalMapping
) -> Iterator[WhatIf]:
    """Reallocates memories for the same order; empty if they are too small.

    An allocation equal to the present one is left out.
    """
    batch = allocate_order(spatial, mapping.order)
    if len(batch) and batch.row(0) != mapping:
        answer = _answer(change, memory, evaluated(spatial, batch.row(0)))
        yield copy_with(answer, {"cuts": batch.row(0).cuts})


def _answer(change: Change, memory: str | None, after: Evaluated) -> WhatIf:
    return WhatIf(
        change=change,
        memory=memory,
        latency=after.latency,
        energy=after.dynamic_energy + after.static_energy,
        stall=after.stall,
    )


def with_larger_memory(accelerator: Accelerator, memory: str) -> Accelerator:
    """The accelerator with the capacity of each instance of that memory doubled."""
    memories: list[MemoryLevel] = []
    for level in accelerator.memories:
        if level.name == memory:
            instance = copy_with(level.instance, {"size": level.instance.size * FACTOR})
            memories.append(copy_with(level, {"instance": instance}))
        else:
            memories.append(level)
    return copy_with(accelerator, {"memories": tuple(memories)})

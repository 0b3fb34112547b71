"""Evaluates a layer under other spatial mappings, with wider ports and larger memories."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, final

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import Accelerator, CostModelEvaluation, MemoryLevel, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.explanation import Change, PortName, PortTraffic, WhatIf
from nestmap.pipeline.analysis.mapping.other_mappings import other_spatial_mappings
from nestmap.search.temporal.pinned_order import allocate_order

FACTOR: Final = 2
"""The factor by which ports are widened and memories enlarged."""


def what_ifs(
    spatial: SpatialProblem, cme: CostModelEvaluation, ports: Sequence[PortTraffic]
) -> tuple[WhatIf, ...]:
    """All changes: other spatial mappings, ports one by one and together, each memory."""
    question = _Question(spatial, cme)
    used = [port.name for port in ports if port.transfers]
    every = tuple(port.name for port in ports)
    return (
        *other_spatial_mappings(spatial, cme),
        *(question.wider(Change.PORT, (name,)) for name in used),
        *question.wider_while_they_bind(),
        question.wider(Change.EVERY_PORT, every),
        *question.refilled(Change.FILLED, None),
        *(x for level in spatial.accelerator.memories for x in question.larger(level)),
    )


def binding_ports(cme: CostModelEvaluation) -> tuple[PortName, ...]:
    """The ports with the largest stall, if any."""
    return tuple(
        PortName(memory=x.memory, port=x.port)
        for x in cme.port_stalls
        if cme.stall > 0 and x.stall == cme.stall
    )


@final
class _Question:
    """A mapping whose cost is evaluated on changed accelerators."""

    def __init__(self, spatial: SpatialProblem, cme: CostModelEvaluation) -> None:
        self._spatial, self._cme = spatial, cme

    def wider(self, change: Change, ports: tuple[PortName, ...]) -> WhatIf:
        """Doubles the width of these ports.

        ``width_max`` is doubled. ``width_min`` stays: it only sets the granularity in which
        accesses are counted, and does not affect the latency. Energies are per access of the full
        width, so they double to keep the energy per bit, and the energy of accesses does not
        change. Leakage follows the latency.
        """
        return self._answer_of_ports(change, ports, self._with_wider(ports))

    def wider_while_they_bind(self) -> Iterator[WhatIf]:
        """Doubles all bottleneck ports, then the new bottlenecks, and so on.

        Stops when the latency no longer falls. A single port is left out: it has its own answer.
        """
        ports, latency = binding_ports(self._cme), self._cme.latency
        while ports:
            after = self._with_wider(ports)
            if len(ports) > 1:
                yield self._answer_of_ports(Change.BINDING_PORTS, ports, after)
            following = tuple(port for port in binding_ports(after) if port not in ports)
            if not following or after.latency >= latency:
                return
            ports, latency = (*ports, *following), after.latency

    def _with_wider(self, ports: tuple[PortName, ...]) -> CostModelEvaluation:
        machine = with_wider_ports(self._spatial.accelerator, ports)
        return evaluate(_on(self._spatial, machine), self._cme.temporal_mapping)

    def _answer_of_ports(
        self, change: Change, ports: tuple[PortName, ...], after: CostModelEvaluation
    ) -> WhatIf:
        return WhatIf(
            change=change,
            ports=ports,
            latency=after.latency,
            energy=self._cme.dynamic_energy + after.static_energy,
            stall=after.stall,
        )

    def larger(self, level: MemoryLevel) -> Iterator[WhatIf]:
        """Doubles the memory, first for the same mapping, then with reallocated memories."""
        machine = with_larger_memory(self._spatial.accelerator, level.name)
        after = evaluate(_on(self._spatial, machine), self._cme.temporal_mapping)
        yield _answer(Change.CAPACITY, level.name, after)
        yield from self.refilled(Change.CAPACITY_FILLED, level.name)

    def refilled(self, change: Change, memory: str | None) -> Iterator[WhatIf]:
        """Reallocates memories with ``memory`` doubled; empty if they are too small.

        An allocation equal to the present one is left out.
        """
        machine = self._spatial.accelerator
        if memory is not None:
            machine = with_larger_memory(machine, memory)
        spatial = _on(self._spatial, machine)
        batch = allocate_order(spatial, self._cme.temporal_mapping.order)
        if len(batch) and batch.row(0) != self._cme.temporal_mapping:
            answer = _answer(change, memory, evaluate(spatial, batch.row(0)))
            yield copy_with(answer, {"cuts": batch.row(0).cuts})


def _answer(change: Change, memory: str | None, after: CostModelEvaluation) -> WhatIf:
    return WhatIf(
        change=change,
        memory=memory,
        latency=after.latency,
        energy=after.energy,
        stall=after.stall,
    )


def with_wider_ports(accelerator: Accelerator, ports: Collection[PortName]) -> Accelerator:
    """The accelerator with ``width_max`` of these ports doubled."""
    memories: list[MemoryLevel] = []
    for level in accelerator.memories:
        instance = level.instance
        wider = tuple(
            copy_with(port, {"width_max": port.width_max * FACTOR})
            if PortName(memory=level.name, port=port.name) in ports
            else port
            for port in instance.ports
        )
        memories.append(copy_with(level, {"instance": copy_with(instance, {"ports": wider})}))
    return copy_with(accelerator, {"memories": tuple(memories)})


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


def _on(spatial: SpatialProblem, accelerator: Accelerator) -> SpatialProblem:
    problem = copy_with(spatial.problem, {"accelerator": accelerator})
    return copy_with(spatial, {"problem": problem})

"""Breaks latency and energy down, and finds the bottleneck."""

from collections.abc import Iterator, Sequence

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import Accelerator, CostModelEvaluation, InputError, SpatialProblem
from nestmap.pipeline.analysis.mapping.explanation import (
    Binding,
    Bound,
    EnergyBreakdown,
    EnergyKind,
    EnergyPart,
    HandedOn,
    LatencyPart,
    LatencyStep,
    PortTraffic,
    Waterfall,
)
from nestmap.pipeline.analysis.mapping.what_if import binding_ports

# --- checks that an evaluation belongs to a problem ---


def is_evaluation_of(spatial: SpatialProblem, cme: CostModelEvaluation) -> bool:
    """Whether the cost model computes exactly this evaluation for a mapping of the problem."""
    return evaluate(spatial, cme.temporal_mapping) == cme


def check_evaluation(spatial: SpatialProblem, cme: CostModelEvaluation) -> None:
    """Checks that the evaluation belongs to the problem.

    Raises:
        InputError: if it does not.
    """
    if not is_evaluation_of(spatial, cme):
        raise InputError(
            f"layer {cme.layer}",
            "an evaluation that was not made for this problem on accelerator "
            f"{spatial.accelerator.name} as it is",
            "the evaluation of one of its mappings, by this version of the cost model",
        )


def waterfall(cme: CostModelEvaluation) -> Waterfall:
    """The latency breakdown, added up in the cost model's order, so that the sum is exact."""
    parts = {
        LatencyPart.IDEAL: cme.ideal_cycles,
        LatencyPart.IDLE_UNITS: cme.ideal_temporal_cycles - cme.ideal_cycles,
        LatencyPart.STALL: cme.stall,
        LatencyPart.ONLOADING: cme.onloading,
        LatencyPart.OFFLOADING: cme.offloading,
        LatencyPart.DRAIN: cme.drain,
    }
    steps: list[LatencyStep] = []
    end = 0.0
    for part, cycles in parts.items():
        end += cycles
        steps.append(LatencyStep(part=part, cycles=float(cycles), end=end))
    return Waterfall(steps=tuple(steps), total=float(cme.latency))


def energy_breakdown(accelerator: Accelerator, cme: CostModelEvaluation) -> EnergyBreakdown:
    """The energy by component; memories that hold an operand come innermost first."""
    return EnergyBreakdown(
        total=cme.energy,
        parts=tuple(_energy_parts(accelerator, cme)),
        array_parts=cme.array_energies,
        leaking=cme.static_energies,
    )


def _energy_parts(accelerator: Accelerator, cme: CostModelEvaluation) -> Iterator[EnergyPart]:
    yield EnergyPart(kind=EnergyKind.ARRAY, name="array", energy=cme.mac_energy)
    for level in accelerator.memories:
        spent = [entry.costs.energy for entry in cme.levels if entry.memory == level.name]
        if spent:
            yield EnergyPart(kind=EnergyKind.MEMORY, name=level.name, energy=sum(spent))
    if cme.static_energies:
        yield EnergyPart(kind=EnergyKind.LEAKAGE, name="leakage", energy=cme.static_energy)


def binding(cme: CostModelEvaluation, ports: Sequence[PortTraffic]) -> Binding:
    """The bottleneck: hops or a port that stall the array, else loading, else the array."""
    hops = tuple(
        HandedOn(operand=x.operand, memory=cme.level(x.operand, x.level).memory, busy=x.busy)
        for x in cme.hop_stalls
        if x.stall == cme.stall
    )
    if cme.stall > 0 and hops:
        return Binding(bound=Bound.HOPS, ports=(), cycles=float(cme.stall), hops=hops)
    if cme.stall > 0:
        return Binding(bound=Bound.PORT, ports=binding_ports(cme), cycles=float(cme.stall))
    loading = cme.onloading + cme.offloading
    if loading > 0:
        slowest = [max((x.loading for x in port.transfers), default=0.0) for port in ports]
        pairs = zip(ports, slowest, strict=True)
        names = tuple(port.name for port, cycles in pairs if cycles == max(slowest))
        return Binding(bound=Bound.LOADING, ports=names, cycles=loading)
    return Binding(bound=Bound.ARRAY, ports=(), cycles=0.0)

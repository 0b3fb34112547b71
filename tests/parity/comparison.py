"""Where nestmap's cost of a mapping and the reference's differ, quantity by quantity."""

from collections.abc import Iterable, Iterator
from math import isclose

from nestmap.model import CostModelEvaluation, LevelEvaluation
from tests.parity.reference import ReferenceEvaluation, ReferenceLevel

RELATIVE = 1e-9
"""Largest relative difference that counts as equal."""

Figure = tuple[str, float, float]
"""What is compared, nestmap's figure and the reference's."""


def differences(ours: CostModelEvaluation, theirs: ReferenceEvaluation) -> list[str]:
    """One line for each quantity that is not the same; none where all agree."""
    return differing(figures(ours, theirs))


def differing(compared: Iterable[Figure]) -> list[str]:
    """One line for each figure that is not the same."""
    return [
        f"{name}: {mine!r}, reference {reference!r}"
        for name, mine, reference in compared
        if not isclose(mine, reference, rel_tol=RELATIVE, abs_tol=0.0)
    ]


def figures(ours: CostModelEvaluation, theirs: ReferenceEvaluation) -> Iterator[Figure]:
    """Every quantity of an evaluation next to the reference's."""
    yield "mac_energy", ours.mac_energy, theirs.mac_energy
    yield "memory_energy", ours.memory_energy, theirs.memory_energy
    yield "energy", ours.energy, theirs.energy
    yield from _levels(ours, theirs)
    yield "ideal_cycles", ours.ideal_cycles, theirs.ideal_cycles
    yield "ideal_temporal_cycles", ours.ideal_temporal_cycles, theirs.ideal_temporal_cycles
    stalls = {(port.memory, port.port): port.stall for port in ours.port_stalls}
    for key, stall in theirs.port_stalls.items():
        yield f"port_stalls {key}", stalls[key], stall
    yield "stall", ours.stall, theirs.stall
    yield "onloading", ours.onloading, theirs.onloading
    yield "offloading", ours.offloading, theirs.offloading
    yield "drain", ours.drain, theirs.drain
    yield "latency0", ours.latency0, theirs.latency0
    yield "latency1", ours.latency1, theirs.latency1
    yield "latency2", ours.latency2, theirs.latency2
    yield "spatial_utilization", ours.spatial_utilization, theirs.spatial_utilization
    for i, (mine, reference) in enumerate(zip(ours.utilizations, theirs.utilizations, strict=True)):
        yield f"utilizations[{i}]", mine, reference
    yield "area", ours.area, theirs.area


def _levels(ours: CostModelEvaluation, theirs: ReferenceEvaluation) -> Iterator[Figure]:
    for mine, reference in zip(ours.levels, theirs.levels, strict=True):
        assert (mine.operand, mine.level) == (reference.operand, reference.level)
        assert mine.memory == reference.memory
        for name, left, right in _level(mine, reference):
            yield f"{mine.operand} at {mine.memory}: {name}", left, right


def _level(ours: LevelEvaluation, theirs: ReferenceLevel) -> Iterator[Figure]:
    yield "elements", ours.elements, theirs.elements
    yield "bits", ours.bits, theirs.bits
    for i in range(4):
        yield f"accesses[{i}]", ours.costs.accesses[i], theirs.accesses[i]
        yield f"energies[{i}]", ours.costs.energies[i], theirs.energies[i]
    yield "energy", ours.costs.energy, theirs.energy
    yield "utilization", ours.utilization, theirs.utilization
    yield "shared_utilization", ours.shared_utilization, theirs.shared_utilization
    yield "effective_utilization", ours.effective_utilization, theirs.effective_utilization
    yield (
        "effective_shared_utilization",
        ours.effective_shared_utilization,
        theirs.effective_shared_utilization,
    )
    yield "double_buffered", ours.double_buffered, theirs.double_buffered

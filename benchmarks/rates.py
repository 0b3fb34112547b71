"""What benchmarks against the reference share: our rate, and that both say the same."""

from collections.abc import Mapping
from time import process_time

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import MappingType, SpatialProblem, TemporalMapping
from nestmap.search import loma

Costs = Mapping[TemporalMapping, tuple[float, float]]
"""Energy (pJ) and latency (cycles) by mapping."""


def check_equal(spatial: SpatialProblem, expected: Costs, lpf_limit: int) -> None:
    """Asserts that LOMA finds exactly these mappings, and that each costs the same to 1e-9."""
    compared = 0
    for mappings in loma(spatial, lpf_limit, MappingType.UNEVEN):
        batch = evaluate_batch(mappings)
        for row in range(len(batch)):
            energy, latency = expected[mappings.row(row)]
            assert abs(batch.energy[row] - energy) <= 1e-9 * energy
            assert abs(batch.latency2[row] - latency) <= 1e-9 * latency
            compared += 1
    assert compared == len(expected), (compared, len(expected))


def rate(spatial: SpatialProblem, lpf_limit: int) -> float:
    """Our evaluations per CPU second, compiled, over at least half a second."""
    count, start = 0, process_time()
    while process_time() - start < 0.5:
        for batch in loma(spatial, lpf_limit, MappingType.UNEVEN):
            count += len(evaluate_batch(batch))
    return count / (process_time() - start)

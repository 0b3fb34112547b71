"""Evaluations per CPU second against zigzag-dse: the same orderings, allocated and costed."""

from time import process_time

from tests.parity.reference import reference_allocations

from benchmarks.rates import check_equal, rate
from nestmap.model import MappingConstraints, MappingProblem, MappingType, SpatialProblem
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages import SpatialMappingConversionStage

CASES = (
    ("light:resnet50", "tpu_like", 10),
    ("light:resnet50", "meta_prototype", 30),
    ("light:bvlc_alexnet", "ascend_like", 1),
)
REFERENCE_LIMIT = 5
"""Loop factors for the reference, which takes about 10 ms an evaluation."""


def main() -> None:
    """Prints a row a case: evaluations per CPU second of both, and their ratio."""
    print("layer, accelerator | ours /s (lpf 9) | ours /s (same list) | zigzag-dse /s | ratio")
    for workload, accelerator, position in CASES:
        spatial = _spatial(workload, accelerator, position)
        ours_same, theirs = _compare(spatial)
        ours = rate(spatial, 9)
        name = f"{spatial.layer.name}, {accelerator}"
        print(f"{name} | {ours:,.0f} | {ours_same:,.0f} | {theirs:,.1f} | {ours / theirs:,.0f}")


def _spatial(workload: str, accelerator: str, position: int) -> SpatialProblem:
    constraints: MappingConstraints = read_mapping(None, for_accelerator=accelerator)
    layer = read_workload(workload).layers[position]
    problem = MappingProblem(
        layer=layer, accelerator=read_accelerator(accelerator), constraints=constraints.of(layer)
    )
    return SpatialMappingConversionStage()(problem)


def _compare(spatial: SpatialProblem) -> tuple[float, float]:
    """Evaluations per CPU second on the same list; every mapping and cost must be equal."""
    start = process_time()
    reference = reference_allocations(spatial, REFERENCE_LIMIT, MappingType.UNEVEN)
    theirs = len(reference) / (process_time() - start)
    expected = {mapping: (cost.energy, cost.latency2) for mapping, cost in reference}
    check_equal(spatial, expected, REFERENCE_LIMIT)
    return rate(spatial, REFERENCE_LIMIT), theirs


if __name__ == "__main__":
    main()

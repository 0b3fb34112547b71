"""Evaluations per CPU second of IMC arrays against zigzag-dse: the same orderings, equal costs."""

from importlib.resources import files
from pathlib import Path
from time import process_time

from tests.parity.reference import reference_mappings
from tests.parity.reference_imc import reference_imc_cme

from benchmarks.rates import check_equal, rate
from nestmap.model import MappingProblem, SpatialProblem, TemporalMapping
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages import SpatialMappingGeneratorStage

INPUTS = Path(str(files("zigzag") / "inputs"))
CASES = (("resnet18", 1), ("resnet18", 5), ("alexnet", 2))
MACHINES = ("aimc", "dimc")
REFERENCE_LIMIT = 5
"""Loop factors for the reference, which takes about 10 ms an evaluation."""

Found = dict[TemporalMapping, tuple[float, float]]
"""Energy and latency of each mapping."""


def main() -> None:
    """Prints a row a case: evaluations per CPU second of both, and their ratio."""
    print("layer, accelerator | ours /s (lpf 9) | ours /s (same list) | zigzag-dse /s | ratio")
    for workload, position in CASES:
        for accelerator in MACHINES:
            spatial = _spatial(workload, accelerator, position)
            theirs = _compare(spatial)
            same, ours = rate(spatial, REFERENCE_LIMIT), rate(spatial, 9)
            name = f"{workload} {spatial.layer.name}, {accelerator}"
            print(f"{name} | {ours:,.0f} | {same:,.0f} | {theirs:,.1f} | {ours / theirs:,.0f}")


def _spatial(workload: str, accelerator: str, position: int) -> SpatialProblem:
    mapping = read_mapping(INPUTS / "mapping" / "default_imc.yaml", for_accelerator=None)
    layer = read_workload(INPUTS / "workload" / f"{workload}.onnx").layers[position]
    problem = MappingProblem(
        layer=layer,
        accelerator=read_accelerator(INPUTS / "hardware" / f"{accelerator}.yaml"),
        constraints=mapping.of(layer),
    )
    return next(SpatialMappingGeneratorStage(max_mappings=1, mixed=True)(problem))


def _compare(spatial: SpatialProblem) -> float:
    """The reference's evaluations per CPU second; every mapping and cost must be equal to ours."""
    start = process_time()
    expected: Found = {}
    for mapping in reference_mappings(spatial, REFERENCE_LIMIT):
        cme = reference_imc_cme(spatial, mapping)
        expected[mapping] = cme.energy_total, cme.latency_total2
    theirs = len(expected) / (process_time() - start)
    check_equal(spatial, expected, REFERENCE_LIMIT)
    return theirs


if __name__ == "__main__":
    main()

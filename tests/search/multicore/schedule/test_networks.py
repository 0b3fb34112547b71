"""Real networks, cut into rows, finish on the bundled machines by all rules, and violate nothing.

``make stress`` (``NESTMAP_STRESS=1``) takes all networks on all machines, with more allocations.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest
import zigzag

from nestmap.model.base import copy_with
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.problem import StreamProblem
from nestmap.model.multicore.schedule import CandidateRule, ScheduleProblem
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages.multicore.intra_core import IntraCoreMappingStage
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations
from nestmap.search.multicore.allocation.lower_bounds import latency_bound
from nestmap.search.multicore.schedule.evaluator import schedule
from tests.search.multicore.schedule.checker import violations
from tests.sweeps import STRESS

ZIGZAG: Final = Path(str(zigzag.__file__)).parent / "inputs" / "workload"
GOLDEN: Final = Path(__file__).parents[3] / "golden" / "stream"


class Cut(NamedTuple):
    """A network, and the dimension that it is cut along, into so many tiles (``None``: all)."""

    workload: str
    dimension: str
    tiles: int | None = None


NETWORKS: Final = {
    "resnet18": Cut(str(GOLDEN / "resnet18.onnx"), "OY"),
    "fsrcnn": Cut(str(GOLDEN / "fsrcnn.onnx"), "OY", 54),
    "mobilenet": Cut(str(ZIGZAG / "mobilenetv2.onnx"), "OY"),
    "transformer": Cut("vit-b16-block", "D", 50),
}
MACHINES: Final = ("dual_shared", "mesh_4x4", "quad_hetero", "quad_tpu", "simba")
SAMPLE: Final = (("fsrcnn", "quad_hetero"), ("mobilenet", "dual_shared"))
CASES: Final = [(n, m) for n in NETWORKS for m in MACHINES] if STRESS else SAMPLE


@cache
def prepared(network: str, machine: str) -> ScheduleProblem:
    """The problem: the network, cut and costed."""
    cut = NETWORKS[network]
    problem = StreamProblem(
        workload=read_workload(cut.workload), accelerator=read_multicore(machine)
    )
    hints = (HintLoop(dimension=cut.dimension, tiles=cut.tiles),)
    split = GenerateCNWorkloadHybridStage(options=SplitOptions(hints=(hints,)))
    return IntraCoreMappingStage()(split(problem))


def allocations(problem: ScheduleProblem) -> list[Allocation]:
    """What heuristics say, and random ones."""
    random = Random(9)
    drawn = [
        tuple(random.choice(gene.cores) for gene in problem.space.groups)
        for _ in range(3 if STRESS else 1)
    ]
    return [*initial_allocations(problem)[: 3 if STRESS else 1], *drawn]


@pytest.mark.parametrize("rule", CandidateRule)
@pytest.mark.parametrize(("network", "machine"), CASES)
def test_networks_finish(network: str, machine: str, rule: CandidateRule) -> None:
    problem = prepared(network, machine)
    problem = replace(problem, options=copy_with(problem.options, {"rule": rule}))
    for allocation in allocations(problem):
        made = schedule(problem, allocation)
        assert not violations(made)
        assert made.latency >= latency_bound(problem, allocation)

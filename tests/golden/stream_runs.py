"""Recorded runs of Stream's genetic algorithm, and the same problems for nestmap."""

import lzma
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from nestmap.model import Counting, Frozen, LayerNode, MultiCoreAccelerator, VectorNode
from nestmap.model.base import copy_with
from nestmap.model.multicore.allocation import Allocation, AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import INFEASIBLE, CnCosts
from nestmap.model.multicore.cn_layer import LayerNest
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import CandidateRule, ScheduleOptions, ScheduleProblem
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.search.multicore.split.split_workload import split_workload

RUNS: Final = Path(__file__).parent / "stream_ga"
NETWORKS: Final = (RUNS, Path(__file__).parent / "stream")
NAMES: Final = tuple(sorted(x.name.removesuffix(".json.xz") for x in RUNS.glob("*.json.xz")))
COMPUTED: Final = frozenset({"MaxPool", "AveragePool", "GlobalAveragePool", "Add"})
"""Vector operators that become nodes in Stream."""


class RecordedCost(Frozen, frozen=True):
    """What the nodes of a layer cost on cores that are equal."""

    cores: tuple[int, ...]
    runtime: int
    onchip: float
    offchip: float
    streamed: tuple[str, ...]


class RecordedLayer(Frozen, frozen=True):
    """A layer, all of whose nodes cost the same."""

    number: int
    costs: tuple[RecordedCost, ...]


class Evaluated(Frozen, frozen=True):
    """The cores of the genes that are free, and what Stream says that they cost."""

    cores: tuple[int, ...]
    energy: float
    latency: int


class Searched(Frozen, frozen=True):
    """Fronts that Stream's genetic algorithm found on what nestmap's scheduler says.

    One for each seed from 0 on: the cores of the genes that are free.
    """

    individuals: int
    generations: int
    fronts: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def evaluations(self) -> int:
        """How many schedules each seed asked for."""
        return self.individuals * (self.generations + 1)


class RecordedRun(Frozen, frozen=True):
    """A run of stream-dse 0.0.8.

    ``nodes`` are layer, number there, group and bits of the output, ``edges`` the places of two
    nodes and bits; ``genes`` layers and groups, ``evaluated`` in the order in which it was done.
    """

    workload: str
    hints: tuple[tuple[str, int | None], ...]
    lpf_limit: int
    individuals: int
    generations: int
    seed: int
    machine: str
    layers: tuple[RecordedLayer, ...]
    nodes: tuple[tuple[int, int, int, int], ...]
    edges: tuple[tuple[int, int, int], ...]
    genes: tuple[tuple[int, int], ...]
    evaluated: tuple[Evaluated, ...]
    cpu_seconds: float
    searched: Searched


@cache
def recorded_run(name: str) -> RecordedRun:
    """A run by its name."""
    with lzma.open(RUNS / f"{name}.json.xz", "rt") as file:
        return RecordedRun.model_validate_json(file.read())


def problem_of(run: RecordedRun) -> ScheduleProblem:
    """What Stream's genetic algorithm worked on: its nodes, its costs, its machine."""
    nodes, accelerator = split_as(run), machine_of(run)
    return ScheduleProblem(
        accelerator=accelerator,
        nodes=nodes,
        space=_space(run, nodes),
        costs=_costs(run, nodes, accelerator),
        options=ScheduleOptions(rule=CandidateRule.MEMORY),
    )


def allocation_of(problem: ScheduleProblem, run: RecordedRun, cores: tuple[int, ...]) -> Allocation:
    """An allocation of all genes from the cores of those that are free."""
    chosen = dict(zip(run.genes, cores, strict=True))
    return tuple(
        chosen.get((gene.layer, gene.group), gene.cores[0]) for gene in problem.space.groups
    )


def network_of(run: RecordedRun) -> Path:
    """The ONNX file of its network."""
    return next(folder / run.workload for folder in NETWORKS if (folder / run.workload).exists())


def split_as(run: RecordedRun) -> CnWorkload:
    """The nodes of a run, made by nestmap."""
    workload = parse_onnx(network_of(run))
    return split_workload(workload, _options(run), _is_computed, lambda nest: None)


def machine_of(run: RecordedRun) -> MultiCoreAccelerator:
    """The machine of a run; the one port of its DRAM joins no two cores."""
    read = parse_multicore(RUNS / "machines" / f"{run.machine}.yaml")
    buses = tuple(copy_with(bus, {"hub": read.offchip}) for bus in read.buses)
    return copy_with(read, {"buses": buses})


def split_with_costs(run: RecordedRun) -> SplitProblem:
    """The nodes of a run on its machine in full, from which costs can be found.

    Partial sums have 16 bits, as all have there.
    """
    workload = parse_onnx(network_of(run))
    nodes = tuple(_summed(x) if isinstance(x, LayerNode) else x for x in workload.nodes)
    workload = copy_with(workload, {"nodes": nodes})
    problem = StreamProblem(workload=workload, accelerator=machine_of(run))
    return GenerateCNWorkloadHybridStage(options=_options(run))(problem)


def _options(run: RecordedRun) -> SplitOptions:
    hints = tuple(HintLoop(dimension=dimension, tiles=tiles) for dimension, tiles in run.hints)
    return SplitOptions(hints=(hints,), counting=Counting.REFERENCE)


def _summed(node: LayerNode) -> LayerNode:
    output = copy_with(node.layer.output, {"partial_precision": 16})
    return copy_with(node, {"layer": copy_with(node.layer, {"output": output})})


def _is_computed(node: VectorNode) -> bool:
    return node.operator in COMPUTED


def _space(run: RecordedRun, nodes: CnWorkload) -> AllocationSpace:
    cores_of = {
        layer.number: tuple(sorted(core for cost in layer.costs for core in cost.cores))
        for layer in run.layers
    }
    found: dict[tuple[int, int], int] = {}
    gene_of = [found.setdefault((layer, group), len(found)) for layer, _, group, _ in run.nodes]
    genes = tuple(NodeGroup(layer=x, group=group, cores=cores_of[x]) for x, group in found)
    assert len(gene_of) == len(nodes)
    return AllocationSpace(groups=genes, group_of=np.array(gene_of, dtype=np.int64))


def _costs(run: RecordedRun, nodes: CnWorkload, machine: MultiCoreAccelerator) -> CnCosts:
    """The costs of the run; what streams takes all that the way off the chip has, in 0.0.8."""
    cores = tuple(core.id for core in machine.compute_cores)
    shape = (len(run.layers), len(cores))
    rate = machine.buses[0].bandwidth or 0
    runtime = np.full(shape, INFEASIBLE, dtype=np.int64)
    onchip, offchip = np.zeros(shape), np.zeros(shape)
    streamed = np.zeros(shape, dtype=np.int64)
    for row, (layer, made) in enumerate(zip(run.layers, nodes.layers, strict=True)):
        for cost in layer.costs:
            columns = [cores.index(core) for core in cost.cores]
            runtime[row, columns] = cost.runtime
            onchip[row, columns] = cost.onchip
            offchip[row, columns] = cost.offchip
            streamed[row, columns] = sum(1 << _operand(made.nest, x) for x in set(cost.streamed))
    return CnCosts(
        kind=np.repeat(np.arange(len(run.layers)), np.diff(nodes.first_nodes)),
        cores=cores,
        runtime=runtime,
        onchip=onchip,
        offchip=offchip,
        streamed=streamed,
        read_rate=np.where(streamed, rate, 0),
        write_rate=np.zeros(shape, dtype=np.int64),  # that is the same way
    )


def _operand(nest: LayerNest, name: str) -> int:
    """The bit of an operand, by its name in Stream, where matrices and sums are of A and B."""
    if name == nest.output.operand:
        return 0
    inputs = [use.operand for use in nest.inputs]
    if name in inputs:
        return 1 + inputs.index(name)
    constants = [use.constant for use in nest.inputs]
    if any(constants):
        return 1 + constants.index(name in ("B", "W"))
    return 1 + ("A", "B").index(name)

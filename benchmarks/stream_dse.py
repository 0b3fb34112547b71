"""The other side of benchmarks/stream.py: stream-dse 0.0.8 as it is, under a Python that has it.

Run by its path with Python 3.11 and ``stream-dse==0.0.8 zigzag-dse==2.5.3 "numpy<2" "networkx<3.3"
matplotlib==3.7.2 "pandas<2.2" deap rtree plotly brokenaxes``, not nestmap. Reads a question in JSON
from its input and writes the answer in JSON to its output.
"""

import contextlib
import importlib
import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator, Mapping
from time import process_time
from types import ModuleType
from typing import Final, TypedDict

EXAMPLES: Final = "stream.inputs.examples"
MAPPING: Final = f"{EXAMPLES}.mapping.tpu_like_quad_core"
HETERO: Final = "tpu_meta_quad_core"
MACHINES: Final = {"tpu": f"{EXAMPLES}.hardware.TPU_like_quad_core", "hetero": HETERO}

State = dict[str, object]
"""What its stages hand on, by the names that they have there."""


class Question(TypedDict):
    """A network (a file), how it is split, the cores of its free layers in each allocation."""

    workload: str
    hints: list[tuple[str, int | None]]
    machine: str
    lpf_limit: int
    allocations: list[list[int]]


class Answer(TypedDict):
    """Cycles and pJ by layer and core, pJ and cycles of each allocation, and their CPU seconds."""

    costs: list[tuple[int, int, int, float]]
    cost_seconds: float
    fitness: list[tuple[float, int]]
    fitness_seconds: float


def main() -> None:
    """Answers one question."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    question: Question = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        answer = answered(question)
    json.dump(answer, sys.stdout)


def answered(question: Question) -> Answer:
    """Maps all nodes to the cores, then schedules the allocations."""
    sys.modules[HETERO] = _hetero()
    stages = importlib.import_module("stream.classes.stages")
    parsers = importlib.import_module("zigzag.classes.stages").AcceleratorParserStage
    network, nodes = stages.StreamONNXModelParserStage, stages.GenerateCNWorkloadHybridStage
    state = _state_after((parsers, network, nodes), _arguments(question))
    start = process_time()
    state = _state_after((stages.IntraCoreMappingStage,), state)
    mapped = process_time()
    search = stages.InterCoreMappingStage([], **state)
    scheduling = process_time()
    judged = map(search.fitness_evaluator.get_fitness, question["allocations"])
    fitness = [(float(energy), int(latency)) for energy, latency in judged]
    return Answer(
        costs=sorted(
            (node.id[0], core.id, int(cost.latency_total1), float(cost.energy_total))
            for node, by_core in search.node_hw_performances.items()
            for core, cost in by_core.items()
        ),
        cost_seconds=mapped - start,
        fitness=fitness,
        fitness_seconds=process_time() - scheduling,
    )


def _arguments(question: Question) -> State:
    return {
        "accelerator": MACHINES[question["machine"]],
        "workload_path": question["workload"],
        "mapping_path": MAPPING,
        "loma_lpf_limit": question["lpf_limit"],
        "nb_ga_individuals": 4,
        "nb_ga_generations": 1,
        "plot_hof": True,  # without it the search crashes
        "plot_file_name": "",
        "cn_define_mode": 1,
        "hint_loops": [(dimension, tiles or "all") for dimension, tiles in question["hints"]],
        "scheduler_candidate_selection": "memory",  # the other one crashes
        "operands_to_prefetch": [],
    }


def _state_after(chain: tuple[type, ...], state: State) -> State:
    """What some stages make of a state."""
    stage = importlib.import_module("zigzag.classes.stages.Stage").Stage
    main = importlib.import_module("zigzag.classes.stages").MainStage
    kept: State = {}

    def begin(_self: object, _after: object, **state: object) -> None:
        kept.update(state)

    def run(_self: object) -> Iterator[tuple[None, None]]:
        yield None, None

    def is_leaf(_self: object) -> bool:
        return True

    methods: Mapping[str, object] = {"__init__": begin, "run": run, "is_leaf": is_leaf}
    main([*chain, type("Last", (stage,), dict(methods))], **state).run()
    return kept


def _hetero() -> ModuleType:
    """A machine of two cores each of two sorts, all of them from its examples."""
    hardware = f"{EXAMPLES}.hardware"
    names = ("TPU_like", "Meta_prototype_like", "pooling", "simd")
    cores = [importlib.import_module(f"{hardware}.cores.{name}").get_core for name in names]
    tpu, meta, pooling, simd = cores
    offchip = importlib.import_module(f"{hardware}.cores.offchip").get_offchip_core
    mesh = importlib.import_module(f"{hardware}.nocs.mesh_2d").get_2d_mesh
    four = [tpu(0), tpu(1), meta(2), meta(3)]
    graph = mesh(four, 2, 2, 64, 0, pooling(id=4), simd(id=5), offchip(id=6))
    architecture = importlib.import_module("stream.classes.hardware.architecture.accelerator")
    module = ModuleType(HETERO)
    vars(module)["accelerator"] = architecture.Accelerator(HETERO, graph, offchip_core_id=6)
    return module


if __name__ == "__main__":
    main()

"""The search of spatial and temporal mappings: beside zigzag-dse, on more cores, with bounds."""

from __future__ import annotations

import logging
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from nestmap.model import NetworkProblem, Objective
from nestmap.pipeline.api import Exploration, explore_network, read_network
from nestmap.pipeline.plan import Rank, SearchPlan, search_plan
from nestmap.pipeline.stages import WorkloadStage
from nestmap.search import spatial_mappings

HINTS = """
- name: default
  spatial_mapping_hint: {D1: [OX], D2: [K, C, FX]}
  memory_operand_links: {O: O, W: I2, I: I1}
"""
"""Leaves both array dimensions open, so that three spatial mappings of each layer are searched."""

BUNDLED = Path(str(files("zigzag") / "inputs"))


def main() -> None:
    """Prints all comparisons; ``--quick`` leaves out the reference, which takes minutes."""
    if "--quick" not in sys.argv:
        beside_the_reference()
    on_more_cores()
    with_bounds()
    ranked_by_bounds()


def beside_the_reference() -> None:
    """AlexNet on eyeriss_like, three spatial mappings a layer, six loop factors: CPU seconds."""
    with TemporaryDirectory() as folder:
        mapping = Path(folder) / "mapping.yaml"
        mapping.write_text(HINTS)
        workload, machine = (
            BUNDLED / "workload/alexnet.onnx",
            BUNDLED / "hardware/eyeriss_like.yaml",
        )
        network = read_network(workload, machine, mapping)
        plan = search_plan(workers=1)
        explore_network(network, plan)  # compiles, if it has to
        ours, found = _cpu_seconds(network, plan)
        start = process_time()
        energy, latency = _reference(workload, machine, mapping, Path(folder))
        theirs = process_time() - start
    assert found.latency <= latency * (1 + 1e-9), (found.latency, latency)
    print(
        "alexnet, eyeriss_like, 3 spatial mappings, lpf 6, latency | nestmap | zigzag-dse | ratio"
    )
    print(f"CPU seconds | {ours:.3f} | {theirs:.1f} | {theirs / ours:,.0f}")
    print(f"latency | {found.latency:,.0f} | {latency:,.0f} |")
    print(f"energy | {found.energy:,.0f} | {energy:,.0f} |")
    print(f"mappings evaluated | {found.total.evaluations:,} |  |")


def _reference(workload: Path, machine: Path, mapping: Path, folder: Path) -> tuple[float, float]:
    from zigzag.api import get_hardware_performance_zigzag  # noqa: PLC0415 (it sets up logging)

    logging.disable(logging.CRITICAL)
    results = get_hardware_performance_zigzag(
        str(workload),
        str(machine),
        str(mapping),
        opt="latency",
        lpf_limit=6,
        nb_spatial_mappings_generated=3,
        loma_show_progress_bar=False,
        dump_folder=str(folder),
        pickle_filename=str(folder / "cmes.pickle"),
    )
    return float(results[0]), float(results[1])


def on_more_cores() -> None:
    """One layer at a time, its orders spread over threads: wall seconds; equal results asserted."""
    network = read_network("light:alexnet", "tpu_like")
    found: dict[int, tuple[float, Exploration]] = {}
    for workers in (1, 2):
        plan = search_plan(lpf_limit=9, workers=workers)
        explore_network(network, plan)
        start = perf_counter()
        exploration = explore_network(network, plan)
        found[workers] = perf_counter() - start, exploration
    (one, first), (two, second) = found[1], found[2]
    assert first.total == second.total
    print(f"alexnet, tpu_like, lpf 9, {first.total.evaluations:,} mappings: wall seconds")
    print(f"1 thread {one:.2f} | 2 threads {two:.2f} | {one / two:.2f} times as fast")


def with_bounds() -> None:
    """What bounds save, and what more candidates than the usual three are worth."""
    print("network, machine, objective | searched of 50 | CPU seconds, all | with bounds | 3 : 50")
    for workload, machine in (
        ("light:alexnet", "eyeriss_like"),
        ("light:squeezenet", "tesla_npu_like"),
        ("light:squeezenet", "meta_prototype"),
    ):
        network = read_network(workload, machine)
        network = NetworkProblem(workload=network.workload, accelerator=network.accelerator)
        for objective in Objective:
            _bounds_row(network, objective)


def _bounds_row(network: NetworkProblem, objective: Objective) -> None:
    def plan(count: int, *, prune: bool) -> SearchPlan:
        return search_plan(
            objective=objective,
            spatial_mappings=count,
            mixed=True,
            prune=prune,
            workers=1,
        )

    explore_network(network, plan(3, prune=True))
    seconds_all, everything = _cpu_seconds(network, plan(50, prune=False))
    seconds_pruned, pruned = _cpu_seconds(network, plan(50, prune=True))
    assert [x.cme for x in everything.layers] == [x.cme for x in pruned.layers]
    few = explore_network(network, plan(3, prune=False))
    left_out = sum(x.statistics.pruned for x in pruned.layers)
    problems = list(WorkloadStage()(network))
    searched = 1 - left_out / sum(len(spatial_mappings(x, 50, True)) for x in problems)
    gain = _sum(few, objective) / _sum(everything, objective)
    name = f"{network.workload.name}, {network.accelerator.name}, {objective}"
    print(f"{name} | {searched:.0%} | {seconds_all:.2f} | {seconds_pruned:.2f} | {gain:.3f}")


def ranked_by_bounds() -> None:
    """Three spatial mappings chosen of 50: by utilization and diversity, or by their bounds."""
    print("network, machine, objective | best of 3 by rank : of 50 | best of 3 by bound : of 50")
    for workload, machine in (
        ("light:alexnet", "eyeriss_like"),
        ("light:squeezenet", "tesla_npu_like"),
        ("light:squeezenet", "meta_prototype"),
    ):
        network = read_network(workload, machine)
        network = NetworkProblem(workload=network.workload, accelerator=network.accelerator)
        for objective in Objective:
            _rank_row(network, objective)


def _rank_row(network: NetworkProblem, objective: Objective) -> None:
    def found(count: int, rank: Rank) -> float:
        plan = search_plan(objective=objective, spatial_mappings=count, mixed=True, rank=rank)
        return _sum(explore_network(network, plan), objective)

    everything = found(50, Rank.UTILIZATION)
    usual, bound = (found(3, rank) / everything for rank in Rank)
    name = f"{network.workload.name}, {network.accelerator.name}, {objective}"
    print(f"{name} | {usual:.3f} | {bound:.3f}")


def _sum(exploration: Exploration, objective: Objective) -> float:
    return sum(objective.of(layer.cme) for layer in exploration.layers)


def _cpu_seconds(network: NetworkProblem, plan: SearchPlan) -> tuple[float, Exploration]:
    start = process_time()
    exploration = explore_network(network, plan)
    return process_time() - start, exploration


if __name__ == "__main__":
    main()

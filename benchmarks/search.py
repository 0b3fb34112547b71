"""The search of spatial and temporal mappings: beside zigzag-dse, on more cores, with bounds."""

import logging
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from nestmap.model import NetworkProblem, Objective
from nestmap.pipeline.explore.api import Exploration, explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import WorkloadStage
from nestmap.pipeline.stages.mapping.temporal_search import Rank
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


def beside_the_reference() -> None:
    """AlexNet on two machines, six loop factors: CPU seconds of both, equal results asserted."""
    print("alexnet, lpf 6, latency | nestmap, CPU s | zigzag-dse, CPU s | ratio | mappings")
    with TemporaryDirectory() as folder:
        open_mapping = Path(folder) / "mapping.yaml"
        open_mapping.write_text(HINTS)
        _row_beside("eyeriss_like", open_mapping, Path(folder))
        _row_beside("tpu_like", BUNDLED / "mapping/tpu_like.yaml", Path(folder))


def _row_beside(machine: str, mapping: Path, folder: Path) -> None:
    files_given = BUNDLED / "workload/alexnet.onnx", BUNDLED / f"hardware/{machine}.yaml", mapping
    plan = SearchPlan.of(SearchOptions(search="loma", spatial_mappings=3, workers=1))
    explore_network(read_network(*files_given), plan)  # compiles, if it has to
    start = process_time()
    found = explore_network(read_network(*files_given), plan)
    ours, start = process_time() - start, process_time()
    energy, latency = _reference(*files_given, folder)
    theirs = process_time() - start
    assert abs(found.latency - latency) <= latency * 1e-9, (found.latency, latency)
    assert abs(found.energy - energy) <= energy * 1e-9, (found.energy, energy)
    mappings = found.total.evaluations
    print(f"{machine} | {ours:.3f} | {theirs:.1f} | {theirs / ours:,.0f} | {mappings:,}")


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
        plan = SearchPlan.of(SearchOptions(search="loma", lpf_limit=9, workers=workers))
        explore_network(network, plan)
        start = perf_counter()
        exploration = explore_network(network, plan)
        found[workers] = perf_counter() - start, exploration
    (one, first), (two, second) = found[1], found[2]
    assert first.total == second.total
    print(f"alexnet, tpu_like, lpf 9, {first.total.evaluations:,} mappings: wall seconds")
    print(f"1 thread {one:.2f} | 2 threads {two:.2f} | {one / two:.2f} times as fast")


def with_bounds() -> None:
    """Fifty mixed spatial mappings a layer: what bounds save, and what they are worth as a rank."""
    print("network, machine, objective | searched | CPU s, all | pruned | 3 by rank | 3 by bound")
    for workload, machine in (
        ("light:alexnet", "eyeriss_like"),
        ("light:squeezenet", "tesla_npu_like"),
        ("light:squeezenet", "meta_prototype"),
    ):
        network = read_network(workload, machine, "free")
        for objective in Objective:
            _bounds_row(network, objective)


def _bounds_row(network: NetworkProblem, objective: Objective) -> None:
    def plan(count: int, *, prune: bool = False, rank: Rank = Rank.UTILIZATION) -> SearchPlan:
        return SearchPlan.of(
            SearchOptions(
                search="loma",
                objective=objective,
                spatial_mappings=count,
                mixed=True,
                rank=rank,
                prune=prune,
                workers=1,
            )
        )

    explore_network(network, plan(3, prune=True))
    seconds_all, everything = _cpu_seconds(network, plan(50))
    seconds_pruned, pruned = _cpu_seconds(network, plan(50, prune=True))
    assert [x.cme for x in everything.layers] == [x.cme for x in pruned.layers]
    left_out = sum(x.statistics.pruned for x in pruned.layers)
    problems = list(WorkloadStage()(network))
    searched = 1 - left_out / sum(len(spatial_mappings(x, 50, True)) for x in problems)
    least = _sum(everything, objective)
    by_rank, by_bound = (
        _sum(explore_network(network, plan(3, rank=rank)), objective) / least for rank in Rank
    )
    name = f"{network.workload.name}, {network.accelerator.name}, {objective}"
    seconds = f"{seconds_all:.2f} | {seconds_pruned:.2f}"
    print(f"{name} | {searched:.0%} | {seconds} | {by_rank:.3f} | {by_bound:.3f}")


def _sum(exploration: Exploration, objective: Objective) -> float:
    return sum(objective.of(layer.cme) for layer in exploration.layers)


def _cpu_seconds(network: NetworkProblem, plan: SearchPlan) -> tuple[float, Exploration]:
    start = process_time()
    exploration = explore_network(network, plan)
    return process_time() - start, exploration


if __name__ == "__main__":
    main()

"""Networks with all tensors in the outermost memory, and with tensors kept on chip.

Run ``python -m benchmarks.on_chip [--fuse] [--network NETWORK] [--attention TOKENS]
[--mapping MAPPING] [--objective OBJECTIVE] [ACCELERATOR ...]``. With ``--fuse``, networks with
whole tensors kept on chip, and fused; ``--attention``: one of BERT-base alone. CPU time of one
thread, compiled; vector operators are counted in both. That no network costs more with
``--keep-on-chip``, nor less than its bound, nor more with ``--fuse``, is asserted in the same run.
Prints a row for each accelerator, network and objective.
"""

from argparse import ArgumentParser
from dataclasses import dataclass
from time import process_time

import nestmap
from benchmarks.exact import ROUNDING
from nestmap.model import InfeasibleError, NetworkEvaluation, NetworkProblem, Objective, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.roofline import bytes_moved
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.bundled import accelerator_names

NETWORKS = ("light:squeezenet", "light:resnet50", "mobilenet-v2", "bert-base")
OBJECTIVES = (Objective.ENERGY, Objective.LATENCY)


@dataclass(frozen=True)
class Found:
    """A network: its evaluation, and the CPU seconds that it took."""

    total: NetworkEvaluation
    seconds: float


def main() -> None:
    """Prints the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("accelerator", nargs="*", default=accelerator_names())
    parser.add_argument("--network", action="append")
    parser.add_argument("--attention", action="append", type=int)
    parser.add_argument("--mapping")
    parser.add_argument("--objective", action="append", type=Objective)
    parser.add_argument("--fuse", action="store_true")
    asked = parser.parse_args()
    columns = ("accelerator", "network", "objective", "uJ", "k cycles", "DRAM, MB", "gap", "CPU s")
    print(f"| {' | '.join(columns)} |")
    print(f"|{' --- |' * len(columns)}")
    for machine in asked.accelerator:
        warm = read_network(NETWORKS[0], machine, asked.mapping)
        for objective in OBJECTIVES:
            search(warm, SearchPlan(objective=objective, fuse=True))  # loads the kernels
        heads = [attention_of(tokens) for tokens in asked.attention or ()]
        for name in [*(asked.network or ()), *heads] or NETWORKS:
            network = read_network(name, machine, asked.mapping)
            for objective in asked.objective or OBJECTIVES:
                print(row(network, objective, fuse=asked.fuse), flush=True)


def attention_of(tokens: int) -> Workload:
    """An attention of twelve heads of 64, as in BERT-base."""
    nodes = nestmap.attention("attention", (1, 12, tokens, 64))
    return nestmap.network(f"attention of {tokens:,} tokens", nodes)


def row(network: NetworkProblem, objective: Objective, *, fuse: bool) -> str:
    """A row of the table: outside beside on chip, or on chip beside fused."""
    workload = network.workload.name.removeprefix("light_")
    name = f"{network.accelerator.name} | {workload} | {objective}"
    try:
        plan = SearchPlan(objective=objective, count_vector=True)
        whole, tiled = copy_with(plan, {"keep_on_chip": True}), copy_with(plan, {"fuse": True})
        pair = (whole, tiled) if fuse else (plan, whole)
        outside, kept = (search(network, x) for x in pair)
    except InfeasibleError:
        return f"| {name} | does not fit | | | | |"
    assert objective.of(kept.total) <= objective.of(outside.total) * (1 + ROUNDING), name
    bound = kept.total.bound
    assert bound is not None, name
    assert bound.value <= objective.of(kept.total) * (1 + ROUNDING), name
    pairs = [
        f"{outside.total.energy / 1e6:.4g} to {kept.total.energy / 1e6:.4g}",
        f"{outside.total.latency / 1e3:,.0f} to {kept.total.latency / 1e3:,.0f}",
        f"{megabytes(network, outside.total):.2f} to {megabytes(network, kept.total):.2f}",
        "" if kept.total.gap is None else f"{kept.total.gap:.2%}",
        f"{outside.seconds:.1f}, {kept.seconds:.1f}",
    ]
    return f"| {name} | {' | '.join(pairs)} |"


def search(network: NetworkProblem, plan: SearchPlan) -> Found:
    """An exploration of a network, and how long it took."""
    start = process_time()
    total = explore_network(network, plan).total
    return Found(total, process_time() - start)


def megabytes(network: NetworkProblem, total: NetworkEvaluation) -> float:
    """What the outermost memory of outputs reads and writes, layers and vector operators."""
    memory = network.accelerator.levels_of("O")[-1].name
    layers = sum(bytes_moved(x.cme, network.accelerator).get(memory, 0.0) for x in total.layers)
    vector = (x for x in total.vector if x.memory == memory)
    return (layers + sum((x.bits_read + x.bits_written) / 8 for x in vector)) / 1e6


if __name__ == "__main__":
    main()

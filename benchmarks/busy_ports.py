"""How often ports are busy for longer than optimal mappings take, and what strict ports cost.

Each bundled accelerator with its own mapping and some bundled networks: the share of layers with an
overloaded port, the most that one is busy beyond the latency, and by how much the network takes
longer where ports are strict, with mappings found for them.

    python -m benchmarks.busy_ports
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nestmap.model import Accelerator, NetworkEvaluation, NetworkProblem, Objective
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan

ACCELERATORS: Final = (
    *("ascend_like", "edge_22nm", "edge_tpu_like", "eyeriss_like", "meta_prototype"),
    *("tesla_npu_like", "tpu_like"),
)
NETWORKS: Final = ("light:alexnet", "light:resnet50", "light:shufflenet")
OBJECTIVES: Final = (Objective.ENERGY, Objective.LATENCY)


def rows() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Accelerator, network and objective; overloaded layers, the worst of them, the strict cost."""
    for machine in ACCELERATORS:
        for workload in NETWORKS:
            loose = read_network(workload, machine)
            strict = copy_with(loose, {"accelerator": _strict(loose.accelerator)})
            for objective in OBJECTIVES:
                found, limited = (_explored(x, objective) for x in (loose, strict))
                assert not any(x.cme.overloaded_port for x in limited.layers)
                excess = [
                    (port.busy or 0) / x.cme.latency - 1
                    for x in found.layers
                    if (port := x.cme.overloaded_port) is not None
                ]
                yield (
                    machine,
                    workload.removeprefix("light:"),
                    objective.value,
                    f"{len(excess)} of {len(found.layers)}",
                    f"{max(excess, default=0.0):.1%}",
                    f"{_cost(limited, objective) / _cost(found, objective) - 1:.2%}",
                )


def _strict(accelerator: Accelerator) -> Accelerator:
    return copy_with(accelerator, {"strict_ports": True})


def _explored(network: NetworkProblem, objective: Objective) -> NetworkEvaluation:
    plan = SearchPlan.of(SearchOptions(objective=objective, time_limit=5))
    return explore_network(network, plan).total


def _cost(total: NetworkEvaluation, objective: Objective) -> float:
    return total.energy if objective is Objective.ENERGY else total.latency


def main() -> None:
    """Prints the table in Markdown."""
    print("| accelerator | network | objective | overloaded layers | at most | strict ports |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows():
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()

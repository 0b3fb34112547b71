"""By how much the two countings differ: exact, and as ZigZag counts.

Bundled accelerators with their mappings and bundled networks, each mapped for latency and for
energy in both countings. A row has how much more the optimum takes in exact counting, and in how
many layers of the reference's optimum for latency a port is busy for longer than the layer takes.

    python -m benchmarks.counting
"""

from collections.abc import Iterator
from typing import Final

from nestmap.model import NetworkEvaluation, Objective
from nestmap.pipeline.explore.api import explore

ACCELERATORS: Final = (
    *("ascend_like", "edge_22nm", "edge_tpu_like", "eyeriss_like", "meta_prototype"),
    *("tesla_npu_like", "tpu_like", "aimc", "dimc"),
)
NETWORKS: Final = ("light:alexnet", "light:resnet50", "light:shufflenet", "light:squeezenet")


def rows() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Accelerator, network, latency and energy of exact counting against the reference's; ports."""
    for machine in ACCELERATORS:
        for workload in NETWORKS:
            fast, slow = (_explored(workload, machine, Objective.LATENCY, x) for x in (True, False))
            cheap, dear = (_explored(workload, machine, Objective.ENERGY, x) for x in (True, False))
            assert not any(x.cme.overloaded_port for found in (slow, dear) for x in found.layers)
            excess = [
                (port.busy or 0) / x.cme.latency - 1
                for x in fast.layers
                if (port := x.cme.overloaded_port) is not None
            ]
            yield (
                f"`{machine}`",
                workload.removeprefix("light:"),
                f"{slow.latency / fast.latency - 1:+.2%}",
                f"{dear.energy / cheap.energy - 1:+.2%}",
                f"{len(excess)} of {len(fast.layers)}",
                f"{max(excess, default=0.0):.1%}",
            )


def _explored(
    workload: str, machine: str, objective: Objective, reference: bool
) -> NetworkEvaluation:
    return explore(workload, machine, objective=objective, reference=reference).total


def main() -> None:
    """Prints the table in Markdown."""
    print("| accelerator | network | latency | energy | overloaded layers | at most |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows():
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()

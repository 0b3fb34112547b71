"""How long it takes to split networks into computation nodes, and how much memory.

Run ``python -m benchmarks.split``; each case runs in a process of its own, for its peak memory.
"""

import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from time import process_time
from types import MappingProxyType
from typing import Final, final

from nestmap.model import Counting, VectorNode, Workload
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.search.multicore.split.split_workload import split_workload

GOLDEN: Final = Path(__file__).parents[1] / "tests" / "golden" / "stream"
STREAM_KNOWS: Final = frozenset({"MaxPool", "AveragePool", "GlobalAveragePool", "Add"})
"""Vector operators that become nodes in Stream."""
REPEATED: Final = 3
MIB: Final = 2**20


@final
@dataclass(frozen=True)
class Case:
    """A network, how it is split, and what the issue asks for: CPU seconds, MB.

    ``nodes`` and ``edges`` are what comes out (asserted).
    """

    network: str
    hints: tuple[tuple[str, int | None], ...]
    nodes: int
    edges: int
    seconds: float | None = None
    megabytes: float | None = None
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    counting: Counting = Counting.EXACT
    vector: bool = True


CASES: Final = MappingProxyType(
    {
        "ResNet-18, a row each, as Stream": Case(
            str(GOLDEN / "resnet18.onnx"),
            (("OY", None),),
            849,
            2_693,
            seconds=0.2,
            counting=Counting.REFERENCE,
            vector=False,
        ),
        "ResNet-18, a row each": Case(
            str(GOLDEN / "resnet18.onnx"), (("OY", None),), 1_381, 3_740, seconds=0.2
        ),
        "FSRCNN, 24 parts of each row": Case(
            str(GOLDEN / "fsrcnn.onnx"), (("OY", None), ("OX", 24)), 103_680, 695_892, 20, 1000
        ),
        "FSRCNN, 240 parts of each row": Case(
            str(GOLDEN / "fsrcnn.onnx"), (("OY", None), ("OX", 240)), 1_036_800, 7_104_612
        ),
        "Llama-7B, a block, 1024 tokens, a row each": Case(
            "llama-7b-prefill-block", (("D", None),), 18_432, 2_135_022, dims={"seq": 1024}
        ),
        "Llama-70B, a block, 4096 tokens, 64 parts": Case(
            "llama-70b-prefill-block", (("D", 64),), 1_152, 26_670, megabytes=1000
        ),
    }
)


def main() -> None:
    """Runs one case, or each in a process of its own."""
    if len(sys.argv) > 1:
        run(sys.argv[1], CASES[sys.argv[1]])
        return
    for name in CASES:
        subprocess.run([sys.executable, "-m", "benchmarks.split", name], check=True)


def run(name: str, case: Case) -> None:
    """Splits a network a few times and prints the least time and the peak memory."""
    workload = read_workload(case.network, case.dims)
    before = _peak()
    seconds, split = min((_timed(workload, case) for _ in range(REPEATED)), key=lambda x: x[0])
    peak = _peak()
    assert (len(split), len(split.edges)) == (case.nodes, case.edges), (
        len(split),
        len(split.edges),
    )
    elements = max(
        prod(axis.size for axis in use.axes)
        for layer in split.layers
        for use in (layer.nest.output, *layer.nest.inputs)
    )
    print(
        f"{name}: {len(split):,} nodes, {len(split.edges):,} edges, {seconds:.3f} CPU s, "
        f"peak {peak:.0f} MB ({peak - before:.0f} above the start); largest tensor "
        f"{elements:,} elements",
        flush=True,
    )
    assert case.seconds is None or seconds <= case.seconds
    assert case.megabytes is None or peak <= case.megabytes


def _timed(workload: Workload, case: Case) -> tuple[float, CnWorkload]:
    hints = tuple(HintLoop(dimension=d, tiles=n) for d, n in case.hints)
    options = SplitOptions(hints=(hints,), counting=case.counting)

    def computes(node: VectorNode) -> bool:
        return case.vector or node.operator in STREAM_KNOWS

    start = process_time()
    split = split_workload(workload, options, computes, lambda nest: None)
    return process_time() - start, split


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB


if __name__ == "__main__":
    main()

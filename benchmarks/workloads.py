"""Whole networks that users have, explored on two machines: time, memory, repeated blocks."""

import os
import subprocess
import sys
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import zigzag

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan

NESTMAP = str(Path(sys.executable).with_name("nestmap"))
MOBILENET = Path(str(zigzag.__file__)).parent / "inputs" / "workload" / "mobilenetv2.onnx"
MACHINES = ("tpu_like", "eyeriss_like")
NETWORKS = (
    "bert-large",
    "llama-70b-prefill-block",
    "llama-70b-decode-block",
    "llama-70b-prefill",
    "llama-70b-decode",
    "light:inception_v1",
    "light:inception_v2",
    str(MOBILENET),
)
BLOCKS = (
    ("llama-70b-prefill", "llama-70b-prefill-block"),
    ("llama-70b-decode", "llama-70b-decode-block"),
)


def main() -> None:
    """Prints a row for each network and machine, and whole networks beside one of their blocks."""
    with TemporaryDirectory() as folder:
        _run(["light:alexnet", "-a", "tpu_like", "--no-store"])  # compiles if it is new
        for network in NETWORKS:
            for machine in MACHINES:
                store = Path(folder) / "bench.duckdb"
                cpu, peak = _run([network, "-a", machine, "--store", str(store)])
                size = store.stat().st_size / 2**20
                store.unlink()
                name = Path(network).name
                print(f"{name} on {machine}: {cpu:.2f} CPU s, {peak:.0f} MB, store {size:.1f} MB")
    for whole, block in BLOCKS:
        for machine in MACHINES:
            _compare(whole, block, machine)


def _run(arguments: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MB of an exploration."""
    command = [NESTMAP, "explore", *arguments, "--search", "loma"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _compare(whole: str, block: str, machine: str) -> None:
    """The CPU time of a network over that of one of its blocks; their layers cost the same."""
    _explored(block, machine)
    one_time, one = _explored(block, machine)
    all_time, every = _explored(whole, machine)
    costs = {_content(name): cme for name, cme in _costs(one).items()}
    for name, (energy, latency) in _costs(every).items():
        expected = costs.get(_content(name))
        if expected is not None:
            assert isclose(energy, expected[0], rel_tol=1e-12), name
            assert isclose(latency, expected[1], rel_tol=1e-12), name
    print(
        f"{whole} on {machine}: {len(every.layers)} layers, {every.evaluations} mappings "
        f"in {all_time:.3f} CPU s; one block: {len(one.layers)} layers, "
        f"{one.evaluations} mappings in {one_time:.3f} CPU s"
    )


def _explored(network: str, machine: str) -> tuple[float, NetworkEvaluation]:
    """CPU seconds of the exploration alone, and what it found."""
    problem = read_network(network, machine)
    start = process_time()
    total = explore_network(problem, SearchPlan.of(SearchOptions(search="loma", workers=1))).total
    return process_time() - start, total


def _costs(total: NetworkEvaluation) -> dict[str, tuple[float, float]]:
    return {x.cme.layer: (x.cme.energy, x.cme.latency) for x in total.layers}


def _content(name: str) -> str:
    """What a layer is in its block: its name without the block's."""
    return name.rpartition("/")[2]


if __name__ == "__main__":
    main()

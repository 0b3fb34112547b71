"""Fused convolutions on the same machine in AccelForge and in nestmap: CPU seconds and gain.

Run ``python -m benchmarks.accelforge PYTHON [LAYERS ...]``; ``PYTHON`` is the interpreter of an
environment with AccelForge (``pip install accelforge``, for Python 3.12) and Graphviz. Chains of
3x3 convolutions of 32 channels that end at 56 x 56, without padding; energy; one thread each,
compiled. The models differ: AccelForge counts what data moves, bit by bit, and unrolls only loops
that share inputs along one side of the array and sums along the other; nestmap counts whole words
and fills, and any loops. So each gain is that over the same tool without fusion. Prints a row for
each number of layers and tool.
"""

import json
import subprocess
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from nestmap.model import NetworkProblem, Objective
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.plan import SearchPlan

CHANNELS = 32
SIZE = 56
SIDE = 32  # of the array: output channels by sums

MAC_ENERGY = 0.04  # pJ
SRAM_BITS = 2**24
WIDTHS = {"DRAM": 64, "SRAM": 1024, "Register": 8}
"""Bits of an access to each memory."""

ENERGIES = {"DRAM": (700.0, 700.0), "SRAM": (208.08, 189.2), "Register": (0.01, 0.01)}
"""Energies (pJ) of reading and writing so many: as in meta_prototype, but for writes to DRAM."""


@dataclass(frozen=True)
class Found:
    """CPU seconds of the fused search, and energies (pJ) with and without fusion."""

    seconds: float
    unfused: float
    fused: float


def main() -> None:
    """Prints the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("layers", nargs="*", type=int, default=[2, 3])
    asked = parser.parse_args()
    print("| layers | tool | CPU s | unfused, uJ | fused, uJ | gain |")
    print("| --- | --- | --- | --- | --- | --- |")
    explored(1)  # loads the kernels
    for layers in asked.layers:
        for tool, found in (
            ("AccelForge", mapped(asked.python, layers)),
            ("nestmap", explored(layers)),
        ):
            gain = 1 - found.fused / found.unfused
            energies = f"{found.unfused / 1e6:.2f} | {found.fused / 1e6:.2f}"
            print(f"| {layers} | {tool} | {found.seconds:.2f} | {energies} | {gain:.1%} |")


# --- nestmap ---


def explored(layers: int) -> Found:
    """What nestmap finds."""
    network = read_network([layer(n, layers) for n in range(layers)], accelerator())
    start = process_time()
    fused = energy(network, fuse=True)
    return Found(process_time() - start, energy(network, fuse=False), fused)


def energy(network: NetworkProblem, *, fuse: bool) -> float:
    """The energy of a network (pJ)."""
    plan = SearchPlan(objective=Objective.ENERGY, fuse=fuse).with_options({"workers": 1})
    return explore_network(network, plan).total.energy


def layer(n: int, layers: int) -> dict[str, object]:
    """A convolution of a chain, as a file has it."""
    size = SIZE + 2 * (layers - 1 - n)
    return {
        "id": n,
        "operator_type": "Conv",
        "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        "dimension_relations": ["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
        "loop_dims": ["B", "K", "C", "OY", "OX", "FY", "FX"],
        "loop_sizes": [1, CHANNELS, CHANNELS, size, size, 3, 3],
        "operand_precision": {"W": 8, "I": 8, "O": 8, "O_final": 8},
        "operand_source": {"I": max(n - 1, 0), "W": n},
    }


def accelerator() -> dict[str, object]:
    """The machine, as a file has it."""
    every = {"I1": ("tl", "fh"), "I2": ("tl", "fh"), "O": ("tl", "fl", "th", "fh")}
    return {
        "name": "one_sram",
        "operational_array": {
            "dimensions": ["D1", "D2"],
            "sizes": [SIDE, SIDE],
            "unit_energy": MAC_ENERGY,
            "unit_area": 0,
        },
        "memories": {
            "Register": memory("Register", 8, {"I2": ("tl", "fh")}, []),
            "SRAM": memory("SRAM", SRAM_BITS, every, ["D1", "D2"]),
            "DRAM": memory("DRAM", 2**40, every, ["D1", "D2"]),
        },
    }


def memory(
    name: str, bits: int, movements: dict[str, tuple[str, ...]], served: list[str]
) -> dict[str, object]:
    """A memory, as a file has it, with one port."""
    port = {
        "name": "port",
        "type": "read_write",
        "bandwidth_min": 8,
        "bandwidth_max": WIDTHS[name],
        "allocation": [f"{operand}, {x}" for operand, found in movements.items() for x in found],
    }
    return {
        "size": bits,
        "operands": [*movements],
        "served_dimensions": served,
        "r_cost": ENERGIES[name][0],
        "w_cost": ENERGIES[name][1],
        "area": 0,
        "ports": [port],
    }


# --- AccelForge ---

PROGRAM = """
import json, sys, time
import accelforge
accelforge.set_n_parallel_jobs(1)
seconds, energies = [], []
for file in sys.argv[1:]:
    spec = accelforge.Spec.from_yaml(file)
    spec.mapper.metrics = accelforge.Metrics.ENERGY
    start = time.process_time()
    energies.append(float(spec.map_workload_to_arch(print_progress=False).energy()))
    seconds.append(time.process_time() - start)
print(json.dumps([seconds[0], energies[1], energies[0]]))
"""


def mapped(python: str, layers: int) -> Found:
    """What AccelForge finds."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("fused.yaml", "unfused.yaml")]
        for file, kept in zip(files, ("~Intermediates", "All"), strict=True):
            file.write_text("\n".join(specification(layers, kept)))
        command = [python, "-c", PROGRAM, *map(str, files)]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return Found(*json.loads(run.stdout.splitlines()[-1]))


def specification(layers: int, kept: str) -> Iterator[str]:
    """The same machine and network for AccelForge, with these tensors in DRAM."""
    yield "{arch: {nodes: ["
    yield _memory("DRAM", "inf", f"keep: {kept}, may_keep: All")
    yield _memory("SRAM", str(SRAM_BITS), "keep: ~DRAM, may_keep: All")
    yield "!Container {name: Array, spatial: ["
    yield f"{{name: D1, fanout: {SIDE}, may_reuse: input, reuse: input}},"
    yield f"{{name: D2, fanout: {SIDE}, may_reuse: output, reuse: output}}]}},"
    yield _memory("Register", "8", "keep: weight")
    yield "!Compute {name: MAC, leak_power: 0, area: 0, actions: ["
    yield f"{{name: compute, energy: {MAC_ENERGY}, latency: 1}}]}}]}},"
    yield f"workload: {{bits_per_value: {{All: 8}}, rank_sizes: {{{_sizes(layers)}}}, einsums: ["
    for n in range(1, layers + 1):
        image = f"P{n - 1}: p{n} + r{n}, Q{n - 1}: q{n} + s{n}, C{n - 1}: c{n - 1}"
        yield f"{{name: Conv{n}, renames: {{input: T{n - 1}, weight: W{n}, output: T{n}}},"
        yield f"iteration_space_shape: [0 <= r{n} < 3, 0 <= s{n} < 3], tensor_accesses: ["
        yield f"{{name: T{n - 1}, projection: {{{image}}}}},"
        yield f"{{name: W{n}, projection: [c{n - 1}, c{n}, r{n}, s{n}]}},"
        yield f"{{name: T{n}, projection: [p{n}, q{n}, c{n}], output: True}}]}},"
    yield "]}}"


def _memory(name: str, size: str, tensors: str) -> str:
    """A memory, with the energy (pJ) and the time (cycles) of each bit."""
    width = WIDTHS[name]
    actions = ", ".join(
        f"{{name: {action}, energy: {energy / width}, latency: {1 / width}}}"
        for action, energy in zip(("read", "write"), ENERGIES[name], strict=True)
    )
    return (
        f"!Memory {{name: {name}, size: {size}, leak_power: 0, area: 0, "
        f"tensors: {{{tensors}}}, actions: [{actions}]}},"
    )


def _sizes(layers: int) -> str:
    channels = [f"C{n}: {CHANNELS}" for n in range(layers + 1)]
    sides = [f"{x}{n}: {SIZE + 2 * (layers - n)}" for n in range(1, layers + 1) for x in "PQ"]
    return ", ".join([*channels, *sides])


if __name__ == "__main__":
    main()

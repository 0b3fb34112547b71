"""Chips that fuse layers: what was measured of them, and what nestmap's schedules say.

Source: Symons, Mei, Colleman, Houshmand, Karl, Verhelst, "Stream: Design Space Exploration of
Layer-Fused DNNs on Heterogeneous Dataflow Accelerators", IEEE TC 74(1), 2025 (arXiv:2212.10612),
validation: cycles and memory in use, measured and of Stream. How chips and networks are described
is in the files, with their sources.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from benchmarks.silicon.table import error
from nestmap import stream, stream_plan
from nestmap.model import Counting
from nestmap.model.base import copy_with
from nestmap.model.multicore.schedule import Schedule
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.pipeline.stages.multicore.split import split_options

DATA: Final = Path(__file__).parents[1] / "data"


class Figures(NamedTuple):
    """Cycles of a network, and KB of what its layers hand on to each other, at its peak."""

    cycles: float
    kilobytes: float


class Chip(NamedTuple):
    """A chip and the network that ran on it, fused by rows: measured, and as Stream models it."""

    network: str
    workload: str
    mapping: str | None
    measured: Figures
    stream: Figures


class Modelled(NamedTuple):
    """What nestmap says: fused by rows, cycles layer by layer, and busy cycles of the cores.

    ``reference`` are the cycles of the first in the counting of ZigZag and Stream.
    """

    fused: Figures
    reference: float
    layer_by_layer: float
    busy: Mapping[str, int]

    @property
    def bound(self) -> tuple[str, int]:
        """The core that computes longest, and its cycles."""
        return max(self.busy.items(), key=lambda x: x[1])


MEASURED: Final = {
    "DepFiN": Chip(
        "FSRCNN, 960 x 540", "fsrcnn.yaml", None, Figures(6.18e6, 238), Figures(5.65e6, 244)
    ),
    "DIANA": Chip(
        "ResNet-18, conv1 and conv2",
        "resnet18.yaml",
        "mapping.yaml",
        Figures(8.12e5, 134),
        Figures(7.83e5, 137),
    ),
}


def modelled() -> dict[str, Modelled]:
    """The figures of all chips, by name."""
    return {name: modelled_chip(DATA / name.lower(), chip) for name, chip in MEASURED.items()}


def modelled_chip(folder: Path, chip: Chip) -> Modelled:
    """The figures of a chip whose files are in a folder."""
    rows = split_options(1, [("OY", "all")])
    fused = _schedule(folder, chip, rows)
    reference = _schedule(folder, chip, copy_with(rows, {"counting": Counting.REFERENCE}))
    whole = _schedule(folder, chip, split_options(1, []))
    return Modelled(
        fused=Figures(fused.latency, peak_kilobytes(fused)),
        reference=reference.latency,
        layer_by_layer=whole.latency,
        busy=_busy_cycles(fused),
    )


def _schedule(folder: Path, chip: Chip, split: SplitOptions) -> Schedule:
    """Nothing is searched: each layer has one core; the deepest layer that can run goes first."""
    mapping = None if chip.mapping is None else folder / chip.mapping
    plan = stream_plan(split=split, rule="memory", objectives=("latency",))
    return stream(folder / chip.workload, folder / "accelerator.yaml", mapping, plan=plan).schedule


def peak_kilobytes(schedule: Schedule) -> float:
    """KB (1000 bytes) of outputs of nodes that are on the chip at once, at most.

    Inputs of the network and weights are left out: they come as early as there is capacity.
    """
    stays, tensors = schedule.residencies, schedule.tensors
    offchip = max(stays.memory.tolist())
    kept = (tensors.operand[stays.tensor] == 0) & (stays.memory != offchip)
    bits, until = tensors.bits[stays.tensor[kept]], stays.until[kept]
    times = np.concatenate((stays.since[kept], until[until >= 0]))
    changes = np.concatenate((bits, -bits[until >= 0]))
    at, place = np.unique(times, return_inverse=True)
    used = np.zeros(len(at), dtype=np.int64)
    np.add.at(used, place, changes)
    return float(np.cumsum(used).max()) / 8e3


def _busy_cycles(schedule: Schedule) -> dict[str, int]:
    """The cycles in which each core computes."""
    cores = schedule.problem.accelerator.compute_cores
    lengths = schedule.end - schedule.start
    return {x.accelerator.name: int(lengths[schedule.core == x.id].sum()) for x in cores}


def cores_table(found: Mapping[str, Modelled]) -> str:
    """A row for each chip."""
    rows = [
        "| chip | network | Mcycles: chip | model | error | reference | Stream | layer by layer "
        "| busiest core | KB: chip | model | error | Stream |",
        "|" + " --- |" * 13,
    ]
    for name, chip in MEASURED.items():
        model = found[name]
        measured, fused, (core, cycles) = chip.measured, model.fused, model.bound
        rows.append(
            f"| {name} | {chip.network} | {measured.cycles / 1e6:.3f} | {fused.cycles / 1e6:.3f} "
            f"| {error(measured.cycles, fused.cycles)} | {model.reference / 1e6:.3f} "
            f"| {chip.stream.cycles / 1e6:.3f} "
            f"| {model.layer_by_layer / 1e6:.3f} | {core}: {cycles / 1e6:.3f} "
            f"| {measured.kilobytes:.0f} | {fused.kilobytes:.0f} "
            f"| {error(measured.kilobytes, fused.kilobytes)} | {chip.stream.kilobytes:.0f} |"
        )
    return "\n".join(rows)

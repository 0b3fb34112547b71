"""Eyeriss on AlexNet: what was measured, and what nestmap says of the same row-stationary mapping.

Measurements: Chen, Krishna, Emer, Sze, "Eyeriss: An Energy-Efficient Reconfigurable Accelerator for
Deep Convolutional Neural Networks", IEEE JSSC 52(1), 2017, table V (batch of 4, 200 MHz).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Final, NamedTuple

from nestmap.model import Accelerator, CostModelEvaluation
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.read import read_accelerator, read_workload

DATA: Final = Path(__file__).parents[1] / "data" / "eyeriss"

_CYCLES_PER_MS: Final = 200e3
_BYTES_PER_ACCESS: Final = 8
"""All ports of the buffer are 64 bit wide."""


class Measured(NamedTuple):
    """What the paper reports of a layer: processing time in ms, accesses of the buffer in MB."""

    units: int
    milliseconds: float
    buffer: float


MEASURED: Final = {
    "CONV1": Measured(154, 16.5, 18.5),
    "CONV2": Measured(135, 39.2, 77.6),
    "CONV3": Measured(156, 21.8, 50.2),
    "CONV4": Measured(156, 16.0, 37.4),
    "CONV5": Measured(156, 10.0, 24.9),
}


class Modelled(NamedTuple):
    """What nestmap says of a layer; ``ideal`` are the ms without waiting for data.

    ``whole`` are the ms and the MB of ZigZag's model, in which memories load whole tiles whenever a
    window moves, and read the zeros that sums begin with.
    """

    units: int
    milliseconds: float
    ideal: float
    buffer: float
    whole: tuple[float, float]


def modelled() -> dict[str, Modelled]:
    """The figures of all layers, by name."""
    network, mapping = DATA / "alexnet.yaml", DATA / "row_stationary.yaml"
    chip = read_accelerator(DATA / "accelerator.yaml")
    found, whole = (replay(network, x, mapping).layers for x in (chip, _with_whole_tiles(chip)))
    sizes = {x.name: x.sizes for x in read_workload(network).layers}
    return {
        x.cme.layer: _figures(x.cme, y.cme, sizes[x.cme.layer])
        for x, y in zip(found, whole, strict=True)
    }


def _with_whole_tiles(chip: Accelerator) -> Accelerator:
    """The chip as ZigZag's model has it."""
    memories = tuple(
        copy_with(x, {"instance": copy_with(x.instance, {"window_reuse": False})})
        for x in chip.memories
    )
    return copy_with(chip, {"memories": memories, "free_first_sum": False})


def _figures(
    cme: CostModelEvaluation, whole: CostModelEvaluation, sizes: Mapping[Dimension, int]
) -> Modelled:
    factors = cme.spatial_mapping.factors
    return Modelled(
        units=prod(min(factors.get(d, 1), n) for d, n in sizes.items()),
        milliseconds=cme.latency0 / _CYCLES_PER_MS,
        ideal=cme.ideal_temporal_cycles / _CYCLES_PER_MS,
        buffer=_buffer(cme),
        whole=(whole.latency0 / _CYCLES_PER_MS, _buffer(whole)),
    )


def _buffer(cme: CostModelEvaluation) -> float:
    """MB read from the buffer and written to it."""
    accesses = sum(sum(x.costs.accesses) for x in cme.levels if x.memory == "buffer")
    return accesses * _BYTES_PER_ACCESS / 1e6

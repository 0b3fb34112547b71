"""Eyeriss on AlexNet: what was measured, and what nestmap says of the same row-stationary mapping.

Measurements: Chen, Krishna, Emer, Sze, "Eyeriss: An Energy-Efficient Reconfigurable Accelerator for
Deep Convolutional Neural Networks", IEEE JSSC 52(1), 2017, table V (batch of 4, 200 MHz).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Final, NamedTuple

from nestmap.model import CostModelEvaluation
from nestmap.model.dims import Dimension
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.read import read_workload

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
    """What nestmap says of a layer; ``ideal`` are the ms without waiting for data."""

    units: int
    milliseconds: float
    ideal: float
    buffer: float


def modelled() -> dict[str, Modelled]:
    """The figures of all layers, by name."""
    network = DATA / "alexnet.yaml"
    found = replay(network, DATA / "accelerator.yaml", DATA / "row_stationary.yaml")
    sizes = {x.name: x.sizes for x in read_workload(network).layers}
    return {x.cme.layer: _figures(x.cme, sizes[x.cme.layer]) for x in found.layers}


def _figures(cme: CostModelEvaluation, sizes: Mapping[Dimension, int]) -> Modelled:
    accesses = sum(sum(x.costs.accesses) for x in cme.levels if x.memory == "buffer")
    factors = cme.spatial_mapping.factors
    return Modelled(
        units=prod(min(factors.get(d, 1), n) for d, n in sizes.items()),
        milliseconds=cme.latency0 / _CYCLES_PER_MS,
        ideal=cme.ideal_temporal_cycles / _CYCLES_PER_MS,
        buffer=accesses * _BYTES_PER_ACCESS / 1e6,
    )

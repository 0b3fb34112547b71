"""TPU v1: what was measured of four networks, and what nestmap says of them.

Source: Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017,
tables 1 (networks), 2 (chip) and 3 (counters); section 7 (matrices of LSTM1).
"""

from collections.abc import Iterator, Mapping
from math import sqrt
from pathlib import Path
from typing import Final, NamedTuple

from nestmap import explore, linear, network
from nestmap.model import Objective
from nestmap.pipeline.frontend.read.accelerator import read_accelerator

ACCELERATOR: Final = Path(__file__).parents[1] / "data" / "tpu" / "accelerator.yaml"
SIDE: Final = 256
"""Rows and columns of the array, and of a tile of weights."""

_CLOCK: Final = 700e6
_WEIGHT_STATIONARY: Final = [
    {"name": "default", "spatial_mapping": {"D1": [f"K, {SIDE}"], "D2": [f"C, {SIDE}"]}}
]


class Application(NamedTuple):
    """What the paper reports: weights, batch, TOPS, and the share of cycles in which no unit works.

    ``known_width`` are rows and columns of its matrices, where the paper says how many.
    """

    matrices: int
    weights: float
    batch: int
    teraops: float
    idle: float
    known_width: int | None = None

    @property
    def width(self) -> int:
        """Rows and columns of its matrices; all of them are assumed to be alike and square."""
        return self.known_width or round(sqrt(self.weights / self.matrices))


MEASURED: Final = {
    "MLP0": Application(5, 20e6, 200, 12.3, 0.873),
    "MLP1": Application(4, 5e6, 168, 9.7, 0.894),
    "LSTM0": Application(24, 52e6, 64, 3.7, 0.918),
    "LSTM1": Application(37, 34e6, 96, 2.8, 0.895, known_width=600),
}


class Modelled(NamedTuple):
    """What nestmap says: TOPS, and the share of cycles in which the array waits."""

    teraops: float
    idle: float


def modelled(*, reference: bool = False) -> dict[str, Modelled]:
    """The figures of all networks, by name; in exact or in ZigZag's counting."""
    return {name: _figures(name, x, reference) for name, x in MEASURED.items()}


def _figures(name: str, application: Application, reference: bool) -> Modelled:
    """The time of one matrix, in whole tiles: the chip has no smaller ones."""
    padded = -(-application.width // SIDE) * SIDE
    layer = linear(name, (application.batch, padded), padded)
    found = explore(
        network(name, layer),
        read_accelerator(ACCELERATOR),
        _WEIGHT_STATIONARY,
        objective=Objective.LATENCY,
        reference=reference,
    )
    (result,) = found.layers
    latency = result.cme.latency
    operations = 2.0 * application.width**2 * application.batch
    return Modelled(
        teraops=operations / (latency / _CLOCK) / 1e12,
        idle=1.0 - result.cme.ideal_temporal_cycles / latency,
    )


def tpu_table(found: Mapping[str, Modelled]) -> str:
    """A row for each network."""
    return "\n".join(_rows(found))


def _rows(found: Mapping[str, Modelled]) -> Iterator[str]:
    yield (
        "| network | batch | weights | matrices | TOPS: chip | model | error | idle: chip | model |"
    )
    yield "|" + " --- |" * 9
    for name, chip in MEASURED.items():
        model = found[name]
        yield (
            f"| {name} | {chip.batch} | {chip.weights / 1e6:.0f} M | {chip.width} x {chip.width} "
            f"| {chip.teraops:.1f} | {model.teraops:.1f} | {model.teraops / chip.teraops - 1:+.0%} "
            f"| {chip.idle:.0%} | {model.idle:.0%} |"
        )

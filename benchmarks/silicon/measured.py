"""What was measured of Eyeriss: two networks, layer by layer.

Source: Chen, Krishna, Emer, Sze, "Eyeriss: An Energy-Efficient Reconfigurable Accelerator for Deep
Convolutional Neural Networks", IEEE JSSC 52(1), 2017, tables V and VI (200 MHz).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

DATA: Final = Path(__file__).parents[1] / "data" / "eyeriss"


class Measured(NamedTuple):
    """What the paper reports of a layer: processing time in ms, accesses of memories in MB."""

    units: int
    milliseconds: float
    buffer: float
    dram: float


class Network(NamedTuple):
    """A network as the chip ran it; workload and mapping are files in :data:`DATA`."""

    title: str
    workload: str
    mapping: str
    layers: Mapping[str, Measured]


ALEXNET: Final = Network(
    "AlexNet",
    "alexnet.yaml",
    "row_stationary.yaml",
    {
        "CONV1": Measured(154, 16.5, 18.5, 5.0),
        "CONV2": Measured(135, 39.2, 77.6, 4.0),
        "CONV3": Measured(156, 21.8, 50.2, 3.0),
        "CONV4": Measured(156, 16.0, 37.4, 2.1),
        "CONV5": Measured(156, 10.0, 24.9, 1.3),
    },
)
VGG16: Final = Network(
    "VGG-16",
    "vgg16.yaml",
    "vgg16_row_stationary.yaml",
    {
        "CONV1-1": Measured(156, 38.0, 112.6, 15.4),
        "CONV1-2": Measured(156, 810.6, 2402.8, 54.0),
        "CONV2-1": Measured(156, 405.3, 1201.4, 33.4),
        "CONV2-2": Measured(156, 810.8, 2402.8, 48.5),
        "CONV3-1": Measured(156, 204.0, 607.4, 20.2),
        "CONV3-2": Measured(156, 408.1, 1214.8, 32.2),
        "CONV3-3": Measured(156, 408.1, 1214.8, 30.8),
        "CONV4-1": Measured(168, 105.1, 321.8, 17.8),
        "CONV4-2": Measured(168, 210.0, 643.7, 28.6),
        "CONV4-3": Measured(168, 210.0, 643.7, 22.8),
        "CONV5-1": Measured(168, 48.3, 90.0, 6.3),
        "CONV5-2": Measured(168, 48.5, 90.0, 5.7),
        "CONV5-3": Measured(168, 48.5, 90.0, 5.6),
    },
)
NETWORKS: Final = (ALEXNET, VGG16)
